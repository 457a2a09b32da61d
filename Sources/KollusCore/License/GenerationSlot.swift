import Glibc
import SealKit
import SystemKit

/// The two places in a media file that hold the number of the last licence, written in turn.
///
/// A file that knows a later number than the library's row shows that an older library was put back. Each
/// place holds the number and its HMAC, which is bound to the file. A write that a power cut tore leaves the
/// number before it in the other place, if that ever reached the file; else nothing can be told until a renewal.
enum GenerationSlot {
  private static let length = 8 + Digest.byteCount

  /// The latest number in the file at `path`: 0 when it never held one, `nil` when there is no such file or
  /// what it holds is not of this home.
  static func read(_ path: String, key: SymmetricKey) throws(SystemError) -> Int64? {
    guard let (file, identifier) = try open(path, O_RDONLY) else { return nil }
    return try latest(in: file, identifier, key)
  }

  /// Writes `generation`, unless the file knows it or a later one already, and leaves the file's time stamp as
  /// it was.
  static func write(_ generation: Int64, to path: String, key: SymmetricKey) throws(SystemError) {
    guard let (file, identifier) = try open(path, O_RDWR) else { return }
    let index = Int(generation & 1)
    // Its own place holds the number before the last, unless another process was quicker.
    if let known = try number(at: index, in: file, identifier, key), known >= generation { return }
    let number = bytes(of: generation)
    let code = HMAC.sha256(message(identifier, index, number), key: key).bytes
    let stamp = try file.information().modified
    try file.write(number + code, at: offset(index))
    // The stamp tells whether the sealed bytes may have changed; these are none of them.
    try file.setModified(stamp)
  }

  private static func open(_ path: String, _ flags: Int32) throws(SystemError) -> (File, identifier: [UInt8])?
  {
    do throws(SystemError) {
      let file = try File(path, flags | O_NONBLOCK | O_NOFOLLOW)
      let head = try file.read(48, at: 0)
      return head.count == 48 ? (file, Array(head[32...])) : nil
    } catch {
      guard error.number == ENOENT else { throw error }
      return nil
    }
  }

  private static func latest(in file: File, _ identifier: [UInt8], _ key: SymmetricKey) throws(SystemError)
    -> Int64?
  {
    let numbers = [
      try number(at: 0, in: file, identifier, key), try number(at: 1, in: file, identifier, key),
    ]
    // A torn write leaves the other place; when neither is right, nothing can be told.
    let valid = numbers.compactMap { $0 }.max()
    return valid == 0 && numbers.contains(nil) ? nil : valid
  }

  /// The number in one place: 0 when none was ever written, `nil` when what is there is not valid.
  private static func number(at index: Int, in file: File, _ identifier: [UInt8], _ key: SymmetricKey)
    throws(SystemError) -> Int64?
  {
    let slot = try file.read(length, at: offset(index))
    guard slot.count == length, slot.contains(where: { $0 != 0 }) else { return 0 }
    let number = Array(slot[..<8])
    guard HMAC.isValid(Array(slot[8...]), for: message(identifier, index, number), key: key) else {
      return nil
    }
    return number.reversed().reduce(0) { $0 << 8 | Int64($1) }
  }

  private static func offset(_ index: Int) -> Int64 { Int64((1 + index) * SealedLayout.page) }

  private static func message(_ identifier: [UInt8], _ index: Int, _ number: [UInt8]) -> [UInt8] {
    identifier + [UInt8(index)] + number
  }

  private static func bytes(of generation: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: generation >> ($0 * 8)) }
  }
}
