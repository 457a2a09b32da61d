import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Plays and play time that are used up.
@Suite(
  .serialized, .temporaryDirectory, .timeLimit(.minutes(1)),
  .enabled(if: PlayStage.hasMPV && PlayStage.has("ffmpeg"), "needs mpv and ffmpeg"))
struct PlayLimitTests {
  typealias Entry = PlayStage.Entry

  /// Clock seconds that a busy machine needs to end a player.
  private static let slack = 0.9

  let stage: PlayStage

  init() throws { stage = try PlayStage() }

  private static func budget(_ type: Int) -> Entry {
    var entry = Entry.granted(seconds: 60)
    entry.members["expiration_playtime_type"] = "\(type)"
    return entry
  }

  @Test func `the last play is the last one`() async throws {
    try await stage.download(under: .granted(plays: 1))
    try await stage.play("--speed", "16").expect(0)
    #expect(try await stage.shown().integer("drmExpireCount") == 0)
    try await stage.play().expect(77, -8644)
    #expect(stage.callback.items(of: stage.mck, kind: 3).count == 2)
    #expect(try stage.reports().count == 2, "a play that was refused reports nothing")
  }

  @Test(arguments: [8.0, 16])
  func `a budget of 60 media seconds shows 60 seconds of film`(_ speed: Double) async throws {
    try await stage.download(try await stage.clip(70), duration: 70, under: Self.budget(0))
    let outcome = try await stage.play("--speed", "\(speed)").expect(77, -8683)
    let media = try outcome.number("playtime")
    // The player takes a moment to end.
    #expect(media > 59.9 && media < 60 + speed * Self.slack, "\(media)")
    #expect(try outcome.number("showtime") < media)
    let shown = try await stage.shown()
    #expect(try shown.integer("DRMExpirePlayTime") == 0)
    #expect(try stage.reports().last?.number("playtime") == Int(media))
    try await stage.play().expect(77, -8683)
  }

  @Test(arguments: [(0, 1.0, 2), (0, 2, 4), (1, 1, 2), (1, 2, 2), (1, 8, 2)])
  func `what is left is played and no more`(_ type: Int, _ speed: Double, _ left: Int64) async throws {
    try await stage.download(under: Self.budget(type))
    try await stage.charge(60 - left)
    #expect(try await stage.shown().integer("DRMExpirePlayTime") == left)
    let outcome = try await stage.play("--speed", "\(speed)").expect(77, -8683)
    let counted = try outcome.number(type == 0 ? "playtime" : "showtime")
    #expect(
      counted > Double(left) - 0.1 && counted < Double(left) + Self.slack * (type == 0 ? speed : 1),
      "\(outcome.run)")
    if type == 1 {
      let media = try outcome.number("playtime")
      // A busy machine shows less than it should, never more.
      #expect(media > 0 && media < (Double(left) + Self.slack) * speed, "\(media)")
    }
    #expect(try await stage.shown().integer("DRMExpirePlayTime") == 0)
    #expect(outcome.run.standardError.contains("play time"))
  }

  @Test func `pauses cost no play time`() async throws {
    try await stage.download(under: Self.budget(1))
    try await stage.charge(58)
    let process = try stage.start()
    let remote = try await stage.remote()
    #expect(await remote.reach(1))
    _ = await remote.pause()
    try await Task.sleep(for: .seconds(2))
    #expect(process.isRunning)
    remote.set("pause", "false")
    let outcome = PlayStage.Outcome(await process.wait()).expect(77, -8683)
    #expect(abs(try outcome.number("showtime") - 2) < Self.slack, "\(outcome.run)")
  }
}
