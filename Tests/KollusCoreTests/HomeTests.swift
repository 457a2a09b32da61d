import Foundation
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct HomeTests {
  let path = TemporaryDirectory.path + "/a/home"

  private func open(_ machineID: String = "machine") throws -> Home {
    try Home(opening: path, machineID: machineID)
  }

  private func bytes(_ home: Home) -> [UInt8] {
    home.identity.key.withBytes { $0.withUnsafeBytes { Array($0) } }
  }

  @Test func `a home is made once and is private`() throws {
    let made = try open()
    let again = try open()
    #expect(made.identity.playerID == again.identity.playerID)
    #expect(made.identity.playerID.count == 40)
    #expect(bytes(made) == bytes(again))
    #expect(bytes(made).count == 32)
    #expect(try Files.information(path)?.mode == 0o700)
    #expect(try Files.information(path + "/device.key")?.mode == 0o600)
    #expect(try Files.names(in: path).sorted() == ["device.key", "device.key.copy"])
    let other = try Home(opening: path + "2", machineID: "machine")
    #expect(bytes(other) != bytes(made))
    #expect(other.identity.playerID != made.identity.playerID)
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o601]) func `a device key that others can use is refused`(
    _ mode: Int
  ) throws {
    _ = try open()
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + "/device.key")
    let error = #expect(throws: KollusError.self) { try open() }
    #expect(error?.kind == .configuration)
    #expect(error?.hint?.contains("chmod 600") == true)
  }

  @Test(arguments: ["", "{}", "nonsense", #"{"version":2}"#, #"{"version":1,"key":"YQ==","playerID":"a"}"#])
  func `a damaged device key is refused and kept`(_ text: String) throws {
    try Files.makeFolder(path)
    try Files.write(Array(text.utf8), to: path + "/device.key")
    let error = #expect(throws: KollusError.self) { try open() }
    #expect(error?.kind == .configuration)
    #expect(try Files.read(path + "/device.key", limit: 1_000) == Array(text.utf8))
  }

  @Test func `a missing key beside a library is refused, none is made`() throws {
    _ = try Library(open())
    try Files.remove(path + "/device.key")
    let error = #expect(throws: KollusError.self) { try open() }
    #expect(error?.kind == .configuration)
    #expect(try Files.information(path + "/device.key") == nil)
  }

  @Test func `another machine is refused until its identity is renewed, and contents stay`() async throws {
    let made = try open()
    let library = try Library(made)
    let content = Content(mediaContentKey: "a")
    _ = try await library.register(content, source: [], playURL: nil, folder: nil)
    try Files.makeFolder(made.mediaPath)
    _ = try CoreStage.sealedFile(at: made.mediaPath(of: "a"), plain: [1, 2, 3], deviceKey: made.identity.key)
    let error = #expect(throws: KollusError.self) { try open("other machine") }
    #expect(error?.kind == .configuration)
    #expect(error?.hint?.contains("identity new") == true)
    let renewed = try Home.renewIdentity(at: path, machineID: "other machine")
    #expect(renewed.identity.playerID != made.identity.playerID)
    #expect(bytes(renewed) == bytes(made))
    #expect(throws: KollusError.self) { try open() }
    #expect(try await Library(open("other machine")).content("a") != nil)
    let file = try SealedFile.open(renewed.mediaPath(of: "a"), deviceKey: renewed.identity.key)
    #expect(try CoreStage.plain(of: #require(file)) == [1, 2, 3])
    #expect(try Files.information(path + "/device.key")?.mode == 0o600)
  }

  @Test func `a machine without an id has its own home`() throws {
    _ = try open("")
    _ = try open("")
    #expect(throws: KollusError.self) { try open("machine") }
  }

  @Test func `a home that cannot be is told`() throws {
    try Files.write([1], to: TemporaryDirectory.path + "/file")
    let error = #expect(throws: KollusError.self) {
      try Home(opening: TemporaryDirectory.path + "/file/home", machineID: "machine")
    }
    #expect(error?.kind == .inputOutput)
    #expect(error?.hint?.contains("--home") == true)
  }

  @Test(arguments: ["", "a", "../../etc/passwd", "/", "한", "a\u{1}b", String(repeating: "x", count: 10_000)])
  func `no path is built from a key`(_ key: String) throws {
    let home = try open()
    let name = try #require(home.mediaPath(of: key).split(separator: "/").last)
    #expect(home.mediaPath(of: key) == "\(path)/media/\(name)")
    #expect(name.utf8.count == 39)
    #expect(name.hasSuffix(".sealed"))
    #expect(home.mediaPath(of: key) != home.mediaPath(of: key + "x"))
  }

  @Test func `a content is locked by one at a time`() throws {
    let home = try open()
    let one = try home.lock(content: 1)
    #expect(one != nil)
    #expect(try home.lock(content: 1) == nil)
    #expect(try home.lock(content: 2) != nil)
    #expect(try home.setupLock() != nil)
    withExtendedLifetime(one) {}
  }
}
