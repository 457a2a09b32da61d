import Foundation
import KollusTestSupport
import SealKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct SecurityKeysTests {
  private func keys(_ bytes: [UInt8]) throws -> SecurityKeys {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return keys
  }

  private var path: String { "\(TemporaryDirectory.path)/key" }

  private var keys: SecurityKeys {
    var settings = Settings()
    settings.keys = ["custom": path]
    return SecurityKeys(settings)
  }

  private func bytes(_ key: SymmetricKey) -> [UInt8] { key.withBytes { $0.withUnsafeBytes { Array($0) } } }

  @Test(arguments: [
    ("k", "k"), ("secret\n", "secret"), ("secret \t\r\n\r\n", "secret"), (" a b ", " a b"), ("\nx", "\nx"),
    ("비밀\n", "비밀"),
  ]) func `white space at the end of a file is no part of the key`(_ text: String, _ key: String) throws {
    #expect(bytes(try keys(Array(text.utf8)).key("custom")) == Array(key.utf8))
  }

  @Test func `a file is read once`() throws {
    let keys = try keys([1])
    let first = try keys.key("custom")
    try FileManager.default.removeItem(atPath: path)
    #expect(try keys.key("custom") === first)
  }

  @Test func `a file that could not be read is tried again`() throws {
    let keys = keys
    #expect(throws: KollusError.self) { try keys.key("custom") }
    _ = try self.keys([1])
    #expect(bytes(try keys.key("custom")) == [1])
  }

  @Test(arguments: [0, 1, 65_536, 65_537]) func `a key has from 1 byte to 64 KiB`(_ count: Int) throws {
    let keys = try keys(Array(repeating: 0x41, count: count))
    if (1...65_536).contains(count) {
      #expect(try keys.key("custom").byteCount == count)
    } else {
      let error = #expect(throws: KollusError.self) { try keys.key("custom") }
      #expect(error?.kind == .configuration && error?.code == -8_634)
      #expect(error?.message.contains(path) == true && error?.message.contains("AAA") == false)
    }
  }

  @Test func `a file of white space only is empty`() throws {
    let error = #expect(throws: KollusError.self) { try keys(Array(" \r\n".utf8)).key("custom") }
    #expect(error?.message.hasSuffix("is empty") == true)
  }

  @Test func `a file that cannot be read is named with the reason`() throws {
    let missing = #expect(throws: KollusError.self) { try keys.key("custom") }
    #expect(missing?.kind == .configuration && missing?.code == -8_634)
    #expect(missing?.message == "the security key in \(path) cannot be read: No such file or directory")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let folder = #expect(throws: KollusError.self) { try keys.key("custom") }
    #expect(folder?.message.hasSuffix("Is a directory") == true)
    try FileManager.default.removeItem(atPath: path)
    #expect(unsafe mkfifo(path, 0o600) == 0)
    let pipe = #expect(throws: KollusError.self) { try keys.key("custom") }
    #expect(pipe?.message.hasSuffix("Invalid argument") == true, "a pipe may never end")
  }

  @Test func `custom keys are told apart byte for byte`() throws {
    var settings = Settings()
    settings.keys = ["\u{AC00}": path]
    let error = #expect(throws: KollusError.self) { try SecurityKeys(settings).key("\u{1100}\u{1161}") }
    #expect(error?.message.hasPrefix("no security key is configured for the custom key") == true)
    #expect(!SecurityKeys(settings).isEmpty && SecurityKeys(Settings()).isEmpty)
  }
}
