import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite(.temporaryDirectory) struct FileTests {
  let path = TemporaryDirectory.path + "/file"

  @Test func `bytes are read where they were written`() throws {
    let file = try File(path, O_RDWR | O_CREAT)
    try file.write([1, 2, 3], at: 10)
    #expect(try file.read(3, at: 10) == [1, 2, 3])
    #expect(try file.read(4, at: 9) == [0, 1, 2, 3])
    #expect(try file.information().size == 13)
  }

  @Test(arguments: [(100, 0, 13), (5, 8, 5), (5, 13, 0), (5, 1_000, 0), (0, 0, 0)])
  func `a read past the end brings what there is`(_ count: Int, _ offset: Int64, _ found: Int) throws {
    let file = try File(path, O_RDWR | O_CREAT)
    try file.write([UInt8](repeating: 7, count: 13), at: 0)
    #expect(try file.read(count, at: offset).count == found)
  }

  @Test(arguments: [1, 7, 4_096, Int.max]) func `a write in steps is the same write`(_ step: Int) throws {
    let file = try File(path, O_RDWR | O_CREAT)
    let bytes = randomBytes(10_000)
    try file.write(bytes.span.bytes, at: 3, step: step)
    #expect(try file.read(bytes.count, at: 3) == bytes)
  }

  @Test func `a file made here is private`() throws {
    #expect(try File(path, O_RDWR | O_CREAT).information().mode & 0o077 == 0)
  }

  @Test func `a descriptor closes with its last reference and is not inherited`() throws {
    let file = try File(path, O_RDWR | O_CREAT)
    let link = try #require(descriptor(of: path))
    #expect(fcntl(link, F_GETFD) & FD_CLOEXEC != 0)
    withExtendedLifetime(file) {}
    _ = consume file
    #expect(descriptor(of: path) == nil)
  }

  /// The descriptor in this process that stands for `path`.
  private func descriptor(of path: String) -> Int32? {
    (3..<1_024).first { number in
      var one = stat()
      var other = stat()
      return fstat(number, &one) == 0 && stat(path, &other) == 0 && one.st_ino == other.st_ino
        && one.st_dev == other.st_dev
    }
  }

  @Test func `room is taken ahead and the bytes stay`() throws {
    let file = try File(path, O_RDWR | O_CREAT)
    try file.write([1, 2, 3], at: 0)
    try file.reserve(1 << 20)
    #expect(try file.read(3, at: 0) == [1, 2, 3])
    // A file system that cannot reserve leaves the file as it is.
    let information = try file.information()
    #expect(information.size == 3 || information.allocated >= 1 << 20)
  }

  @Test func `room that no disk has is refused with its reason`() throws {
    let file = try File(path, O_RDWR | O_CREAT)
    let error = #expect(throws: SystemKit.SystemError.self) { try file.reserve(1 << 60) }
    #expect([ENOSPC, EFBIG].contains(error?.number))
    #expect(error?.path == path)
  }

  @Test func `a direct write is seen by a plain read`() throws {
    _ = try File(path, O_RDWR | O_CREAT)
    guard let direct = try File.direct(path, O_RDWR) else { return }  // This file system knows none.
    let buffer = AlignedBuffer(capacity: 2 * AlignedBuffer.alignment)
    buffer.append(randomBytes(5_000).span.bytes)
    buffer.padToAlignment()
    try buffer.withBytes { bytes throws(SystemKit.SystemError) in try direct.write(bytes, at: 4_096) }
    let found = try File(path, O_RDONLY).read(5_000, at: 4_096)
    #expect(found == randomBytes(5_000))
  }

  @Test func `what cannot be opened is told with its path`() {
    let error = #expect(throws: SystemKit.SystemError.self) { try File(path + "/nowhere", O_RDONLY) }
    #expect(error == SystemKit.SystemError("open", path + "/nowhere", number: ENOENT))
    #expect(error?.description.contains("No such file") == true)
  }

  @Test func `a write to a file opened for reading fails`() throws {
    _ = try File(path, O_RDWR | O_CREAT)
    let error = #expect(throws: SystemKit.SystemError.self) { try File(path, O_RDONLY).write([1], at: 0) }
    #expect(error?.number == EBADF)
  }

  @Test func `a truncated file ends there`() throws {
    let file = try File(path, O_RDWR | O_CREAT)
    try file.write([1, 2, 3], at: 0)
    try file.truncate(to: 2)
    try file.synchronize()
    try file.synchronizeFileSystem()
    #expect(try file.read(10, at: 0) == [1, 2])
  }

  @Test(arguments: [(ENOSPC, true), (EDQUOT, true), (EIO, false), (EFBIG, false)])
  func `a full disk is told from other failures`(_ number: Int32, _ isNoSpace: Bool) {
    #expect(SystemKit.SystemError("write", "x", number: number).isNoSpace == isNoSpace)
  }
}
