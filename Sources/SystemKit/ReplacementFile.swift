import Glibc

/// A file written beside its final path and moved there when it is complete; until then, and on failure,
/// whatever stands at the path is untouched.
package final class ReplacementFile {
  private let path: String
  private let temporary: String
  private let file: File
  private var length: Int64 = 0
  private var isCommitted = false

  /// Readable by others as the process's file mode mask allows.
  package init(_ path: String) throws(SystemError) {
    self.path = path
    temporary = Files.temporaryName(beside: path)
    file = try File(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
  }

  deinit { if !isCommitted { _ = unsafe unlink(temporary) } }

  package func append(_ bytes: RawSpan) throws(SystemError) {
    try file.write(bytes, at: length)
    length += Int64(bytes.byteCount)
  }

  /// Moves the file to its path, durably.
  package func commit() throws(SystemError) {
    try file.synchronize()
    try Files.rename(temporary, to: path)
    isCommitted = true
  }
}
