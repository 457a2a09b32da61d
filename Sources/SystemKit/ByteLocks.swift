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
    file = try File(path, O_RDWR | O_CREAT)
    self.offset = offset
    switch kollus_lock_byte(file.descriptor, off_t(offset), 1) {
    case 0: break
    case EAGAIN, EACCES: return nil
    case let number: throw SystemError("lock", path, number: number)
    }
  }

  deinit { _ = kollus_lock_byte(file.descriptor, off_t(offset), 0) }
}
