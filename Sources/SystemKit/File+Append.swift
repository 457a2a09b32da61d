import Glibc

extension File {
  /// Appends `bytes` by one call, so that what several processes append to a file opened with `O_APPEND` never mixes.
  ///
  /// A full disk may take a part of them: then this throws, and the part stays.
  package func append(_ bytes: [UInt8]) throws(SystemError) {
    var count: Int
    repeat { count = unsafe Glibc.write(descriptor, bytes, bytes.count) } while count < 0 && errno == EINTR
    guard count == bytes.count else { throw SystemError("write", path, number: count < 0 ? errno : ENOSPC) }
  }
}
