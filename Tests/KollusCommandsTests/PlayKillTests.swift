import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Plays that end before their time: dates that come, and kills.
@Suite(
  .serialized, .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: PlayStage.hasMPV, "needs mpv"))
struct PlayKillTests {
  typealias Entry = PlayStage.Entry

  let stage: PlayStage

  init() throws { stage = try PlayStage() }

  @Test(arguments: [("expiration_date", -8643), ("check_expiration_date", -8687)])
  func `a date that comes in mid-play ends it for good`(_ name: String, _ code: Int) async throws {
    try await stage.download(under: .granted())
    let date = Int(Date().timeIntervalSince1970) + 6
    stage.answer(3, Entry(["result": "1", name: "\(date)"]))
    let outcome = try await stage.play().expect(77, code)
    let late = Date().timeIntervalSince1970 - Double(date)
    #expect(late > -0.1 && late < 5, "\(late)")
    #expect(try outcome.number("playtime") > 0.1)
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(try await stage.keptExpiry() == code, "it is kept at once")
    // A later date alone brings nothing back.
    stage.answer(3, Entry(["result": "1", name: "\(date + 5_000)"]))
    try await stage.play("--speed", "16").expect(77, code)
    stage.answer(3, .granted(until: date + 5_000))
    try await stage.play("--speed", "16").expect(0)
  }

  @Test(arguments: [0, 1])
  func `kill -9 of the program ends mpv and costs one saving interval`(_ type: Int) async throws {
    var entry = Entry.granted(plays: 2, seconds: 60)
    entry.members["expiration_playtime_type"] = "\(type)"
    try await stage.download(under: entry)
    let process = try stage.start("--speed", "2")
    let remote = try await stage.remote()
    #expect(await remote.reach(11))
    let position = try #require(remote.position)
    process.kill(SIGKILL)
    #expect(await process.wait().ending == .signal(9))
    #expect(await eventually(within: .seconds(3)) { stage.players.isEmpty }, "mpv goes as well")
    let shown = try await stage.shown()
    #expect(try shown.integer("drmExpireCount") == 1)
    let used = 60 - Double(try shown.integer("DRMExpirePlayTime") ?? 0)
    let watched = type == 0 ? position : position / 2
    #expect(used > watched - 3.5 * (type == 0 ? 2 : 1) - 1 && used <= watched + 0.5, "\(used) of \(watched)")
    #expect(try shown.number("position") ?? 0 > position - 7.5)
    #expect(try stage.reports().map(\.status) == ["play"])
    // Whoever sends next makes the last report.
    (try await stage.tool.run("lms-flush")).expect(0)
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(Double(try #require(try stage.reports().last?.number("playtime"))) > position - 7.5)
    try await stage.play("--speed", "16", "--start", "20s").expect(0)
    try await stage.play().expect(77, -8644)
  }

  @Test func `kill -9 of mpv costs nothing`() async throws {
    try await stage.download(under: .granted(plays: 2, seconds: 600))
    let process = try stage.start("--speed", "2")
    let remote = try await stage.remote()
    #expect(await remote.reach(5))
    let position = try #require(remote.position)
    for pid in stage.players { kill(pid, SIGKILL) }
    let run = await process.wait()
    let shown = try await stage.shown()
    let used = 600 - Double(try shown.integer("DRMExpirePlayTime") ?? 0)
    #expect(used >= position - 0.5 && used < position + 2, "\(used) of \(position)")
    #expect(try shown.integer("drmExpireCount") == 1)
    #expect(abs(try await stage.position() - position) < 1)
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(run.status != nil)
  }
}
