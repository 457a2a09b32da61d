import Glibc

/// A file written beside its final path and moved there when it is complete; until then, and on failure,
/// whatever stands at the path is untouched.
///
/// A link is followed to the file it names. What is no regular file (a device, a pipe) is written as it stands.
package final class ReplacementFile {
  private let path: String
  private let temporary: String?
  private let file: File
  private var length: Int64 = 0
  private var isCommitted = false

  /// For the owner alone, as everything this program writes; a folder is refused with `EISDIR`.
  package init(_ path: String) throws(SystemError) {
    let target = Self.resolved(path)
    self.path = target
    switch try Files.kind(of: target) {
    case nil, .regular:
      let name = Files.temporaryName(beside: target)
      do throws(SystemError) {
        file = try File(name, O_WRONLY | O_CREAT | O_EXCL)
      } catch {
        // The name in the message is the one that was asked for.
        throw SystemError("write", path, number: error.number)
      }
      temporary = name
    case .folder: throw SystemError("write", path, number: EISDIR)
    case .other:
      file = try File(target, O_WRONLY)
      temporary = nil
    }
  }

  deinit { if !isCommitted, let temporary { _ = unsafe unlink(temporary) } }

  /// The path behind any links; a path that leads nowhere yet is taken as it is.
  package static func resolved(_ path: String) -> String {
    guard let real = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }

  package func append(_ bytes: RawSpan) throws(SystemError) {
    if temporary == nil { try file.writeOn(bytes) } else { try file.write(bytes, at: length) }
    length += Int64(bytes.byteCount)
  }

  /// Moves the file to its path, durably.
  package func commit() throws(SystemError) {
    guard let temporary else { return }
    try file.synchronize()
    try Files.rename(temporary, to: path)
    isCommitted = true
  }
}
