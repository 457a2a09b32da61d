import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite(.temporaryDirectory) struct FilesTests {
  let folder = TemporaryDirectory.path
  var path: String { folder + "/file" }

  @Test func `a written file replaces the old one whole`() throws {
    try Files.write([1, 2, 3, 4], to: path)
    let before = try File(path, O_RDONLY)
    try Files.write([9], to: path, mode: 0o644)
    #expect(try Files.read(path, limit: 10) == [9])
    // Who had the old file open still reads all of it.
    #expect(try before.read(10, at: 0) == [1, 2, 3, 4])
    #expect(try Files.names(in: folder) == ["file"])
  }

  @Test func `a failed write leaves nothing beside the target`() throws {
    try Files.makeFolder(path)
    #expect(throws: SystemKit.SystemError.self) { try Files.write([1], to: path) }
    #expect(try Files.names(in: folder) == ["file"])
  }

  @Test func `a file is created once`() throws {
    try Files.create([1], at: path)
    let error = #expect(throws: SystemKit.SystemError.self) { try Files.create([2], at: path) }
    #expect(error?.number == EEXIST)
    #expect(try Files.read(path, limit: 10) == [1])
    #expect(try Files.names(in: folder) == ["file"])
    #expect(try Files.information(path)?.mode == 0o600)
  }

  @Test func `folders are made with those above, and private`() throws {
    try Files.makeFolder(folder + "/a/b/c")
    try Files.makeFolder(folder + "/a/b/c")
    try Files.makeFolder(folder + "/d/e/")
    for name in ["a", "a/b", "a/b/c", "d/e"] {
      let found = try #require(try Files.information("\(folder)/\(name)"))
      #expect(found.isDirectory)
      #expect(found.mode == 0o700)
    }
  }

  @Test func `a folder below a file is refused`() throws {
    try Files.write([1], to: path)
    let error = #expect(throws: SystemKit.SystemError.self) { try Files.makeFolder(path + "/a") }
    #expect(error?.number == ENOTDIR)
  }

  @Test(arguments: [(0, 0), (10, 10), (65_536, 65_536), (200_000, 200_000)])
  func `a file of the limit's size is read`(_ size: Int, _ limit: Int) throws {
    try Files.write(randomBytes(size), to: path)
    #expect(try Files.read(path, limit: limit) == randomBytes(size))
  }

  @Test(arguments: [(1, 0), (11, 10), (65_537, 65_536), (200_000, 100_000)])
  func `a larger file is EFBIG`(_ size: Int, _ limit: Int) throws {
    try Files.write(randomBytes(size), to: path)
    let error = #expect(throws: SystemKit.SystemError.self) { try Files.read(path, limit: limit) }
    #expect(error?.number == EFBIG)
  }

  @Test func `a device without an end is EFBIG, not endless`() {
    let error = #expect(throws: SystemKit.SystemError.self) { try Files.read("/dev/zero", limit: 1 << 20) }
    #expect(error?.number == EFBIG)
  }

  @Test func `a folder is no file`() {
    let error = #expect(throws: SystemKit.SystemError.self) { try Files.read(folder, limit: 10) }
    #expect(error?.number == EISDIR)
  }

  @Test func `what is not there is nil, and removing it is no error`() throws {
    #expect(try Files.information(path) == nil)
    #expect(try Files.information(path + "/below") == nil)
    try Files.remove(path)
    try Files.write([1], to: path)
    try Files.remove(path)
    #expect(try Files.information(path) == nil)
  }

  @Test func `names of any letters are listed`() throws {
    let names = ["한국어", "a b", ".hidden", String(repeating: "n", count: 255)]
    for name in names { try Files.create([], at: "\(folder)/\(name.prefix(200))") }
    #expect(try Set(Files.names(in: folder)) == Set(names.map { String($0.prefix(200)) }))
  }

  @Test func `the longest name is listed whole`() throws {
    let name = String(repeating: "n", count: 255)
    _ = try File("\(folder)/\(name)", O_RDWR | O_CREAT)
    #expect(try Files.names(in: folder) == [name])
  }

  @Test(arguments: [("a", "."), ("/a", "/"), ("/", "/"), ("a/b", "a"), ("/a/b", "/a"), ("a/", "a")])
  func `the folder of a path`(_ path: String, _ folder: String) {
    #expect(Files.folder(of: path) == folder)
  }

  @Test func `there is free space, and the disk here is local`() throws {
    #expect(try Files.freeSpace(at: folder) > 0)
    #expect(try Files.networkFileSystem(at: folder) == nil)
    #expect(throws: SystemKit.SystemError.self) { try Files.freeSpace(at: path) }
  }

  @Test func `a replacement appears only when it is committed`() throws {
    try Files.write([1], to: path)
    do {
      let file = try ReplacementFile(path)
      try file.append([UInt8](repeating: 2, count: 5).span.bytes)
      #expect(try Files.read(path, limit: 10) == [1])
    }
    #expect(try Files.read(path, limit: 10) == [1])
    #expect(try Files.names(in: folder) == ["file"])
    let file = try ReplacementFile(path)
    try file.append(([3, 4] as [UInt8]).span.bytes)
    try file.append(([5] as [UInt8]).span.bytes)
    try file.commit()
    #expect(try Files.read(path, limit: 10) == [3, 4, 5])
    #expect(try Files.names(in: folder) == ["file"])
  }

  @Test func `a folder is not replaced, a link is followed, a device is written`() throws {
    try Files.makeFolder(path)
    #expect(throws: SystemKit.SystemError.self) { try ReplacementFile(path) }
    #expect(try Files.names(in: folder) == ["file"])
    let (target, link) = ("\(folder)/target", "\(folder)/link")
    try Files.create([1], at: target)
    #expect(symlink(target, link) == 0)
    let file = try ReplacementFile(link)
    try file.append(([2] as [UInt8]).span.bytes)
    try file.commit()
    #expect(try Files.read(target, limit: 10) == [2])
    #expect(ReplacementFile.resolved(link) == ReplacementFile.resolved(target))
    let device = try ReplacementFile("/dev/null")
    try device.append(([3] as [UInt8]).span.bytes)
    try device.commit()
    #expect(try Files.kind(of: "/dev/null") == .other)
  }

  @Test(arguments: 0..<5)
  func `of many that create one file in one process, one does`(_ round: Int) async {
    let path = path
    let results = await withTaskGroup(of: Int32.self) { group in
      for index in 0..<8 {
        group.addTask { @concurrent in
          do throws(SystemKit.SystemError) {
            try Files.create([UInt8](repeating: UInt8(index), count: 10_000), at: path)
            return 0
          } catch {
            return error.number
          }
        }
      }
      return await group.reduce(into: [Int32]()) { $0.append($1) }
    }
    #expect(results.count { $0 == 0 } == 1)
    #expect(results.count { $0 == EEXIST } == 7)
  }
}
