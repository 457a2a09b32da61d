import CLinux
import Glibc
import Synchronization

/// Exclusive locks between processes, one for each byte offset of one file.
///
/// The lock belongs to the open file, so the kernel drops it when its process dies, however that
/// happens; nothing is left to clean up. Within a process each holder opens the file anew.
package final class ByteLock: Sendable {
  private let file: File
  private let offset: Int64

  /// Takes the lock on byte `offset` of the file at `path`, or `nil` when another holds it.
  package init?(path: String, offset: Int64) throws(SystemError) {
    file = try File(path, O_RDWR | O_CREAT | O_NONBLOCK)
    guard try file.information().isRegular else { throw SystemError("lock", path, number: EINVAL) }
    self.offset = offset
    switch kollus_lock_byte(file.descriptor, off_t(offset), 1) {
    case 0: break
    case EAGAIN, EACCES: return nil
    case let number: throw SystemError("lock", path, number: number)
    }
  }

  deinit { _ = kollus_lock_byte(file.descriptor, off_t(offset), 0) }
}

extension ByteLock {
  /// The locked bytes of `range` in the file at `path`, unsorted, found without taking any lock.
  ///
  /// Costs a call or two for each lock that is held, however large the range is.
  package static func held(path: String, in range: Range<Int64>) throws(SystemError) -> [Int64] {
    let file: File
    do throws(SystemError) {
      file = try File(path, O_RDONLY | O_NONBLOCK)
    } catch {
      if error.number == ENOENT { return [] }
      throw error
    }
    var held: [Int64] = []
    // The system names any one of them, so both sides of it are looked at.
    var ranges = [range]
    while let range = ranges.popLast() {
      guard !range.isEmpty else { continue }
      var found: off_t = -1
      let number = unsafe kollus_find_lock(
        file.descriptor, off_t(range.lowerBound), off_t(range.count), &found)
      guard number == 0 else { throw SystemError("look at the locks of", path, number: number) }
      guard found >= 0 else { continue }
      let byte = min(max(Int64(found), range.lowerBound), range.upperBound - 1)
      held.append(byte)
      ranges.append(range.lowerBound..<byte)
      ranges.append(byte + 1..<range.upperBound)
    }
    return held
  }
}
