import CurlKit
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

/// The transfers of one content against a real server, into a real file.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct MediaFetchTests {
  static let segment = 65_536
  let plain = randomBytes(20 * 65_536 + 1)

  private func stage(
    _ server: ScriptedServer, digests: Bool, buffers: Int = 9, connections: Int = 4
  ) throws -> (MediaFetch, TransferEngine) {
    let engine = try TransferEngine()
    let file = try SealedFile.create(
      at: TemporaryDirectory.path + "/media.sealed",
      SealedDescription(mediaContentKey: "mck", manifest: "{}"),
      segmentSize: Self.segment, size: Int64(plain.count), deviceKey: CoreStage.key, isLarge: false)
    let segments = stride(from: 0, to: plain.count, by: Self.segment).map {
      SHA256.hash(Array(plain[$0..<min($0 + Self.segment, plain.count)]))
    }
    let media = Manifest.Media(
      type: "video/mp4", size: Int64(plain.count), addresses: [try CoreStage.address(server.url + "/x")],
      segmentSize: Self.segment, segments: digests ? segments : [])
    var settings = Settings()
    (settings.connections, settings.retries) = (connections, 1)
    settings.timeout = TimeSpan(seconds: 2)
    let fetch = FetchState(
      layout: file.layout, media: media, scan: .empty(count: file.layout.segmentCount), settings: settings,
      progress: 0, told: { _ in })
    let pool = BufferPool(count: buffers, segmentSize: Self.segment, from: SpareBuffers()) { engine.wake() }
    let run = MediaFetch(
      engine: engine, workers: WorkerThreads(2), options: OriginClient.options(settings), file: file,
      fetch: fetch,
      judge: MediaJudge(
        size: Int64(plain.count), type: "video/mp4", policy: HTTPPolicy(allowsPlainHTTP: false)),
      pool: pool, bufferSize: 64 << 10)
    return (run, engine)
  }

  private func end(_ run: MediaFetch, _ engine: TransferEngine) {
    engine.stop()
    run.workers.close()
  }

  @Test(arguments: [true, false], [1, 2, 9]) func `every byte arrives, whatever the memory`(
    _ digests: Bool, _ buffers: Int
  ) async throws {
    let server = try ScriptedServer(ScriptedServer.object(plain))
    let (run, engine) = try stage(server, digests: digests, buffers: buffers)
    defer { end(run, engine) }
    try await run.run()
    #expect(run.fetch.isComplete)
    #expect(run.fetch.verdict == nil)
    #expect(try CoreStage.plain(of: run.file) == plain)
    #expect(server.bodyBytes(under: "/x") < plain.count + 4 * Self.segment)
  }

  @Test(arguments: [true, false], [1, 9]) func `a server without ranges is asked plainly`(
    _ digests: Bool, _ buffers: Int
  ) async throws {
    let plain = plain
    let server = try ScriptedServer { _ in Answer(200, plain[...], type: "video/mp4") }
    let (run, engine) = try stage(server, digests: digests, buffers: buffers)
    defer { end(run, engine) }
    try await run.run()
    #expect(run.fetch.isComplete)
    #expect(try CoreStage.plain(of: run.file) == plain)
    // The ranges that were asked for first hold their segments until they are refused: those come later.
    #expect((1...2).contains(server.exchanges.count { $0.request.range == nil }))
  }

  @Test(arguments: [true, false]) func `a server without validators brings one object`(_ digests: Bool)
    async throws
  {
    let server = try ScriptedServer(ScriptedServer.object(plain, etag: nil))
    let (run, engine) = try stage(server, digests: digests)
    defer { end(run, engine) }
    try await run.run()
    #expect(run.fetch.isComplete)
    #expect(try CoreStage.plain(of: run.file) == plain)
  }

  @Test(arguments: [true, false])
  func `a server that always ends its body early is given up`(_ digests: Bool) async throws {
    let plain = plain
    let server = try ScriptedServer { _ in
      Answer(200, plain[...], type: "video/mp4").framed(.untilClose).cut(after: 500_000)
    }
    let (run, engine) = try stage(server, digests: digests)
    defer { end(run, engine) }
    let task = Task { try await run.run() }
    let isOver = await eventually(within: .seconds(30)) {
      run.fetch.verdict != nil || server.exchanges.count > 30
    }
    task.cancel()
    _ = await task.result
    #expect(isOver)
    #expect(run.fetch.verdict != nil)
    #expect(server.exchanges.count <= 30)
  }

  @Test func `a cancelled fetch ends, and its buffers come back`() async throws {
    let plain = plain
    let server = try ScriptedServer { _ in
      Answer(200, plain[...], type: "video/mp4").stalled(after: 300_000)
    }
    let (run, engine) = try stage(server, digests: true, buffers: 3)
    defer { end(run, engine) }
    let task = Task { try await run.run() }
    #expect(await eventually { run.fetch.progress >= 131_072 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // One may still be at the thread that seals it.
    let taken = KollusTestSupport.Protected(0)
    #expect(
      await eventually {
        if run.pool.take() != nil { taken.withLock { $0 += 1 } }
        return taken.withLock { $0 } == 3
      })
    #expect(run.pool.take() == nil)
  }
}
