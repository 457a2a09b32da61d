import Glibc

/// A folder whose files may be served: nothing outside it can be reached through it.
package final class Folder: Sendable {
  private let descriptor: Int32

  /// Opens the folder once: a folder put in its place later is another one.
  package init(_ path: String) throws(ServerError) {
    descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ServerError(.system, number: errno) }
  }

  deinit { close(descriptor) }

  /// Opens a regular file by the names of its folders and its own, each one step down.
  ///
  /// Nil when there is none, when a name is empty, begins with a dot or holds a slash or NUL, and for any
  /// symbolic
  /// link on the way.
  package func file(_ names: [String]) -> FileSource? {
    guard let last = names.last, names.allSatisfy(Self.isPlain) else { return nil }
    var folder = descriptor
    defer { if folder != descriptor { close(folder) } }
    for name in names.dropLast() {
      let next = unsafe openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard next >= 0 else { return nil }
      if folder != descriptor { close(folder) }
      folder = next
    }
    // Not to be held up by a FIFO that someone put there.
    let file = unsafe openat(folder, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    return file >= 0 ? FileSource(owning: file) : nil
  }

  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.first != UInt8(ascii: ".")
      && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }
}
