import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// Flushes that are killed, many flushes at once, and large libraries; `KOLLUS_KILLS` asks for more kills.
@Suite(.serialized, .temporaryDirectory) struct LMSKillTests {
  /// Most reports of one process that are on the wire, or answered and not yet noted.
  private static let unnoted = 128

  @Test(.timeLimit(.minutes(10)))
  func `kill -9 at any moment of a flush loses no report`() async throws {
    let stage = try LMSStage()
    let (each, count) = (0..<10, 100)
    try await stage.fill(0..<count, each: each)
    let start = ContinuousClock.now
    try await stage.tool.run("lms-flush", "--quiet").expect(0)
    let whole = Int((ContinuousClock.now - start) / .milliseconds(1))
    var sessions = count
    var (kills, inMid) = (0, 0)
    for _ in 0..<3 * KillTests.kills where kills < KillTests.kills {
      if try await stage.library.backlog().pending == 0 {
        try await stage.fill(sessions..<sessions + count, each: each)
        sessions += count
      }
      let process = try stage.tool.start("lms-flush", "--quiet")
      // From before the first request to about the end of a whole run.
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...whole)))
      process.kill(SIGKILL)
      guard await process.wait().ending == .signal(Int(SIGKILL)) else { continue }
      kills += 1
      let left = try await stage.library.backlog().pending
      if left > 0, left < count * each.count { inMid += 1 }
    }
    #expect(kills > 0)
    try await stage.tool.run("lms-flush", "--quiet").expect(0)
    #expect(try await stage.states() == [.sent: sessions * each.count])
    let forms = stage.received
    #expect(Set(forms) == LMSStage.names(0..<sessions, each: each))
    stage.expectOrder(forms, once: false)
    let doubles = forms.count - Set(forms).count
    #expect(doubles <= kills * Self.unnoted, "\(doubles) doubled by \(kills) kills, \(inMid) in mid-flush")
  }

  @Test(.timeLimit(.minutes(1)), arguments: [1, 20])
  func `ten flushes at once send each report once`(_ each: Int) async throws {
    let stage = try LMSStage()
    try await stage.fill(0..<1_000 / each, each: 0..<each)
    stage.answer(Answer(200).delayed(by: .milliseconds(2)))
    let processes = try (0..<10).map { _ in try stage.tool.start("lms-flush", "--json") }
    var sent = 0
    for process in processes {
      let outcome = await process.wait(within: .seconds(50))
      outcome.expect(0)
      sent += try LMSFlush(outcome).successCount ?? 0
    }
    #expect(sent == 1_000)
    #expect(try await stage.states() == [.sent: 1_000])
    #expect(Set(stage.received) == LMSStage.names(0..<1_000 / each, each: 0..<each))
    stage.expectOrder()
  }

  @Test(.timeLimit(.minutes(2))) func `a large library is flushed in little memory`() async throws {
    let stage = try LMSStage()
    try await stage.fill(0..<5_000, each: 0..<4, padding: 4_000)
    let start = ContinuousClock.now
    let process = try stage.tool.start("lms-flush", "--quiet")
    var peak = 0
    while process.isRunning {
      peak = max(peak, Self.peak(of: process.pid) ?? 0)
      try await Task.sleep(for: .milliseconds(20))
    }
    await process.wait().expect(0)
    let time = (ContinuousClock.now - start) / .seconds(1)
    #expect(peak > 0 && peak < 64 << 10, "\(peak) KiB at most")
    #expect(time < 60, "\(time) s")
    #expect(try await stage.states() == [.sent: 20_000])
    stage.expectOrder()
    for words in [
      ["lms", "list", "--all"], ["lms", "list", "--all", "--json"], ["lms", "export", "--all"],
    ] {
      let process = try stage.tool.start(words)
      var peak = 0
      while process.isRunning {
        peak = max(peak, Self.peak(of: process.pid) ?? 0)
        try await Task.sleep(for: .milliseconds(5))
      }
      await process.wait().expect(0)
      #expect(peak < 64 << 10, "\(words): \(peak) KiB at most")
    }
  }

  /// Most memory that a process ever held, in KiB.
  private static func peak(of pid: Int32) -> Int? {
    // It may have ended a moment ago.
    let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = text?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
  }

  // MARK: Plays that a kill left open

  /// Opens a play as `play` does, that has watched some seconds.
  private func open(_ stage: LMSStage, _ number: Int, watched: Double = 30) async throws -> PlayRecord {
    let template = "60:\(stage.receiver.url)/lms?s={MEDIA_CONTENT_KEY}&n=0&at={START_AT}&w={PLAY_STATUS}"
    let templates = try LMSTemplate.read(template)
    var log = ViewingLog(duration: 600, blockCount: 10)
    log.watch(0, watched, clock: watched)
    log.pass(watched)
    let text = log.encoded
    let record = try await stage.library.beginViewing(
      of: "\(number)", by: "user", at: LMSStage.start
    ) { startAt in
      let session = LMSReport.Session(mediaContentKey: "\(number)", startAt: startAt)
      return (PlayContext(session, templates: templates).encoded, text)
    }
    // A play is open from the first time it is saved, when its player holds the lock.
    _ = try await stage.library.save(
      record, of: Content(mediaContentKey: "\(number)"), position: 0, charge: PlayCharge(), reports: [],
      isOver: false, at: LMSStage.start)
    return record
  }

  @Test(.timeLimit(.minutes(1)))
  func `a play that was killed makes its last report at the next flush, once`() async throws {
    let stage = try LMSStage()
    for number in 0..<100 { _ = try await open(stage, number) }
    // Nothing was watched, so there is nothing to say.
    _ = try await open(stage, 100, watched: 0)
    let processes = try (0..<10).map { _ in try stage.tool.start("lms-flush", "--json") }
    for process in processes { await process.wait(within: .seconds(50)).expect(0) }
    try await stage.tool.run("lms-flush", "--quiet").expect(0)
    #expect(stage.received.sorted() == LMSStage.names(0..<100).sorted())
    let bodies = stage.receiver.exchanges.map { String(decoding: $0.request.body, as: UTF8.self) }
    #expect(bodies.allSatisfy { $0.hasSuffix("&w=stop") })
    // No two plays of one user began in the same second.
    #expect(Set(bodies.compactMap { $0.split(separator: "&").first { $0.hasPrefix("at=") } }).count == 100)
    #expect(try await stage.library.openViewings().isEmpty)
  }

  @Test(.timeLimit(.minutes(1)))
  func `a play that is still on is left alone`() async throws {
    let stage = try LMSStage()
    let (on, off) = (try await open(stage, 1), try await open(stage, 2))
    let lock = try #require(try stage.library.home.lock(playing: on.id))
    try await stage.tool.run("lms-flush").expect(0)
    try await stage.flush().expect(0, sent: 0)
    #expect(stage.received == ["s=2&n=0"])
    #expect(try await stage.library.openViewings().map(\.id) == [on.id])
    #expect(off.id != on.id)
    withExtendedLifetime(lock) {}
  }

  @Test(.timeLimit(.minutes(1)))
  func `no two plays of one user begin in the same second`() async throws {
    let stage = try LMSStage()
    let other = try Library(stage.library.home)
    let starts = try await withThrowingTaskGroup(of: (String, Int64).self) { group in
      for number in 0..<60 {
        let library = number.isMultiple(of: 2) ? stage.library : other
        let user = "user \(number % 3)"
        group.addTask {
          let record = try await library.beginViewing(of: "a", by: user, at: LMSStage.start) { _ in ("", "") }
          return (user, record.startAt)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for user in ["user 0", "user 1", "user 2"] {
      let own = starts.filter { $0.0 == user }.map(\.1)
      #expect(own.sorted() == (0..<20).map { LMSStage.start + $0 })
    }
  }
}
