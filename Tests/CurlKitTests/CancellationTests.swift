import CurlKit
import KollusTestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
  let engine: TransferEngine

  init() throws { engine = try TransferEngine() }

  @Test func `a task cancelled before its transfer asks nothing`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200) }
    let request = try Request(server)
    let gate = Task { try await Task.sleep(for: .seconds(60)) }
    let task = Task {
      _ = try? await gate.value  // Ends when the gate is cancelled, which is after this task was.
      return try await engine.perform(request, limit: 10)
    }
    task.cancel()
    gate.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.exchanges.isEmpty)
  }

  @Test func `cancelling at any moment ends a transfer`() async throws {
    defer { engine.stop() }
    let server = try SilentServer()
    let request = try Request(url: server.url)
    for round in 0..<100 {
      let task = Task { try await engine.perform(request, limit: 10) }
      for _ in 0..<round % 10 { await Task.yield() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func `cancelling in mid-body closes the connection`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, randomBytes(200_000)[...]).stalled(after: 100_000) }
    let receiver = RecordingReceiver()
    let request = try Request(server)
    let task = Task { try await engine.perform(request, into: receiver) }
    #expect(await eventually { receiver.bytes.count == 100_000 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { server.exchanges.first?.isFinished == true })
  }

  @Test func `cancelling a paused transfer ends it`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, randomBytes(200_000)[...]) }
    let receiver = RecordingReceiver { _ in .later }
    receiver.isOpen = false
    let request = try Request(server)
    let task = Task { try await engine.perform(request, into: receiver) }
    #expect(await eventually { receiver.pauses == 1 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(receiver.bytes.isEmpty)
  }

  @Test func `cancelling after the end changes nothing, and the engine goes on`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, text: "ok") }
    let request = try Request(server)
    for _ in 0..<20 {
      let task = Task { try await engine.perform(request, limit: 10) }
      #expect(try await task.value.body == Array("ok".utf8))
      task.cancel()
    }
    #expect(try await engine.perform(request, limit: 10).head.status == 200)
  }

  @Test func `a stopped engine answers every caller, early and late`() async throws {
    let server = try SilentServer()
    let request = try Request(url: server.url)
    let cancelled = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<200 {
        group.addTask {
          do {
            _ = try await engine.perform(request, limit: 10)
            return false
          } catch {
            return error is CancellationError
          }
        }
      }
      group.addTask {
        engine.stop()
        return true
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(cancelled == 201)
    await #expect(throws: CancellationError.self) { try await engine.perform(request, limit: 10) }
    engine.wake()
    engine.stop()
  }

  @Test func `an engine that was stopped is freed with its receivers`() async throws {
    let server = try SilentServer()
    let request = try Request(url: server.url)
    let reference = await {
      let receiver = RecordingReceiver()
      let task = Task { try await engine.perform(request, into: receiver) }
      await Task.yield()
      engine.stop()
      _ = await task.result
      return Weak(receiver)
    }()
    #expect(await eventually { reference.value == nil })
  }
}

/// Lets a closure look at an object without keeping it.
private final class Weak: Sendable {
  private weak let object: RecordingReceiver?

  init(_ object: RecordingReceiver?) { self.object = object }

  var value: RecordingReceiver? { object }
}
