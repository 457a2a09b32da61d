import CLinux
import Glibc

/// An open file, closed when the last reference goes; every descriptor is close-on-exec.
///
/// Offsets are explicit, so any thread may read and write at once.
package final class File: Sendable {
  package struct Information: Sendable, Equatable {
    /// Length in bytes.
    package let size: Int64
    /// Bytes of disk that are taken, more or fewer than `size`.
    package let allocated: Int64
    /// Permission bits.
    package let mode: UInt32
    package let owner: UInt32
    package let inode: UInt64
    /// Time of the last change to the bytes, in nanoseconds since 1970.
    package let modified: Int64
    package let isDirectory: Bool
    package let isRegular: Bool
  }

  let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  /// Opens `path`; a file made here has mode 0600.
  package init(_ path: String, _ flags: Int32, mode: UInt32 = 0o600) throws(SystemError) {
    var opened: Int32
    repeat { opened = unsafe open(path, flags | O_CLOEXEC, mode) } while opened < 0 && errno == EINTR
    guard opened >= 0 else { throw SystemError("open", path) }
    descriptor = opened
    self.path = path
  }

  deinit { close(descriptor) }

  /// Opens for direct writes, or `nil` where the file system knows none.
  package static func direct(_ path: String, _ flags: Int32) throws(SystemError) -> File? {
    do throws(SystemError) {
      return try File(path, flags | kollus_o_direct())
    } catch {
      guard error.number == EINVAL else { throw error }
      return nil
    }
  }

  /// Reads up to `buffer`'s length at `offset`; fewer bytes only at the file's end.
  package func read(into buffer: inout MutableRawSpan, at offset: Int64) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.byteCount {
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(
          descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, Int(offset) + done)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("read", path) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Reads `count` bytes at `offset`; fewer at the file's end.
  package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done: Int
    do {
      var span = bytes.mutableSpan
      var raw = unsafe span.mutableBytes
      done = try read(into: &raw, at: offset)
    }
    if done < count { bytes.removeLast(count - done) }
    return bytes
  }

  /// Writes all of `bytes` at `offset`, at most `step` bytes a call.
  package func write(_ bytes: RawSpan, at offset: Int64, step: Int = .max) throws(SystemError) {
    var done = 0
    while done < bytes.byteCount {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe pwrite(
          descriptor, bytes.baseAddress.map { unsafe $0 + done }, min(bytes.count - done, step),
          Int(offset) + done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write", path, number: count == 0 ? EIO : errno) }
      done += count
    }
  }

  /// Writes all of `bytes` where the descriptor stands, for what has no offsets.
  func writeOn(_ bytes: RawSpan) throws(SystemError) {
    var done = 0
    while done < bytes.byteCount {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write", path, number: count == 0 ? EIO : errno) }
      done += count
    }
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
    unsafe try write(bytes.span.bytes, at: offset)
  }

  /// Reserves room up to `length`; a file system that cannot reserve is not an error.
  package func reserve(_ length: Int64) throws(SystemError) {
    var code: Int32
    repeat { code = fallocate(descriptor, 0, 0, Int(length)) } while code != 0 && errno == EINTR
    guard code != 0, errno != EOPNOTSUPP, errno != ENOSYS else { return }
    throw SystemError("reserve room for", path)
  }

  package func truncate(to length: Int64) throws(SystemError) {
    guard ftruncate(descriptor, Int(length)) == 0 else { throw SystemError("truncate", path) }
  }

  /// Sets the time of the last change, in nanoseconds since 1970; the time of the last access stays.
  package func setModified(_ time: Int64) throws(SystemError) {
    let modified = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    let times = [timespec(tv_sec: 0, tv_nsec: kollus_utime_omit()), modified]
    guard unsafe futimens(descriptor, times) == 0 else { throw SystemError("set the time of", path) }
  }

  /// Waits until the bytes are on the disk.
  package func synchronize() throws(SystemError) {
    guard fdatasync(descriptor) == 0 else { throw SystemError("write", path) }
  }

  /// Waits until everything written to this file's file system is on the disk.
  package func synchronizeFileSystem() throws(SystemError) {
    guard syncfs(descriptor) == 0 else { throw SystemError("write", path) }
  }

  package func information() throws(SystemError) -> Information {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError("examine", path) }
    return Information(status)
  }
}

extension File.Information {
  init(_ status: stat) {
    size = Int64(status.st_size)
    allocated = Int64(status.st_blocks) * 512
    mode = status.st_mode & 0o7777
    owner = status.st_uid
    inode = UInt64(status.st_ino)
    modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    isDirectory = status.st_mode & S_IFMT == S_IFDIR
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}
