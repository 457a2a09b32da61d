import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// What `lms-flush` makes of the answers it gets.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LMSFlushTests {
  @Test func `after a receiver was down everything arrives once, in order per session`() async throws {
    let stage = try LMSStage()
    // What is no HTTP is no answer.
    stage.answer(Answer(7).closing())
    let (sessions, each) = (0..<12, 0..<10)
    for number in each {
      try await stage.fill(sessions, each: number..<number + 1)
      try await stage.flush().expect(75, sent: 0)
    }
    #expect(try await stage.states() == [.pending: 120])
    // Up again, but not yet well.
    stage.answer(Answer(503))
    try await stage.flush().expect(75, sent: 0, failed: 12)
    #expect(try await stage.states() == [.pending: 120])
    let before = stage.received.count
    stage.answer(Answer(200))
    try await stage.flush().expect(0, sent: 120, failed: 0)
    let forms = Array(stage.received.dropFirst(before))
    stage.expectOrder(forms)
    #expect(Set(forms) == LMSStage.names(sessions, each: each))
    #expect(try await stage.states() == [.sent: 120])
    try await stage.flush().expect(0, sent: 0, failed: 0)
    #expect(stage.received.count == before + 120)
  }

  @Test func `what is posted is a form, as it was stored`() async throws {
    let stage = try LMSStage()
    let body = "json_data=%7B%22%EC%A0%9C%22%7D&x=+&y=%00"
    try await stage.library.add([stage.report(1, 0) { $0.body = body }], at: 1)
    try await stage.flush().expect(0, sent: 1)
    let request = try #require(stage.receiver.exchanges.first?.request)
    #expect(request.method == "POST")
    #expect(request.target == "/lms")
    #expect(String(decoding: request.body, as: UTF8.self) == body)
    #expect(request.headers["content-type"]?.hasPrefix("application/x-www-form-urlencoded") == true)
  }

  // MARK: How answers are classed

  enum Class: Sendable { case sent, waits, aside }

  @Test(
    arguments: [
      (200, .sent), (201, .sent), (204, .sent), (299, .sent), (301, .waits), (302, .waits), (304, .waits),
      (307, .waits), (308, .waits), (400, .aside), (401, .aside), (403, .aside), (404, .aside),
      (408, .waits), (410, .aside), (413, .aside), (422, .aside), (429, .waits), (500, .waits),
      (501, .waits), (502, .waits), (503, .waits), (504, .waits), (599, .waits),
    ] as [(Int, Class)])
  func `an answer is classed by its status, and others go on`(_ status: Int, _ wanted: Class) async throws {
    let stage = try LMSStage()
    let elsewhere = try ScriptedServer { _ in Answer(200) }
    try await stage.fill(1..<6, each: 0..<3)
    stage.answer(session: 2, Answer(status).with("Location", "\(elsewhere.url)/other"))
    let run = try await stage.flush()
    #expect(elsewhere.exchanges.isEmpty, "a redirect was followed")
    // One that is set aside does not hold up its own session; one that waits does.
    let tries = wanted == .waits ? 1 : 3
    let sent = wanted == .sent ? 15 : 12
    run.expect(wanted == .sent ? 0 : 1, sent: sent, failed: wanted == .sent ? 0 : tries)
    #expect(stage.received.count { $0.hasPrefix("s=2&") } == tries)
    stage.expectOrder()
    let bad = try await stage.stored().filter { $0.viewing == 2 }
    let states: [Report.State] =
      switch wanted {
      case .sent: [.sent, .sent, .sent]
      case .waits: [.pending, .pending, .pending]
      case .aside: [.aside, .aside, .aside]
      }
    #expect(bad.map(\.state) == states)
    #expect(bad[0].status == Int64(status))
    #expect(bad[0].attempts == 1)
    #expect((bad[0].failure != nil) == (wanted != .sent))
    if wanted != .sent { #expect(bad[0].failure?.code == -8_000 - status) }
    #expect(try await stage.stored().allSatisfy { $0.viewing == 2 || $0.state == .sent })
  }

  @Test(arguments: ["refused", "dropped", "silent", "stalled", "garbage", "plain text"])
  func `a network that fails keeps the report, and others go on`(_ fault: String) async throws {
    let stage = try LMSStage(["timeout": "\"1s\""])
    let (dropping, silent) = try (DroppingServer(), SilentServer())
    let stalling = try ScriptedServer { _ in Answer(200).delayed(by: .seconds(30)) }
    let garbage = try ScriptedServer { _ in Answer(7) }
    defer { withExtendedLifetime((dropping, silent)) {} }
    let url =
      switch fault {
      case "refused": "http://127.0.0.1:\(try unusedPort())/lms"
      case "dropped": "\(dropping.url)/lms"
      case "silent": silent.url
      case "stalled": "\(stalling.url)/lms"
      case "garbage": "\(garbage.url)/lms"
      default: "http://lms.invalid/lms"
      }
    try await stage.fill(1..<2, each: 0..<3, url: url)
    try await stage.fill(2..<6, each: 0..<3)
    try await stage.flush().expect(1, sent: 12, failed: 1)
    stage.expectOrder()
    let bad = try await stage.stored().filter { $0.viewing == 1 }
    #expect(bad.map(\.state) == [.pending, .pending, .pending])
    #expect(bad.map(\.attempts) == [1, 0, 0])
    #expect(bad[0].status == nil)
    #expect(bad[0].failure != nil && bad[0].nextAt > 0)
    for server in [stalling, garbage] { server.stop() }
  }

  @Test func `an answer whose body never ends was an answer`() async throws {
    let stage = try LMSStage(["timeout": "\"1s\""])
    try await stage.fill(1..<4)
    stage.receiver.answer { request in
      switch String(decoding: request.body, as: UTF8.self).prefix(3) {
      case "s=1": Answer(200, text: "ok").framed(.lying(100)).stalled(after: 2)
      case "s=2": Answer(200, text: "ok").framed(.lying(100)).cut(after: 2)
      default: Answer(200, randomBytes(3 << 20)[...])
      }
    }
    try await stage.flush().expect(0, sent: 3, failed: 0)
    #expect(stage.received.count == 3)
  }

  @Test(
    .enabled(if: Nginx.isInstalled, "nginx is not installed"),
    .enabled(if: TestCertificate.isPossible, "openssl is not installed"))
  func `a certificate nobody trusts keeps the report until it is trusted`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await Nginx(
      serving: TemporaryDirectory.path, with: certificate, "location = /lms { return 204; }")
    let stage = try LMSStage()
    try await stage.fill(1..<2, each: 0..<2, url: "\(nginx.url)/lms")
    try await stage.fill(2..<3)
    try await stage.flush().expect(1, sent: 1, failed: 1)
    let bad = try await stage.stored().filter { $0.viewing == 1 }
    #expect(bad.map(\.state) == [.pending, .pending])
    #expect(bad[0].failure?.code == -8_060)
    try stage.tool.configure(["caFile": "\"\(certificate.authorityPath)\""])
    try await stage.flush().expect(0, sent: 2, failed: 0)
  }

  @Test func `reports that make a server drop the line hold up no others for long`() async throws {
    let stage = try LMSStage()
    try await stage.fill(0..<1)
    try await stage.fill(1..<30)
    stage.answer(session: 0, Answer(7).closing())
    try await stage.flush().expect(1, sent: 29, failed: 1)
    // So many that a run gives the server up before it comes to the others.
    try await stage.fill(100..<140)
    try await stage.fill(140..<180)
    stage.receiver.answer { request in
      String(decoding: request.body, as: UTF8.self) < "s=140" ? Answer(7).closing() : Answer(200)
    }
    for _ in 0..<6 { _ = try await stage.flush() }
    #expect(try await stage.states() == [.sent: 69, .pending: 41])
  }

  @Test func `a dead receiver is not called for every session, and the others get theirs`() async throws {
    let stage = try LMSStage(["timeout": "\"1s\""])
    let silent = try SilentServer()
    defer { withExtendedLifetime(silent) {} }
    // The user's id is part of the path, as a template may have it.
    for session in 0..<200 {
      try await stage.fill(session..<session + 1, url: "\(silent.url)lms/\(session)")
    }
    try await stage.fill(200..<260)
    let start = ContinuousClock.now
    let run = try await stage.flush().expect(1, sent: 60)
    #expect(.now - start < .seconds(8))
    #expect(run.failCount ?? 0 < 40, "it was called \(run.failCount ?? 0) times")
    #expect(try await stage.states() == [.pending: 200, .sent: 60])
  }

  // MARK: Several receivers

  @Test func `each receiver of one play gets all its reports`() async throws {
    let stage = try LMSStage()
    let second = try ScriptedServer { _ in Answer(200).delayed(by: .milliseconds(20)) }
    for number in 0..<5 {
      try await stage.library.add(
        [
          stage.report(1, number), stage.report(1, number, stream: 1, url: "\(second.url)/lms"),
          stage.report(1, number, stream: 2, url: "\(second.url)/other"),
        ], at: 1)
    }
    try await stage.flush().expect(0, sent: 15, failed: 0)
    stage.expectOrder()
    #expect(stage.received.count == 5)
    #expect(second.exchanges(under: "/lms").count == 5 && second.exchanges(under: "/other").count == 5)
  }

  @Test func `a receiver that refuses does not keep another from its reports`() async throws {
    let stage = try LMSStage()
    let second = try ScriptedServer { _ in Answer(500) }
    for number in 0..<3 {
      try await stage.library.add(
        [stage.report(1, number, url: "\(second.url)/lms"), stage.report(1, number, stream: 1)], at: 1)
    }
    try await stage.flush().expect(1, sent: 3, failed: 1)
    stage.expectOrder()
  }

  // MARK: Patience

  @Test(arguments: [429, 503, 500]) func `a server's Retry-After is kept, for all that goes to it`(
    _ status: Int
  ) async throws {
    let stage = try LMSStage()
    try await stage.fill(0..<60, each: 0..<2)
    stage.answer(Answer(status).retryAfter("600"))
    try await stage.flush().expect(75, sent: 0)
    let count = stage.received.count
    #expect(count <= 16, "only what was on the wire")
    stage.answer(Answer(200))
    for wait in [0.0, 500] {
      _ = try await stage.with { $0.stage.later = wait }.flush()
      #expect(stage.received.count == count, "called after \(wait) s of 600")
    }
    #expect(try await stage.states() == [.pending: 120])
    // A play goes on meanwhile.
    try await stage.fill(60..<61)
    _ = try await stage.flush()
    #expect(stage.received.count == count, "a new session's report ignores it")
    try await stage.with { $0.stage.later = 610 }.flush().expect(0, sent: 121, failed: 0)
  }

  @Test func `a Retry-After holds up nobody else's receiver`() async throws {
    let stage = try LMSStage()
    let other = try ScriptedServer { _ in Answer(503).retryAfter("600") }
    try await stage.fill(0..<3, url: "\(other.url)/lms")
    try await stage.fill(3..<6)
    try await stage.flush().expect(1, sent: 3)
    try await stage.fill(6..<9)
    let count = other.exchanges.count
    // What is held back is not done.
    try await stage.flush().expect(1, sent: 3)
    #expect(other.exchanges.count == count)
  }

  @Test func `backoff of our own does not hold up lms-flush`() async throws {
    let stage = try LMSStage()
    try await stage.fill(0..<3, each: 0..<2)
    stage.answer(Answer(500))
    for tries in 1...4 {
      try await stage.flush().expect(75, sent: 0, failed: 3)
      let stored = try await stage.stored()
      #expect(stored.prefix(3).allSatisfy { $0.attempts == tries && $0.nextAt > 0 && $0.notBefore == 0 })
    }
    stage.answer(Answer(200))
    try await stage.flush().expect(0, sent: 6, failed: 0)
    stage.expectOrder(Array(stage.received.dropFirst(12)))
  }

  // MARK: Order

  @Test func `an older report requeued after a newer one was taken is marked, not sent`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<2, each: 0..<3)
    stage.receiver.answer { request in
      String(decoding: request.body, as: UTF8.self).hasSuffix("n=1") ? Answer(400) : Answer(200)
    }
    try await stage.flush().expect(1, sent: 2, failed: 1)
    #expect(try await stage.stored().map(\.state) == [.sent, .aside, .sent])
    stage.answer(Answer(200))
    await stage.run("lms", "requeue", "--all").expect(0)
    try await stage.flush().expect(0, sent: 0, failed: 0)
    #expect(stage.received == ["s=1&n=0", "s=1&n=1", "s=1&n=2"])
    #expect(try await stage.stored().map(\.state) == [.sent, .superseded, .sent])
  }

  @Test func `it is marked as well when the newer one's receipt is old`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<2, each: 0..<2)
    stage.receiver.answer { request in
      String(decoding: request.body, as: UTF8.self).hasSuffix("n=0") ? Answer(400) : Answer(200)
    }
    try await stage.flush().expect(1, sent: 1, failed: 1)
    let late = stage.with { $0.stage.later = 40 * 86_400 }
    try await late.flush().expect(0, sent: 0)
    stage.answer(Answer(200))
    await late.run("lms", "requeue", "--all").expect(0)
    try await late.flush().expect(0, sent: 0, failed: 0)
    #expect(stage.received.count == 2, "it would take back what was reported")
  }

  @Test func `one requeued before anything newer was taken is sent first`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<2, each: 0..<3)
    stage.answer(Answer(404))
    try await stage.flush().expect(69, sent: 0, failed: 3)
    stage.answer(Answer(200))
    try await stage.fill(1..<2, each: 3..<4)
    await stage.run("lms", "requeue", "1", "2").expect(0)
    try await stage.flush().expect(0, sent: 3, failed: 0)
    #expect(stage.received.dropFirst(3) == ["s=1&n=0", "s=1&n=1", "s=1&n=3"])
    #expect(try await stage.stored().map(\.state) == [.sent, .sent, .aside, .sent])
  }

  // MARK: What goes on around it

  @Test func `a content that was removed does not take its reports along`() async throws {
    let stage = try LMSStage()
    let content = try await stage.library.register(
      Content(mediaContentKey: "lecture/1"), source: [1], playURL: nil, folder: nil)
    #expect(content.id > 0)
    try await stage.fill(1..<2, each: 0..<3)
    await stage.run("remove", "lecture/1").expect(0)
    try await stage.flush().expect(0, sent: 3)
    stage.expectOrder()
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount a file system in memory"))
  func `a disk that is full while flushing loses nothing`() async throws {
    let disk = try SmallDisk(mebibytes: 8)
    defer { withExtendedLifetime(disk) {} }
    let stage = try LMSStage(name: "disk/kollus")
    try await stage.fill(0..<20, each: 0..<20, padding: 2_000)
    try? FileManager.default.removeItem(atPath: "\(stage.tool.home)/ballast")  // It is there or not.
    try disk.fill()
    let run = try await stage.flush()
    #expect([0, 73].contains(run.status), "\(run.status)")
    try disk.clear()
    let held = try await stage.states()
    #expect((held[.pending] ?? 0) + (held[.sent] ?? 0) == 400)
    try await stage.flush().expect(0)
    #expect(Set(stage.received) == LMSStage.names(0..<20, each: 0..<20))
    stage.expectOrder(once: false)
    #expect(try await stage.states() == [.sent: 400])
  }
}
