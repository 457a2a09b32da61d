import Glibc
import KollusTestSupport
import SQLiteKit
import SealKit
import SystemKit
import Testing

@testable import KollusCore

/// Whole downloads inside the process; the fault tests run the tool itself.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct DownloaderTests {
  let plain = randomBytes(100_000)

  /// An origin of one content whose media is answered by `media`.
  private func origin(more: String = "", _ media: @escaping ScriptedServer.Handler) throws -> ScriptedServer {
    try ScriptedServer(answers(more: more, media))
  }

  private func download(
    _ library: Library, from server: ScriptedServer, _ sink: any EventSink = SilentSink()
  ) async throws -> Result<Content, KollusError> {
    var settings = Settings()
    settings.origin = server.url
    (settings.retries, settings.reserve) = (0, ByteSize(bytes: 0))
    settings.timeout = TimeSpan(seconds: 2)
    let downloader = try Downloader(home: library.home, library: library, settings: settings, sink: sink)
    defer { downloader.close() }
    let outcomes = await downloader.run([DownloadRequest(.mediaContentKey("a"))])
    return try #require(outcomes.first).result
  }

  private func library(_ name: String = "home") throws -> Library {
    try Library(Home(opening: "\(TemporaryDirectory.path)/\(name)", machineID: "machine"))
  }

  @Test func `a content is downloaded once and known from then on`() async throws {
    let server = try origin(ScriptedServer.object(plain))
    let library = try library()
    let sink = RecordingSink()
    let content = try await download(library, from: server, sink).get()
    #expect(content.state == .ready)
    #expect(content.downloadSize == Int64(plain.count))
    #expect(sink.notes == [.resolved])
    let count = server.exchanges.count
    #expect(try await download(library, from: server).get() == content)
    #expect(server.exchanges.count == count)
    let file = try SealedFile.open(library.home.mediaPath(of: "a"), deviceKey: library.home.identity.key)
    #expect(try CoreStage.plain(of: #require(file)) == plain)
  }

  @Test func `a touched file is read again, and repaired by what is bad`() async throws {
    let server = try origin(ScriptedServer.object(plain))
    let library = try library()
    let content = try await download(library, from: server).get()
    let file = try File(library.home.mediaPath(of: "a"), O_RDWR)
    let offset = try #require(try SealedFile.open(file.path, deviceKey: library.home.identity.key)).layout
      .slotOffset(0)
    try file.write([1, 2, 3, 4], at: offset)
    let sink = RecordingSink()
    let repaired = try await download(library, from: server, sink).get()
    #expect(sink.notes.contains(.damaged))
    #expect(repaired.state == .ready)
    #expect(repaired.id == content.id)
    #expect(try await library.verify(repaired, SilentSink()).damaged.isEmpty)
  }

  @Test func `the file of another content in place of this one is replaced`() async throws {
    let server = try origin(ScriptedServer.object(plain))
    let library = try library()
    _ = try await download(library, from: server).get()
    let path = library.home.mediaPath(of: "a")
    _ = try CoreStage.sealedFile(
      at: path, plain: randomBytes(100_000, seed: 2), mediaContentKey: "b",
      deviceKey: library.home.identity.key)
    let content = try await download(library, from: server).get()
    #expect(throws: Never.self) { try library.export(content) { _ in } }
  }

  @Test func `the last failure is the one to tell`() async throws {
    let server = try origin { _ in Answer(503).retryAfter("1000") }
    let library = try library()
    let first = await #expect(throws: KollusError.self) { try await download(library, from: server).get() }
    #expect(first?.code == -8_503)
    #expect(try await #require(library.content("a")).notBefore > 1_000)
    // The time has passed.
    try await library.record { db throws(SQLiteError) in try db.execute("UPDATE content SET not_before = 0") }
    server.answer(with: answers { _ in Answer(429).retryAfter("1000") })
    let second = await #expect(throws: KollusError.self) { try await download(library, from: server).get() }
    #expect(second?.code == -8_429)
    let stored = try #require(try await library.content("a"))
    #expect(stored.failure?.code == -8_429)
    #expect(stored.notBefore > 1_000)
  }

  private func answers(
    more: String = "", _ media: @escaping ScriptedServer.Handler
  ) -> ScriptedServer.Handler {
    let manifest = CoreStage.manifest("a", size: plain.count, more: more)
    return { request in
      request.path.hasPrefix("/contents/media/")
        ? media(request) : Answer(200, text: "{\"contents\":[\(manifest)]}", type: "application/json")
    }
  }

  @Test(arguments: ["home", "홈 문서"])
  func `pictures are kept beside the media`(_ name: String) async throws {
    let object = ScriptedServer.object(plain)
    let server = try origin(more: "\"snapshot\":{\"url\":\"media/s.jpg\",\"size\":3},") { request in
      request.path.hasSuffix(".jpg") ? Answer(200, [1, 2, 3], type: "image/jpeg") : object(request)
    }
    let library = try library(name)
    let content = try await download(library, from: server).get()
    let stored = try #require(try await library.content("a"))
    #expect(content.state == .ready)
    #expect(try Files.read("\(library.home.mediaPath)/\(stored.snapshot)", limit: 10) == [1, 2, 3])
  }
}
