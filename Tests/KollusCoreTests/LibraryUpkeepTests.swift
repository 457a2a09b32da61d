import Foundation
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LibraryUpkeepTests {
  let home: Home

  init() throws { home = try Home(opening: TemporaryDirectory.path + "/home", machineID: "machine") }

  private func sealed(_ library: Library, _ key: String, seed: UInt64) async throws -> Content {
    let stored = try await library.ready(key) { $0.fileSize = 100_000 }
    try Files.makeFolder(library.home.mediaPath)
    _ = try CoreStage.sealedFile(
      at: library.home.mediaPath(of: key), plain: randomBytes(100_000, seed: seed), mediaContentKey: key,
      deviceKey: library.home.identity.key)
    return stored
  }

  @Test func `what is gone is missing, with an event, unless the whole folder is`() async throws {
    let library = try Library(home)
    let content = try await sealed(library, "a", seed: 1)
    _ = try await sealed(library, "b", seed: 2)
    let sink = RecordingSink()
    try await library.tidy(sink)
    #expect(sink.events.isEmpty)
    try Files.rename(home.mediaPath, to: home.path + "/away")
    try await library.tidy(sink)
    #expect(sink.events.isEmpty)
    try Files.rename(home.path + "/away", to: home.mediaPath)
    try Files.remove(home.mediaPath(of: "a"))
    try await library.tidy(sink)
    #expect(sink.notes == [.missing])
    #expect(try await library.content("a")?.state == .missing)
    #expect(try await library.content("b")?.state == .ready)
    #expect(try await library.source(of: content.id) != nil)
  }

  @Test func `a home with letters beyond ASCII keeps its contents`() async throws {
    let library = try Library(Home(opening: TemporaryDirectory.path + "/홈 문서", machineID: "machine"))
    _ = try await sealed(library, "a", seed: 1)
    let sink = RecordingSink()
    try await library.tidy(sink)
    #expect(sink.notes.isEmpty)
    #expect(try await library.content("a")?.state == .ready)
  }

  @Test func `sound bytes are found sound, damaged ones named`() async throws {
    let library = try Library(home)
    let stored = try await sealed(library, "a", seed: 1)
    let sink = RecordingSink()
    var result = try await library.verify(stored, sink)
    #expect(result.damaged.isEmpty)
    #expect(result.segments == 2)
    let file = try File(home.mediaPath(of: "a"), O_RDWR)
    let offset = try #require(try SealedFile.open(file.path, deviceKey: home.identity.key)).layout.slotOffset(
      1)
    try file.write([0, 1, 2, 3], at: offset)
    result = try await library.verify(stored, sink)
    #expect(result.damaged == [1])
    #expect(sink.notes == [.damaged])
    let content = try #require(try await library.content("a"))
    #expect(
      (content.state, content.downloadSize, content.failure?.code) == (.failed, 65_536, KollusCode.damaged))
    #expect(throws: KollusError.self) { try library.export(stored) { _ in } }
  }

  @Test func `the file of another content is not this one's`() async throws {
    let library = try Library(home)
    let stored = try await sealed(library, "a", seed: 1)
    _ = try await sealed(library, "b", seed: 2)
    try FileManager.default.removeItem(atPath: home.mediaPath(of: "a"))
    try FileManager.default.copyItem(atPath: home.mediaPath(of: "b"), toPath: home.mediaPath(of: "a"))
    let damaged = try? await library.verify(stored, RecordingSink()).damaged
    #expect(damaged?.isEmpty != true)
    #expect(try await library.content("a")?.state == .failed)
  }

  @Test func `a plain copy is exported, but not of another's file, an unfinished one or a licensed one`()
    async throws
  {
    let library = try Library(home)
    let stored = try await sealed(library, "a", seed: 1)
    let plain = KollusTestSupport.Protected<[UInt8]>([])
    try library.export(stored) { bytes in
      let bytes = bytes.withUnsafeBytes { Array($0) }
      plain.withLock { $0 += bytes }
    }
    #expect(plain.withLock { $0 } == randomBytes(100_000, seed: 1))
    var licensed = stored
    licensed.needsLicence = true
    #expect(#expect(throws: KollusError.self) { try library.export(licensed) { _ in } }?.kind == .licence)
    var unfinished = stored
    unfinished.state = .fetching
    #expect(#expect(throws: KollusError.self) { try library.export(unfinished) { _ in } }?.kind == .badData)
    _ = try await sealed(library, "b", seed: 2)
    try Files.rename(home.mediaPath(of: "b"), to: home.mediaPath(of: "a"))
    #expect(
      #expect(throws: KollusError.self) { try library.export(stored) { _ in } }?.code == KollusCode.damaged)
  }

  @Test func `what is removed is gone, key first, and not while another works on it`() async throws {
    let library = try Library(home)
    let stored = try await sealed(library, "a", seed: 1)
    let link = TemporaryDirectory.path + "/link"
    try FileManager.default.linkItem(atPath: home.mediaPath(of: "a"), toPath: link)
    var lock = try home.lock(content: stored.id)
    let error = await #expect(throws: KollusError.self) { try await library.remove(stored, SilentSink()) }
    #expect(error?.kind == .tryLater)
    withExtendedLifetime(lock) {}
    lock = nil
    let sink = RecordingSink()
    try await library.remove(stored, sink)
    #expect(sink.notes == [.removed])
    #expect(try await library.content("a") == nil)
    #expect(try Files.names(in: home.mediaPath).isEmpty)
    #expect(throws: KollusError.self) { try SealedFile.open(link, deviceKey: home.identity.key) }
  }
}
