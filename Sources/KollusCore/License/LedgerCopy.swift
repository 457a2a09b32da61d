import Glibc
import SealKit
import SystemKit

/// A second copy of the time ledger, in a file of its own, so that an older library put back does not bring an older
/// time with it.
///
/// Both copies carry a number that grows with every change: the higher one counts. A copy that is gone or was
/// changed does not count at all.
enum LedgerCopy {
  private static let length = 3 * 8 + Digest.byteCount

  static func read(_ home: Home) -> TimeLedger? {
    // What cannot be read is no copy.
    guard let file = try? File(home.clockPath, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
      let bytes = try? file.read(length, at: 0), bytes.count == length
    else { return nil }
    func number(_ at: Int) -> Int64 {
      Int64(bitPattern: bytes[at..<at + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }
    let ledger = TimeLedger(seen: number(8), lag: number(16), change: number(0))
    return ledger.isValid(Array(bytes[24...]), by: home.identity) ? ledger : nil
  }

  private static func write(_ bytes: [UInt8], _ path: String) throws(SystemError) {
    let isNew = try Files.information(path) == nil
    let file = try File(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW)
    try file.write(bytes, at: 0)
    // A power cut would leave a new file empty, and that counts as edited.
    if isNew { try file.synchronize() }
  }

  /// Keeps the copy; a failure costs nothing but the copy.
  static func write(_ ledger: TimeLedger, _ home: Home) {
    let numbers = [ledger.change, ledger.seen, ledger.lag].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    let bytes = numbers + ledger.code(by: home.identity)
    do throws(SystemError) {
      try write(bytes, home.clockPath)
    } catch {
      // What cannot be a file of ours makes way; the library's own copy is the one that must not be lost.
      guard [EISDIR, EACCES, ELOOP, ENXIO].contains(error.number), (try? home.setClockAside()) != nil else {
        return
      }
      try? write(bytes, home.clockPath)
    }
  }
}
