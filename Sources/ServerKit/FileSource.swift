import Glibc

/// The bytes of an open regular file, as many as it had when it was opened.
package final class FileSource: MediaSource {
  package let size: Int
  /// A strong entity tag from what changes with every write: the file's number, size and time to the
  /// nanosecond.
  package let entityTag: String
  /// When the file was last written, as an HTTP date.
  package let lastModified: String
  private let descriptor: Int32

  /// Takes the descriptor over and closes it in the end; nil, and closed, when it is no regular file.
  package init?(owning descriptor: Int32) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
    let marks: [UInt64] = [
      UInt64(status.st_ino), UInt64(clamping: status.st_size),
      UInt64(bitPattern: Int64(status.st_mtim.tv_sec)),
      UInt64(bitPattern: Int64(status.st_mtim.tv_nsec)),
    ]
    entityTag = "\"\(marks.map { String($0, radix: 16) }.joined(separator: "-"))\""
    lastModified = HTTPDate.text(seconds: Int64(status.st_mtim.tv_sec))
  }

  deinit { close(descriptor) }

  /// All bytes of the file, which has at most so many.
  package func contents(limit: Int) throws -> [UInt8] {
    guard size <= limit else { throw ServerError(.tooLarge) }
    var bytes = [UInt8](repeating: 0, count: size)
    var done = 0
    while done < size {
      done += try unsafe bytes.withUnsafeMutableBytes { bytes in
        var rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...]).mutableBytes
        return try read(at: done, into: &rest)
      }
    }
    return bytes
  }

  package func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int {
    let descriptor = descriptor
    return try unsafe buffer.withUnsafeMutableBytes { bytes in
      while true {
        let count = unsafe pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
        if count > 0 { return count }
        if count == 0 { throw ServerError(.truncated) }
        if errno != EINTR { throw ServerError(.system, number: errno) }
      }
    }
  }
}
