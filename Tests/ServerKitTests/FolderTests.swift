import Foundation
import KollusTestSupport
import ServerKit
import Testing

@Suite(.temporaryDirectory) struct FolderTests {
  static func make() throws -> Folder {
    let root = TemporaryDirectory.path
    try FileManager.default.createDirectory(atPath: root + "/in/deep", withIntermediateDirectories: true)
    for name in ["in/file", "in/deep/file", "in/.hidden", "out"] {
      try Data("bytes of \(name)".utf8).write(to: URL(fileURLWithPath: root + "/" + name))
    }
    try FileManager.default.createSymbolicLink(atPath: root + "/in/link", withDestinationPath: "../out")
    try FileManager.default.createSymbolicLink(atPath: root + "/in/same", withDestinationPath: "file")
    try FileManager.default.createSymbolicLink(atPath: root + "/in/up", withDestinationPath: "..")
    mkfifo(root + "/in/fifo", 0o600)
    return try Folder(root + "/in")
  }

  static func read(_ file: FileSource, at offset: Int, into bytes: inout [UInt8]) throws -> Int {
    var bytes = bytes.mutableSpan
    var span = bytes.mutableBytes
    return try file.read(at: offset, into: &span)
  }

  @Test func `files inside are found and can be read`() throws {
    let folder = try Self.make()
    let file = try #require(folder.file(["deep", "file"]))
    #expect(file.size == 21)
    var bytes = [UInt8](repeating: 0, count: 100)
    #expect(try Self.read(file, at: 6, into: &bytes) == 15)
    #expect(String(decoding: bytes[..<15], as: UTF8.self) == "of in/deep/file")
  }

  @Test(arguments: [
    [], [""], ["."], [".."], ["..", "out"], ["deep/file"], ["deep", "..", "file"], [".hidden"], ["link"],
    ["same"],
    ["up", "out"], ["deep"], ["fifo"], ["absent"], ["file", "x"], ["file\0"], ["/etc/passwd"],
  ])
  func `nothing else is`(_ names: [String]) throws {
    #expect(try Self.make().file(names) == nil)
  }

  @Test func `an entity tag changes with the bytes`() throws {
    let folder = try Self.make()
    let before = folder.file(["file"])?.entityTag
    #expect(folder.file(["file"])?.entityTag == before)
    try Data("other bytes".utf8).write(to: URL(fileURLWithPath: TemporaryDirectory.path + "/in/file"))
    #expect(folder.file(["file"])?.entityTag != before)
  }

  @Test func `a file that shrank is an error, not an empty read`() throws {
    let file = try #require(try Self.make().file(["file"]))
    truncate(TemporaryDirectory.path + "/in/file", 0)
    var bytes = [UInt8](repeating: 0, count: 4)
    #expect(throws: ServerError(.truncated)) { try Self.read(file, at: 0, into: &bytes) }
  }

  @Test func `a folder that is none is refused`() {
    #expect(throws: ServerError(.system, number: 2)) { try Folder(TemporaryDirectory.path + "/absent") }
  }
}
