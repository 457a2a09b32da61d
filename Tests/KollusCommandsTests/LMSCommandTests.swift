import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// The commands on stored reports: what they print, and what they leave alone.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LMSCommandTests {
  /// A stage with two reports that are set aside (1, 2), one receipt (3) and two that wait (4, 5).
  private func mixed() async throws -> LMSStage {
    let stage = try LMSStage()
    try await stage.fill(1..<3)
    stage.answer(Answer(400))
    try await stage.flush().expect(69, sent: 0, failed: 2)
    stage.answer(Answer(200))
    try await stage.fill(3..<4)
    try await stage.flush().expect(0, sent: 1)
    try await stage.fill(4..<6)
    return stage
  }

  private func ids(_ stage: LMSStage, _ words: String...) async throws -> [Int64] {
    let list = try await stage.stage.run(["lms", "list", "--json"] + words).expect(0).json
    return try list.elements.compactMap { try $0.integer("id") }
  }

  // MARK: lms-flush

  @Test func `at most so many are sent, the oldest first`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<2, each: 0..<10)
    try await stage.flush("--limit", "3").expect(0, sent: 3, failed: 0)
    #expect(stage.received == ["s=1&n=0", "s=1&n=1", "s=1&n=2"])
    try await stage.fill(2..<40)
    try await stage.flush("--limit", "5").expect(0, sent: 5, failed: 0)
    #expect(stage.received.count == 8)
    try await stage.flush("--limit", "1000").expect(0, sent: 40)
    stage.expectOrder()
    for word in ["0", "-1", "x", ""] {
      await stage.run("lms-flush", "--limit", word).expect(64)
    }
  }

  @Test func `a dry run sends nothing and says how many would go`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<4, each: 0..<2)
    let plain = await stage.run("lms-flush", "--dry-run").expect(0)
    #expect(plain.output.contains("6") && plain.errors.isEmpty)
    let json = try await stage.run("lms-flush", "-n", "--json").expect(0).json
    expectShape(json, LMSContract.pending)
    #expect(try json.integer("pending") == 6)
    #expect(
      try await stage.run("lms-flush", "-n", "--limit", "2", "--json").expect(0).json.integer("pending") == 2)
    #expect(await stage.run("lms-flush", "-n", "--quiet").expect(0).output.isEmpty)
    #expect(stage.receiver.exchanges.isEmpty)
    #expect(try await stage.stored().allSatisfy { $0.attempts == 0 })
  }

  @Test func `a flush ends with its counts, for people and for scripts`() async throws {
    let stage = try LMSStage()
    try await stage.fill(1..<4)
    stage.answer(session: 2, Answer(404))
    let people = await stage.run("lms-flush").expect(1)
    #expect(people.output.contains("2") && people.output.contains("1 not"))
    #expect(people.errors.contains("lecture/2") && people.errors.contains("-8404"))
    #expect(people.errors.contains("lms requeue"), "the way out")
    try await stage.fill(4..<6)
    let events = await stage.run("lms-flush", "--events", "jsonl").expect(0)
    let lines = JSONLines(events.output).objects
    #expect(lines.count == 3)
    for line in lines.prefix(2) { expectShape(line, LMSContract.data) }
    expectShape(try #require(lines.last), LMSContract.complete)
    #expect(try lines.last?.integer("successCount") == 2)
    let nothing = try await stage.flush().expect(0, sent: 0, failed: 0)
    #expect(nothing.events.count == 1)
  }

  @Test func `quiet says nothing without reports, or without a network, and tells refusals`() async throws {
    let stage = try LMSStage(["timeout": "\"1s\""])
    let idle = await stage.run("lms-flush", "--quiet").expect(0)
    #expect(idle.output.isEmpty && idle.errors.isEmpty)
    try await stage.fill(1..<4, url: "http://127.0.0.1:\(try unusedPort())/lms")
    let offline = await stage.run("lms-flush", "--quiet").expect(75)
    #expect(offline.output.isEmpty && offline.errors.isEmpty, "\(offline)")
    let json = await stage.run("lms-flush", "--quiet", "--json").expect(75)
    #expect(json.errors.isEmpty)
    expectShape(try json.json, LMSContract.flushed)
    let busy = try LMSStage(name: "busy")
    try await busy.fill(1..<4)
    busy.answer(Answer(503))
    let waiting = await busy.run("lms-flush", "--quiet").expect(75)
    #expect(waiting.output.isEmpty && waiting.errors.isEmpty)
    busy.answer(Answer(401))
    let refused = await busy.run("lms-flush", "--quiet").expect(69)
    #expect(refused.output.isEmpty && refused.errors.contains("401"))
    let done = await busy.run("lms-flush", "--quiet").expect(0)
    #expect(done.output.isEmpty && done.errors.isEmpty)
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `a signal in mid-flush ends it with what parses, and loses nothing`(
    _ signal: Int32, status: Int
  ) async throws {
    let stage = try LMSStage(["timeout": "\"30s\""])
    try await stage.fill(0..<40, each: 0..<2)
    let count = KollusTestSupport.Protected(0)
    stage.receiver.answer { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number <= 10 ? Answer(200) : Answer(200).delayed(by: .seconds(30))
    }
    for words in [["--json", "--events", "jsonl"], ["--json"], ["--events", "jsonl"], ["--quiet"]] {
      let before = stage.receiver.exchanges.count
      let process = try stage.tool.start(["lms-flush"] + words)
      let wanted = before == 0 ? 26 : before + 16
      #expect(await eventually { stage.receiver.exchanges.count == wanted })
      process.kill(signal)
      let outcome = await process.wait()
      outcome.expect(status)
      if words.contains("--json") {
        _ = try LMSFlush(outcome)
      } else {
        #expect(words.count == 2 || outcome.standardOutput.isEmpty)
      }
      if words.first == "--events" { _ = JSONLines(outcome.standardOutput) }
      #expect(outcome.standardOutput.isEmpty || outcome.standardOutput.hasSuffix("\n"))
    }
    #expect(try await stage.states() == [.sent: 10, .pending: 70])
    #expect(try await stage.stored().allSatisfy { $0.failure == nil && $0.status ?? 200 == 200 })
    let before = stage.received.count
    stage.answer(Answer(200))
    try await stage.flush().expect(0, sent: 70, failed: 0)
    stage.expectOrder(Array(stage.received.dropFirst(before)))
  }

  @Test func `lost output is told by the exit status`() async throws {
    let stage = try LMSStage().with { $0.stage.isHeard = false }
    try await stage.fill(1..<3)
    #expect(await stage.run("lms-flush").status == 74)
    #expect(try await stage.states() == [.sent: 2])
  }

  // MARK: lms list, show, export

  @Test func `lists show what is wanted, as a contract`() async throws {
    let stage = try await mixed()
    for report in try await stage.listed("--all") { expectShape(report, LMSContract.listed) }
    #expect(try await ids(stage) == [1, 2, 4, 5])
    #expect(try await ids(stage, "--all") == [1, 2, 3, 4, 5])
    #expect(try await ids(stage, "--state", "aside") == [1, 2])
    #expect(try await ids(stage, "--state", "sent", "--state", "pending") == [3, 4, 5])
    #expect(try await ids(stage, "--mck", "lecture/4") == [4])
    #expect(try await ids(stage, "--mck", "lecture/none") == [])
    await stage.run("lms", "list", "--state", "lost").expect(64)
    let aside = try #require(try await stage.listed("--state", "aside").first)
    #expect(try aside.object("error")?.integer("code") == -8_400)
    #expect(try aside.integer("status") == 400)
    #expect(try aside.integer("attempts") == 1)
    let table = await stage.run("lms", "list").expect(0)
    #expect(table.output.contains("lecture/1") && !table.output.contains("lecture/3"))
    #expect(table.output.contains("2 wait to be sent") && table.output.contains("2 set aside"))
    let quiet = await stage.run("lms", "list", "--quiet").expect(0)
    #expect(!quiet.output.contains("wait to be sent"))
  }

  @Test func `a list says how old the oldest unsent report is`() async throws {
    let stage = try LMSStage()
    #expect(await stage.run("lms", "list").expect(0).output.contains("nothing waits to be sent"))
    try await stage.library.add([stage.report(1, 0)], at: Int64(Date().timeIntervalSince1970) - 7_200)
    try await stage.fill(2..<3)
    #expect(await stage.run("lms", "list").expect(0).output.contains("the oldest for 2:00:0"))
    // A clock that was put back must not trap.
    await stage.with { $0.stage.later = -864_000 }.run("lms", "list").expect(0)
  }

  @Test func `one report is shown with its form`() async throws {
    let stage = try await mixed()
    let shown = try await stage.run("lms", "show", "1", "--json").expect(0).json
    expectShape(shown, LMSContract.shown)
    #expect(try shown.string("body") == "s=1&n=0")
    #expect(try shown.string("state") == "aside")
    let people = await stage.run("lms", "show", "1").expect(0).output
    for part in ["aside", "lecture/1", "s=1&n=0", "-8400", "/lms"] {
      #expect(people.contains(part), "\(people)")
    }
    #expect(try await stage.run("lms", "show", "3", "--json").expect(0).json.string("body") == "")
    for id in ["99", "0", "-1", "9223372036854775807"] {
      await stage.stage.run(["lms", "show", "--json", "--", id]).expect(66)
    }
    await stage.run("lms", "show", "x").expect(64)
  }

  @Test func `an export holds all forms, and reads back`() async throws {
    let stage = try await mixed()
    let lines = JSONLines(await stage.run("lms", "export").expect(0).output).objects
    #expect(try lines.compactMap { try $0.integer("id") } == [1, 2, 4, 5])
    for line in lines { expectShape(line, LMSContract.shown) }
    #expect(try lines.compactMap { try $0.string("body") } == ["s=1&n=0", "s=2&n=0", "s=4&n=0", "s=5&n=0"])
    #expect(JSONLines(await stage.run("lms", "export", "--all").expect(0).output).objects.count == 5)
    let array = try await stage.run("lms", "export", "--json").expect(0).json
    #expect(array.kind == .array && Array(array.elements).count == 4)
    let empty = try LMSStage(name: "empty")
    #expect(await empty.run("lms", "export").expect(0).output.isEmpty)
    #expect(try await empty.run("lms", "export", "--json").expect(0).json.rawText == "[]")
    #expect(try await empty.run("lms", "list", "--json").expect(0).json.rawText == "[]")
  }

  // MARK: lms requeue, drop

  @Test func `what is set aside, and what waits, can be requeued`() async throws {
    let stage = try await mixed()
    let some = try await stage.run("lms", "requeue", "1", "3", "4", "--json").expect(1).json
    expectShape(some, LMSContract.changed)
    // What waits may be sent at once again; what was sent is not sent anew.
    #expect(try some.integer("count") == 2)
    #expect(try some.integer("of") == 3)
    let all = await stage.run("lms", "requeue", "--all").expect(0)
    #expect(all.output.contains("1"))
    #expect(try await stage.states() == [.pending: 4, .sent: 1])
    let requeued = try #require(try await stage.stored().first)
    #expect(requeued.endedAt == nil && requeued.nextAt == 0)
    await stage.run("lms", "requeue").expect(64)
    await stage.run("lms", "requeue", "--all", "1").expect(64)
    await stage.run("lms", "requeue", "1", "99").expect(66)
    try await stage.flush().expect(0, sent: 4)
  }

  @Test func `what is dropped is gone, the rest stays`() async throws {
    let stage = try await mixed()
    let rehearsed = try await stage.run("lms", "drop", "--aside", "--dry-run", "--json").expect(0).json
    expectShape(rehearsed, LMSContract.changed)
    #expect(try rehearsed.integer("count") == 2)
    #expect(try await stage.stored().count == 5)
    await stage.run("lms", "drop", "5", "99").expect(66)
    #expect(try await stage.stored().count == 5, "one that is unknown drops none")
    await stage.run("lms", "drop", "5").expect(0)
    await stage.run("lms", "drop", "--aside").expect(0)
    #expect(try await stage.stored().map(\.id) == [3, 4])
    await stage.run("lms", "drop").expect(64)
    await stage.run("lms", "drop", "--aside", "4").expect(64)
    try await stage.flush().expect(0, sent: 1)
    // Numbers are never used again.
    try await stage.fill(6..<7)
    #expect(try await stage.stored().last?.id == 6)
  }

  // MARK: Hostile text

  @Test func `text from outside is never printed raw`() async throws {
    let evil = "\u{1b}[2J\u{7}\u{9b}31m\u{202e}\r\n\u{0}evil\u{7f}"
    let stage = try LMSStage()
    try await stage.library.add(
      [
        stage.report(1, 0) { report in
          (report.mediaContentKey, report.clientUserID, report.playStatus) = (evil, evil, evil)
          report.body = evil
        },
        stage.report(2, 0) { $0.url = "http://\(evil)/" },
        stage.report(3, 0) { $0.url = "" },
      ], at: 1)
    stage.answer(Answer(400).with("X-Evil", "\u{1b}[2J"))
    let words = [
      ["lms-flush"], ["lms", "list", "--all"], ["lms", "show", "1"], ["lms", "show", "2"],
      ["lms", "show", "3"],
      ["lms-flush", "--events", "jsonl"], ["lms", "export"], ["lms", "list", "--json", "--all"],
      ["lms", "requeue", "--all"], ["lms-flush", "--json", "--events", "jsonl"], ["lms-flush", "--quiet"],
      ["lms", "drop", "--aside"],
    ]
    for words in words {
      let run = await stage.stage.run(words)
      for text in [run.output, run.errors] {
        let raw = text.unicodeScalars.filter {
          $0 != "\n" && ($0.value < 0x20 || (0x7f...0x9f).contains($0.value) || $0 == "\u{202e}")
        }
        #expect(
          words.joined().contains("json") || words == ["lms", "export"] || raw.isEmpty,
          "\(words): \(text.debugDescription)")
        #expect(!text.utf8.contains(0x1b) && !text.utf8.contains(0), "\(words): \(text.debugDescription)")
      }
      if words.first == "lms-flush", words.count > 2 {
        _ = JSONLines(run.errors + (words.contains("--json") ? "" : run.output))
      }
    }
    #expect(try await stage.stored().isEmpty)
  }

  @Test func `a token in a receiver's address is not shown`() async throws {
    let stage = try LMSStage()
    try await stage.library.add(
      [stage.report(1, 0, url: "http://user:s3cret@127.0.0.1:\(stage.receiver.port)/lms?token=s3cret")], at: 1
    )
    stage.answer(Answer(400))
    for words in [["lms-flush"], ["lms", "list"], ["lms", "show", "1"]] {
      let run = await stage.stage.run(words)
      #expect(!(run.output + run.errors).contains("token=s3cret"), "\(words): \(run.output)\(run.errors)")
    }
  }
}
