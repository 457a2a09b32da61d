import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// How `play-check --renew` asks, and what it tells programs.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RenewalQuestionTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }

  /// An expired content whose licence wants a question before it is renewed.
  private func expire(by tool: Tool? = nil) async throws {
    bench.callback.answer { item in
      item.kind == 1
        ? .init(["result": "1", "expiration_refresh_popup": "1"])
        : .init(["result": "1", "content_expired": item.kind == 3 ? "1" : nil])
    }
    if let tool {
      (try await tool.run("download", mck)).expect(0)
      (try await tool.run("renew", mck)).expect(77)
    } else {
      await bench.run("download", mck).expect(0)
      await bench.run("renew", mck).expect(77)
    }
    bench.answer(3, .granted(plays: 9))
  }

  private var renewals: Int { bench.callback.items(of: mck, kind: 3).count - 1 }

  static let agreeing = ["", " ", "y", "Y", " y ", "yes", "YES", "예", "네", "はい", "はい\r"]
  static let refusing = [
    "n", "no", "N", "nope", "아니요", "아니오", "いいえ", "x", "q", "yy", "yes!", "yep", "ok", "1", "true", "j", "да",
    "\u{1b}[A", "\u{0}", "ｙ", "はいはい", "n\ny", "예아니요",
  ]

  @Test(arguments: agreeing.map { ($0, true) } + refusing.map { ($0, false) })
  func `only a clear yes is one`(_ answer: String, _ isYes: Bool) async throws {
    try await expire()
    let commands = bench.commands.with { $0.answer = answer }
    await commands.run("play-check", mck, "--renew").expect(isYes ? 0 : 77)
    #expect(commands.questions.withLock { $0.count } == 1)
    #expect(renewals == (isYes ? 1 : 0))
  }

  @Test(arguments: ["y", "n"]) func `a key named twice is one question and one request`(_ answer: String)
    async throws
  {
    try await expire()
    let commands = bench.commands.with { $0.answer = answer }
    let run = await commands.run("play-check", mck, mck, "--renew").expect(answer == "y" ? 0 : 77)
    #expect(commands.questions.withLock { $0.count } == 1)
    #expect(renewals == (answer == "y" ? 1 : 0))
    #expect(run.output.components(separatedBy: "\(mck): may").count == 3, "each is answered for")
  }

  @Test func `a key named twice is asked for once, and both hear of it`() async throws {
    try await expire()
    let run = await bench.run("play-check", mck, mck, "--renew", "--json").expect(0)
    #expect(try run.json.elements.map { try $0.bool("renewed") } == [true, true])
    #expect(renewals == 1)
  }

  @Test func `where nobody is there a warning says that it goes on`() async throws {
    try await expire()
    let run = await bench.run("play-check", mck, "--renew", "--events", "jsonl").expect(0)
    let notes = try JSONLines(run.output).objects.filter { try $0.string("note") == "warning" }
    let note = try #require(notes.first)
    #expect(notes.count == 1)
    expectShape(note, Contract.note)
    #expect(try note.string("mediaContentKey") == mck)
    #expect(try note.string("message")?.contains("going on") == true)
    #expect(renewals == 1)
  }

  @Test func `people without a terminal are told that it goes on`() async throws {
    try await expire()
    let run = await bench.run("play-check", mck, "--renew").expect(0)
    #expect((run.output + run.errors).contains("nobody is there to answer, going on"))
    #expect(renewals == 1)
  }

  // MARK: A terminal of its own

  /// What is typed at the terminal of the built tool, and whether that is a yes.
  @Test(
    .enabled(if: ScriptProgram.isInstalled, "script(1) is not installed"),
    arguments: [("", false), ("\n", true), ("y\n", true), ("\u{4}", false), ("n\n", false), ("はい\n", true)])
  func `whoever ends the input at a terminal agrees to nothing`(_ typed: String, _ isYes: Bool) async throws {
    try await expire(by: bench.tool)
    let program = try Tool.built("kollus")
    let command = "exec '\(program)' --config '\(bench.tool.configuration)' play-check \(mck) --renew"
    var environment = bench.tool.environment
    (environment["TERM"], environment["SHELL"]) = ("xterm", "/bin/sh")
    let process = try ChildProcess(
      ScriptProgram.path, ["-q", "-e", "-c", command, "/dev/null"], environment: environment,
      input: Array(typed.utf8))
    let outcome = await process.wait()
    outcome.expect(isYes ? 0 : 77)
    #expect(outcome.standardOutput.contains("Renew the licence? [Y/n]"))
    #expect(renewals == (isYes ? 1 : 0))
  }

  // MARK: Words and verdicts

  @Test(arguments: ["2020-01-01", "2026-01-01T00:00", "2026-01-01T00:00:00Z"])
  func `a trip that is over is a wrong use`(_ until: String) async throws {
    await bench.run("download", mck).expect(0)
    let run = await bench.run("play-check", mck, "--until", until).expect(64)
    #expect(run.errors.contains("--until lies in the past"))
    let json = await bench.run("play-check", mck, "--until", until, "--json").expect(64)
    #expect(json.output.isEmpty && json.failures.count == 1)
  }

  @Test func `today is not over yet`() async throws {
    await bench.run("download", mck).expect(0)
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.dateFormat = "yyyy-MM-dd"
    await bench.run("play-check", mck, "--until", format.string(from: Date())).expect(0)
  }

  /// One content for each way a check can end, and how it is told.
  @Test func `programs are told the verdict on each content`() async throws {
    try bench.publish("good", "bad", "absent")
    bench.callback.answer { item in
      switch (item.mck, item.kind) {
      case ("good", 1): .granted(plays: 2)
      case ("bad", 3): .init(["result": "1", "content_expired": "1"])
      case ("absent", 1): .init(["result": "0"])
      default: .init()
      }
    }
    for key in ["good", "bad", "absent"] { await bench.run("download", key) }
    await bench.run("renew", "bad").expect(77)
    let keys = ["good", "bad", "absent"]
    let run = await bench.commands.run(["play-check", "--events", "jsonl"] + keys).expect(65)
    let notes = try JSONLines(run.output).objects.filter { try $0.string("note") == "verdict" }
    for note in notes { expectShape(note, Contract.note) }
    #expect(try notes.map { try $0.string("mediaContentKey") } == keys)
    let messages = try notes.map { try $0.string("message") ?? "" }
    #expect(messages.first?.hasPrefix("may be played") == true)
    #expect(messages.dropFirst().first?.contains("(-8658)") == true)
    #expect(messages.last?.contains("(-8629)") == true)
    let trip = await bench.run("play-check", "good", "--plays", "9", "--events", "jsonl").expect(77)
    #expect(trip.output.contains("may be played now, but will not last"))
    // The document says it all already.
    let both = await bench.run("play-check", "good", "--events", "jsonl", "--json").expect(0)
    #expect(!both.errors.contains("verdict"))
    #expect(Array(try both.json.elements).count == 1)
    let plain = await bench.run("play-check", "good").expect(0)
    #expect(plain.output.split(separator: "\n").count == 1)
  }
}
