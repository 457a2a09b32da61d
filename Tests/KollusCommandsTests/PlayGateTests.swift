import Foundation
import JSONKit
import KollusCommands
import KollusTestSupport
import SystemKit
import Testing

/// The question and the verdict before a play; the player itself plays nothing here.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayGateTests {
  typealias Entry = DRMCallback.Entry

  let stage: LicenceStage
  let mck = LicenceStage.mck

  init() throws { stage = try LicenceStage(["timeout": "\"20s\""]) }

  /// Plays with a player that ends at once; `code` is the failure's.
  @discardableResult
  private func play(
    _ stage: LicenceStage? = nil, _ words: String..., expecting status: Int32, _ code: Int64? = nil,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> CommandStage.Run {
    let stage = stage ?? self.stage
    let run = await stage.commands.run(["play", mck, "--player", "true", "--json"] + words)
    run.expect(status, at: location)
    let found = try run.failures.last?.object("error")?.integer("code")
    #expect(found == code, "\(run.errors)", sourceLocation: location)
    return run
  }

  private var questions: [DRMCallback.Item] { stage.callback.items(of: mck, kind: 3) }

  @Test func `the server is asked before each play`() async throws {
    let date = LicenceStage.now + 1_000
    await stage.download(.granted(until: date, plays: 3))
    try await play(expecting: 0)
    try await play(expecting: 0)
    #expect(questions.count == 2)
    for item in questions {
      #expect(item.number("reset_req") == 0 && item.number("content_expired") == 0)
      #expect(item.number("check_expired") == 0 && item.number("expiration_date") == date)
      #expect(item.text("start_at") == "\(item.number("localtime") ?? 0)")
    }
    #expect(Set(questions.compactMap { $0.text("session_key") }).count == 2)
    #expect(try await stage.shown().integer("drmExpireCount") == 3, "nothing was played")
  }

  @Test func `an expired content says so, and the answer can heal it`() async throws {
    await stage.download(.granted(until: LicenceStage.now + 100))
    let late = stage.at(LicenceStage.now + 200)
    stage.answer(3, .granted(until: LicenceStage.now + 5_000, plays: 4))
    try await play(late, expecting: 0)
    #expect(questions.map { $0.number("content_expired") } == [1])
    #expect(try await late.shown().integer("drmExpireCountMax") == 4)
  }

  @Test func `an expiry that a play found stays`() async throws {
    await stage.download(.granted(until: LicenceStage.now + 100))
    let late = stage.at(LicenceStage.now + 200)
    try await play(late, "--offline", expecting: 77, -8643)
    #expect(questions.isEmpty)
    stage.answer(3, Entry(["result": "1", "expiration_date": "\(LicenceStage.now + 9_000)"]))
    try await play(late, expecting: 77, -8643)
    stage.answer(3, .granted(until: LicenceStage.now + 9_000))
    try await play(late, expecting: 0)
  }

  @Test(
    arguments: [
      (["result": "0", "message": "\"Not today.\""], -8657, "Not today."),
      (["result": "1", "content_expired": "1", "content_expire_reset": "1"], -8658, ""),
      (["result": "1", "content_delete": "1", "message": "\"Gone.\""], -8680, "Gone."),
      (["result": "1", "content_expire_reset": "1", "session_key": "\"other\""], -8681, ""),
    ] as [([String: String], Int, String)])
  func `a refusal is obeyed`(_ members: [String: String], _ code: Int, _ words: String) async throws {
    await stage.download(.granted(plays: 3))
    stage.answer(3, Entry(members))
    let run = await stage.run("play", mck, "--player", "true", "--json")
    #expect(run.status != 0)
    if code != -8681 { run.expect(77) }
    #expect(try run.failures.last?.object("error")?.integer("code") == Int64(code), "\(run.errors)")
    #expect(words.isEmpty || run.errors.contains(words))
    #expect(try stage.commands.sealedFiles().isEmpty == (code == -8680))
    // What was forced holds without a network as well.
    stage.callback.server.stop()
    switch code {
    case -8658: try await play(expecting: 77, -8658)
    case -8680: #expect(await stage.run("play", mck, "--player", "true").status != 0)
    default: try await play(expecting: 0)
    }
  }

  @Test func `a silent server leaves the word to the stored licence`() async throws {
    await stage.download(.granted(plays: 3))
    stage.callback.server.stop()
    try await play(expecting: 0)
  }

  @Test func `a server that fails leaves the word to the stored licence`() async throws {
    await stage.download(.granted(plays: 3))
    stage.callback.override { _, _ in Answer(500, text: "no") }
    try await play(expecting: 0)
    stage.answer(3, .missing)
    stage.callback.override(nil)
    try await play(expecting: 0)
  }

  @Test func `a licence that wants to be asked refuses without an answer`() async throws {
    var entry = Entry.granted(plays: 3)
    entry.members["check_abuse"] = "1"
    await stage.download(entry)
    try await play(expecting: 0)
    try await play("--offline", expecting: 77, -8657)
    stage.answer(3, .missing)
    try await play(expecting: 77, -8657)
    stage.callback.server.stop()
    try await play(expecting: 77, -8657)
  }

  private func play(_ word: String, expecting status: Int32, _ code: Int64) async throws {
    try await play(nil, word, expecting: status, code)
  }

  @Test(arguments: ["-5", "\"5\"", "1001", "1.0"])
  func `limits that are wrong block the play`(_ plays: String) async throws {
    await stage.download(.granted(plays: 3))
    stage.answer(3, Entry(["result": "1", "expiration_count": plays]))
    let run = await stage.run("play", mck, "--player", "true", "--json")
    #expect(run.status != 0)
    #expect(try run.failures.last?.object("error")?.integer("code") == -8636, "\(run.errors)")
    #expect(try await stage.shown().integer("drmExpireCount") == 3, "nothing has changed")
  }

  @Test func `nobody is asked offline, or about a content that needs no licence`() async throws {
    await stage.download(.granted(plays: 3))
    try await play(nil, "--offline", expecting: 0)
    #expect(questions.isEmpty)
    let free = "Free1234"
    try stage.site.publish(OriginContent(free, bytes: stage.bytes))
    await stage.run("download", free).expect(0)
    await stage.run("play", free, "--player", "true").expect(0)
    #expect(stage.callback.items(of: free).isEmpty)
  }

  @Test func `what is not ready or not known is not played`() async throws {
    let run = await stage.run("play", "Unknown1", "--player", "true", "--json").expect(66)
    #expect(try run.failures.last?.object("error")?.integer("code") == -8638)
    stage.answer(1, Entry(["result": "0"]))
    await stage.run("download", mck).expect(69)
    #expect(await [65, 66].contains(stage.run("play", mck, "--player", "true").status))
  }

  @Test func `a file put back with another time stamp is read and played`() async throws {
    await stage.download(.granted(plays: 3))
    let path = try stage.mediaFile()
    #expect(
      utimensat(AT_FDCWD, path, [timespec(tv_sec: 5, tv_nsec: 0), timespec(tv_sec: 5, tv_nsec: 0)], 0) == 0)
    try await play(expecting: 0)
    try await play(expecting: 0)
  }

  @Test func `a damaged file is refused before anything is started`() async throws {
    await stage.download(.granted(plays: 3))
    let path = try stage.mediaFile()
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 40_000)
    try file.write(contentsOf: Data(repeating: 7, count: 100))
    try file.close()
    try await play(expecting: 65, -8646)
  }

  // MARK: Clocks in mid-play

  /// A play of four seconds at most, on a clock that shows `time` after so many seconds.
  private func play(_ words: String..., clock time: @escaping @Sendable (Double) -> Double) async -> (
    status: Int32, errors: String, lasted: Double
  ) {
    let errors = KollusTestSupport.Protected("")
    let start = Date()
    var environment = stage.tool.environment
    environment["KOLLUS_CONFIG"] = stage.tool.configuration
    let context = Context(
      environment: environment, standardOutput: { _ in true },
      standardError: { text in
        errors.withLock { $0 += text }
        return true
      },
      standardInputLines: { [] }, ask: { _ in nil }, terminalColumns: { nil }, outputColumns: { nil },
      now: { start.timeIntervalSince1970 + time(Date().timeIntervalSince(start)) },
      machineID: { ProcessContext.machineID() }, watchSignals: { _ in nil })
    let status = await Kollus.run(
      ["play", mck, "--offline", "--json", "--player", "sh -c 'sleep 4'"] + words, in: context)
    return (status, errors.withLock { $0 }, Date().timeIntervalSince(start))
  }

  @Test func `time that passes in a play is not forgotten`() async throws {
    await stage.download(.granted(until: LicenceStage.now + 100_000))
    // Five minutes a second.
    let run = await play { $0 * 300 }
    #expect(run.status == 0, "\(run.errors)")
    try await play(nil, "--offline", expecting: 77, -8664)
  }

  @Test func `a clock set back in mid-play makes no licence last longer`() async throws {
    await stage.download(.granted(until: LicenceStage.now + 3))
    let run = await play { $0 < 1 ? $0 : $0 - 200 }
    #expect(run.status == 77 && run.errors.contains("-8643"), "\(run.errors)")
    #expect(run.lasted < 3.9)
    // The clock is still back, less than what is tolerated.
    try await play(stage.later(-200), "--offline", expecting: 77, -8643)
  }
}
