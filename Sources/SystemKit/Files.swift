import CLinux
import Glibc

/// Whole files and folders by path.
package enum Files {
  /// What is at `path`, or `nil` when nothing is there.
  package static func information(
    _ path: String, followsLinks: Bool = true
  ) throws(SystemError) -> File.Information? {
    var status = stat()
    guard unsafe fstatat(AT_FDCWD, path, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw SystemError("examine", path)
    }
    return File.Information(status)
  }

  /// What is called `name` in an open folder, links not followed, or `nil` when nothing is.
  package static func information(_ name: String, in folder: File) throws(SystemError) -> File.Information? {
    var status = stat()
    guard unsafe fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw SystemError("examine", "\(folder.path)/\(name)")
    }
    return File.Information(status)
  }

  /// What kind of thing stands at a path.
  package enum Kind: Sendable { case regular, folder, other }

  /// The kind of what is at `path`, links followed, or `nil` when nothing is there.
  package static func kind(of path: String) throws(SystemError) -> Kind? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw SystemError("examine", path)
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .regular
    case S_IFDIR: return .folder
    default: return .other
    }
  }

  /// All bytes of a regular file of at most `limit` bytes: a pipe, which may never end, throws `EINVAL`.
  package static func readRegular(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    if let kind = try kind(of: path), kind == .other { throw SystemError("read", path, number: EINVAL) }
    return try read(path, limit: limit)
  }

  /// All bytes of a file of at most `limit` bytes; a larger one throws `EFBIG`.
  package static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try File(path, O_RDONLY)
    let information = try file.information()
    guard !information.isDirectory else { throw SystemError("read", path, number: EISDIR) }
    // A pipe or a device tells no size, so read on until the end or the limit.
    var bytes: [UInt8] = []
    var chunk = try file.chunk(at: 0)
    while !chunk.isEmpty {
      bytes += chunk
      guard bytes.count <= limit else { throw SystemError("read", path, number: EFBIG) }
      chunk = try file.chunk(at: Int64(bytes.count))
    }
    return bytes
  }

  /// Replaces `path` by `bytes` in one step, durably: a reader sees the old file or the new one.
  package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(SystemError) {
    let temporary = temporaryName(beside: path)
    do throws(SystemError) {
      let file = try File(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
      try file.write(bytes, at: 0)
      try file.synchronize()
      try rename(temporary, to: path)
    } catch {
      _ = unsafe unlink(temporary)
      throw error
    }
    try synchronizeFolder(of: path)
  }

  /// Creates `path` with `bytes` durably, or throws `EEXIST`; never seen half written.
  package static func create(_ bytes: [UInt8], at path: String, mode: UInt32 = 0o600) throws(SystemError) {
    let temporary = temporaryName(beside: path)
    defer { _ = unsafe unlink(temporary) }
    let file = try File(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
    try file.write(bytes, at: 0)
    try file.synchronize()
    guard unsafe Glibc.link(temporary, path) == 0 else { throw SystemError("create", path) }
    try synchronizeFolder(of: path)
  }

  /// A name in the same folder that nobody else uses.
  static func temporaryName(beside path: String) -> String {
    "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
  }

  package static func rename(_ path: String, to target: String) throws(SystemError) {
    guard unsafe Glibc.rename(path, target) == 0 else { throw SystemError("rename", path) }
  }

  /// Gives the file at `path` a second name.
  package static func link(_ path: String, to target: String) throws(SystemError) {
    guard unsafe Glibc.link(path, target) == 0 else { throw SystemError("link", path) }
  }

  /// Sets the permission bits.
  package static func setMode(_ path: String, _ mode: UInt32) throws(SystemError) {
    guard unsafe chmod(path, mode) == 0 else { throw SystemError("set the mode of", path) }
  }

  /// Copies a regular file; what stands at `target` is replaced.
  package static func copy(_ path: String, to target: String) throws(SystemError) {
    let source = try File(path, O_RDONLY)
    let copy = try File(target, O_WRONLY | O_CREAT | O_TRUNC)
    var offset: Int64 = 0
    while true {
      let bytes = try source.read(1 << 20, at: offset)
      if bytes.isEmpty { break }
      try copy.write(bytes, at: offset)
      offset += Int64(bytes.count)
    }
    try copy.synchronize()
  }

  /// Whether this process may write the file, or into the folder, at `path`.
  package static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

  /// Whether the program at `path` may be run by this process.
  package static func isExecutable(_ path: String) -> Bool {
    guard (try? kind(of: path)) == .regular else { return false }
    return unsafe access(path, X_OK) == 0
  }

  /// Removes a file; one that is not there is not an error.
  package static func remove(_ path: String) throws(SystemError) {
    guard unsafe unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove", path) }
  }

  /// Makes a folder and those above it, each with mode 0700; one that is there is left as it is.
  package static func makeFolder(_ path: String) throws(SystemError) {
    if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    let parent = folder(of: path)
    guard errno == ENOENT, parent != path, !parent.isEmpty else { throw SystemError("create", path) }
    try makeFolder(parent)
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError("create", path) }
  }

  /// Names in a folder, unsorted, without `.` and `..`.
  package static func names(in path: String) throws(SystemError) -> [String] {
    guard let folder = unsafe opendir(path) else { throw SystemError("list", path) }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    errno = 0
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
      errno = 0
    }
    // The end and a failure look alike but for the number.
    guard errno == 0 else { throw SystemError("list", path) }
    return names
  }

  /// Bytes that may still be written to the file system of `path`.
  package static func freeSpace(at path: String) throws(SystemError) -> Int64 {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0 else { throw SystemError("examine", path) }
    let (bytes, overflow) = Int64(clamping: status.f_bavail)
      .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
    return overflow ? .max : bytes
  }

  /// The kind of network file system under `path`, or `nil` for a local one.
  package static func networkFileSystem(at path: String) throws(SystemError) -> String? {
    var magic: Int = 0
    guard unsafe kollus_file_system(path, &magic) == 0 else { throw SystemError("examine", path) }
    let kinds: [UInt32: String] = [
      0x6969: "NFS", 0x517b: "SMB", 0xff53_4d42: "CIFS", 0xfe53_4d42: "SMB2", 0x5346_414f: "AFS",
      0x00c3_6400: "CephFS", 0x7375_7245: "Coda", 0x564c: "NCP",
    ]
    return kinds[UInt32(truncatingIfNeeded: magic)]
  }

  /// The part before the last slash: "." for a bare name, "/" for a path at the root.
  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func synchronizeFolder(of path: String) throws(SystemError) {
    let folder = try File(folder(of: path), O_RDONLY | O_DIRECTORY)
    guard fsync(folder.descriptor) == 0 else { throw SystemError("write", folder.path) }
  }
}

extension File {
  /// Up to 64 KiB at `offset`, by the descriptor's own position where it cannot seek.
  fileprivate func chunk(at offset: Int64) throws(SystemError) -> [UInt8] {
    do throws(SystemError) {
      return try read(1 << 16, at: offset)
    } catch {
      guard error.number == ESPIPE else { throw error }
    }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
    }
    guard count >= 0 else { throw SystemError("read", path) }
    return Array(bytes.prefix(count))
  }
}
