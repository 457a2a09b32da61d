import CurlKit
import KollusTestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransferEngineTests {
  let engine: TransferEngine

  init() throws { engine = try TransferEngine() }

  @Test(arguments: [0, 1, 65_536, 3_000_001]) func `the body arrives whole`(_ size: Int) async throws {
    defer { engine.stop() }
    let body = randomBytes(size)
    let server = try ScriptedServer { _ in Answer(200, body[...]) }
    let response = try await engine.perform(Request(server), limit: size)
    #expect(response.head.status == 200)
    #expect(response.body == body)
  }

  @Test(arguments: [Answer.Framing.chunked, .untilClose])
  func `a body of unknown length arrives whole`(_ framing: Answer.Framing) async throws {
    defer { engine.stop() }
    let body = randomBytes(300_000)
    let server = try ScriptedServer { _ in Answer(200, body[...]).framed(framing) }
    #expect(try await engine.perform(Request(server), limit: 1 << 20).body == body)
  }

  @Test(arguments: [Answer.Framing.length, .chunked])
  func `a body over the limit is refused`(_ framing: Answer.Framing) async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, randomBytes(100_001)[...]).framed(framing) }
    await expectFailure(CurlError.refusedByReceiver) {
      _ = try await engine.perform(Request(server), limit: 100_000)
    }
  }

  @Test func `a head that is not wanted ends the transfer before its body`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(403, text: "no") }
    let receiver = RecordingReceiver(begins: false)
    await expectFailure(CurlError.refusedByReceiver) {
      _ = try await engine.perform(Request(server), into: receiver)
    }
    #expect(receiver.heads.map(\.status) == [403])
    #expect(receiver.bytes.isEmpty)
  }

  @Test(arguments: 1...3) func `pauses lose and double nothing`(_ seed: UInt64) async throws {
    defer { engine.stop() }
    let body = randomBytes(2_000_000, seed: seed)
    let server = try ScriptedServer { _ in Answer(200, body[...]) }
    let calls = Protected(seed)
    let receiver = RecordingReceiver { _ in
      calls.withLock { state in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33 & 3 == 0 ? .later : .taken
      }
    }
    var request = try Request(server)
    request.bufferSize = 512 << 10
    _ = try await engine.perform(request, into: receiver)
    #expect(receiver.pauses > 0)
    #expect(receiver.bytes == body)
  }

  @Test func `a receiver that is not ready is woken`() async throws {
    defer { engine.stop() }
    let body = randomBytes(1_000_000)
    let server = try ScriptedServer { _ in Answer(200, body[...]) }
    let isFirst = Protected(true)
    let receiver = RecordingReceiver { taken in
      isFirst.withLock { isFirst in
        guard isFirst, taken > 100_000 else { return .taken }
        isFirst = false
        return .later
      }
    }
    receiver.isOpen = false
    let request = try Request(server)
    let task = Task { try await engine.perform(request, into: receiver) }
    #expect(await eventually { receiver.pauses == 1 })
    let taken = receiver.bytes.count
    receiver.isOpen = true
    engine.wake()
    _ = try await task.value
    #expect(taken < body.count)
    #expect(receiver.bytes == body)
  }

  @Test func `a pause longer than the timeout is no stall`() async throws {
    defer { engine.stop() }
    let body = randomBytes(1_000_000)
    let server = try ScriptedServer { _ in Answer(200, body[...]) }
    let isFirst = Protected(true)
    let receiver = RecordingReceiver { _ in
      isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? .later : .taken
      }
    }
    receiver.isOpen = false
    let request = try Request(server, timeout: .seconds(1))
    let task = Task { try await engine.perform(request, into: receiver) }
    #expect(await eventually { receiver.pauses == 1 })
    // Nothing can be awaited here: that nothing happens is the point.
    try await Task.sleep(for: .milliseconds(2_500))
    receiver.isOpen = true
    engine.wake()
    _ = try await task.value
    #expect(receiver.bytes == body)
  }

  @Test func `a body cut short is told`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, randomBytes(100_000)[...]).cut(after: 50_000) }
    let receiver = RecordingReceiver()
    await expectFailure(CurlError.partialFile) {
      _ = try await engine.perform(Request(server), into: receiver)
    }
    #expect(receiver.bytes == Array(randomBytes(100_000)[..<50_000]))
  }

  @Test func `a refused connection is told`() async throws {
    defer { engine.stop() }
    let url = try {
      let server = try ScriptedServer { _ in Answer(200) }
      server.stop()
      return server.url
    }()
    await expectFailure(7) { _ = try await engine.perform(Request(url: url), limit: 10) }
  }

  @Test func `a server that never answers is given up in time`() async throws {
    defer { engine.stop() }
    let server = try SilentServer()
    let start = ContinuousClock.now
    await expectFailure(CurlError.timedOut) {
      _ = try await engine.perform(Request(url: server.url, timeout: .seconds(1)), limit: 10)
    }
    #expect(.now - start < .seconds(30))
  }

  @Test func `a server that stalls in mid-body is given up in time`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, randomBytes(300_000)[...]).stalled(after: 1_000) }
    let receiver = RecordingReceiver()
    let start = ContinuousClock.now
    await expectFailure(CurlError.timedOut) {
      _ = try await engine.perform(Request(server, timeout: .seconds(1)), into: receiver)
    }
    #expect(.now - start < .seconds(30))
    #expect(receiver.bytes.count == 1_000)
  }

  @Test func `a redirect is shown, not followed`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { request in
      request.path == "/" ? Answer(302).with("Location", "/other") : Answer(200)
    }
    let head = try await engine.perform(Request(server), limit: 10).head
    #expect(head.status == 302)
    #expect(head["location"] == "/other")
    #expect(server.exchanges.count == 1)
  }

  @Test func `a rate is kept by all transfers together`() async throws {
    engine.stop()
    let slow = try TransferEngine(bytesPerSecond: 1_000_000)
    defer { slow.stop() }
    let body = randomBytes(500_000)
    let server = try ScriptedServer { _ in Answer(200, body[...]) }
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<3 {
        let request = try Request(server)
        group.addTask { try await slow.perform(request, limit: body.count).body == body }
      }
      for try await isWhole in group { #expect(isWhole) }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    #expect(seconds > 1.1)
    #expect(seconds < 30)
  }

  private func expectFailure(
    _ code: Int, at location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      Issue.record("no failure", sourceLocation: location)
    } catch {
      #expect((error as? CurlError)?.code == code, "\(error)", sourceLocation: location)
    }
  }
}
