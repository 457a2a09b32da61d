import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Plays with a real mpv: what is measured, kept and reported, and what a viewer may do.
@Suite(
  .serialized, .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: PlayStage.hasMPV, "needs mpv"))
struct PlayTests {
  let stage: PlayStage

  init() throws { stage = try PlayStage() }

  /// Fails the test unless the last report says what the play printed, in whole seconds.
  private func expectReported(
    _ outcome: PlayStage.Outcome, at location: SourceLocation = #_sourceLocation
  ) throws -> PlayStage.Told {
    let last = try #require(try stage.reports().last, sourceLocation: location)
    #expect(last.status == "stop", sourceLocation: location)
    let names = [
      ("playtime", "playtime"), ("realPlaytime", "real_playtime"), ("runtime", "runtime"),
      ("showtime", "showtime"), ("playtimePercent", "playtime_percent"), ("lastPlayAt", "last_play_at"),
    ]
    for (own, told) in names {
      #expect(
        try last.number(told) == Int(try outcome.number(own, at: location)), "\(told)",
        sourceLocation: location)
    }
    return last
  }

  // MARK: Metrics

  @Test(arguments: [(1.0, 21.0), (4, 12), (16, 0)])
  func `a lecture is played to its end at any speed`(_ speed: Double, _ start: Double) async throws {
    try await stage.download()
    let outcome = try await stage.play("--speed", "\(speed)", "--start", "\(Int(start))s").expect(0)
    #expect(abs(try outcome.number("playtime") - (24 - start)) < 0.1, "\(outcome)")
    #expect(abs(try outcome.number("realPlaytime") - (24 - start)) < 0.1)
    // A busy machine shows less than it should.
    let shown = try outcome.number("showtime")
    #expect(shown > (24 - start) / speed - 0.3, "\(shown)")
    #expect(try outcome.number("runtime") >= shown)
    #expect(try outcome.number("lastPlayAt") == 24)
    let told = try expectReported(outcome)
    #expect(try told.playedBlocks() == Array(Int(start)..<24))
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(try await stage.position() == 0, "the next play begins anew")
  }

  @Test func `seeks, pauses, repeats and speeds come out as they were`() async throws {
    try await stage.download()
    let process = try stage.start("--speed", "4")
    let remote = try await stage.remote()
    #expect(await remote.reach(4))
    let first = await remote.pause()
    remote.seek(to: 12)
    remote.set("speed", "2")
    let (paused, clock) = (ContinuousClock.now, ContinuousClock())
    // The pause itself is what is measured.
    try await clock.sleep(for: .seconds(1))
    let pause = paused.duration(to: .now) / .seconds(1)
    remote.set("pause", "false")
    #expect(await remote.reach(14))
    let second = await remote.pause()
    remote.seek(to: 13)
    remote.set("speed", "1")
    remote.set("pause", "false")
    #expect(await remote.reach(14.2))
    let third = await remote.pause()
    remote.quit()
    let outcome = PlayStage.Outcome(await process.wait()).expect(0)
    let media = first + (second - 12) + (third - 13)
    // A picture that a busy machine holds up at a break counts on for a moment, at this speed.
    let slack = -0.4..<1.6
    let off = try outcome.number("playtime") - media
    #expect(slack.contains(off), "\(outcome.run), wanted \(media)")
    let seen = first + max(second, third) - 12
    #expect(slack.contains(try outcome.number("realPlaytime") - seen), "\(outcome.run), wanted \(seen)")
    let clockTime = first / 4 + (second - 12) / 2 + (third - 13)
    let shown = try outcome.number("showtime")
    #expect(shown > clockTime - 0.2, "\(shown), wanted \(clockTime)")
    #expect(try outcome.number("runtime") > shown + pause - 0.1)
    #expect(abs(try outcome.number("lastPlayAt") - third) < 0.2)
    #expect(
      try outcome.number("playtimePercent") == (try outcome.number("playtime") * 100 / 24).rounded(.down))
    let told = try expectReported(outcome)
    let blocks = try told.playedBlocks()
    #expect(
      blocks.filter { $0 < 12 } == Array(0...(blocks.last { $0 < 12 } ?? 0)) && blocks.contains(12),
      "\(blocks)")
    #expect(!blocks.contains { $0 > 15 || (Int(first + 1.6) + 1..<12).contains($0) }, "\(blocks)")
    #expect(blocks.contains(Int(first - 0.4)), "\(blocks)")
    #expect(
      try stage.reports().map(\.status) == ["play", "pause", "play", "pause", "play", "pause", "stop"])
    let starts = Set(try stage.reports().map { try $0.number("start_at") })
    #expect(starts.count == 1, "one session")
    #expect(abs(try await stage.position() - third) < 0.2)
  }

  @Test func `a seek in mid-play counts what was on the screen`() async throws {
    try await stage.download()
    let process = try stage.start("--speed", "2")
    let remote = try await stage.remote()
    var media = 0.0
    for (index, aim) in [(0, 10.0), (1, 3.0), (2, 20.0)] {
      let from = index == 0 ? 0 : [10.0, 3.0][index - 1]
      #expect(await remote.reach(from + 1.5))
      let left = try #require(remote.position)
      remote.seek(to: aim)
      media += left - from
      #expect(await remote.waits { ((aim - 0.5)..<(aim + 3.5)).contains($0 ?? -9) })
    }
    #expect(await remote.reach(21))
    media += try #require(remote.position) - 20
    remote.quit()
    let outcome = PlayStage.Outcome(await process.wait()).expect(0)
    // The command is answered a frame or two after the position.
    #expect(abs(try outcome.number("playtime") - media) < 0.8, "\(outcome.run), wanted \(media)")
    _ = try expectReported(outcome)
  }

  // MARK: Where it begins

  @Test func `a play goes on where the last one was left, unless told otherwise`() async throws {
    try await stage.download()
    let process = try stage.start("--speed", "8")
    let remote = try await stage.remote()
    #expect(await remote.reach(9))
    remote.quit()
    let first = PlayStage.Outcome(await process.wait()).expect(0)
    let left = try first.number("lastPlayAt")
    #expect(abs(try await stage.position() - left) < 1.6, "two frames at this speed and what a break costs")
    let second = try await stage.play("--speed", "16").expect(0)
    #expect(abs(try second.number("playtime") - (24 - left)) < 1.6)
    let third = try await stage.play("--speed", "16", "--start", "20s").expect(0)
    #expect(abs(try third.number("playtime") - 4) < 0.1)
    let sessions = Set(try stage.reports().map { try $0.number("start_at") })
    #expect(sessions.count == 3, "every play is a session of its own")
  }

  @Test func `a content whose length nobody told goes on where it was left`() async throws {
    try await stage.download(duration: 0)
    let process = try stage.start("--start", "12s", "--speed", "8")
    let remote = try await stage.remote()
    #expect(await remote.reach(14))
    remote.quit()
    let left = try PlayStage.Outcome(await process.wait()).expect(0).number("lastPlayAt")
    let second = try await stage.play("--speed", "16").expect(0)
    #expect(abs(try second.number("playtime") - (24 - left)) < 1.6, "\(left)")
  }

  // MARK: What is allowed

  @Test func `the manifest's policy holds`() async throws {
    try await stage.download(policy: "{\"seek\":false,\"disablePlayrate\":true,\"playSection\":[4,7]}")
    let process = try stage.start("--speed", "8", "--start", "20s")
    let remote = try await stage.remote()
    #expect(await remote.reach(4.5))
    #expect(try remote.command("\"get_property\"", "\"speed\"")?.number("data") == 1)
    remote.set("speed", "8")
    remote.seek(to: 6.5)
    let outcome = PlayStage.Outcome(await process.wait()).expect(0)
    #expect(abs(try outcome.number("playtime") - 3) < 0.9, "\(outcome.run)")
    #expect(try outcome.number("showtime") > 2.5, "it took its time")
    #expect(try outcome.number("realPlaytime") <= 3.001)
    #expect(try outcome.number("lastPlayAt") == 7)
  }

  @Test func `reports name the user of this play, or nothing is reported`() async throws {
    try await stage.download()
    let words = ["--speed", "16", "--start", "20s"]
    _ = PlayStage.Outcome(try await stage.tool.run(["play", stage.mck, "--no-lms"] + words)).expect(0)
    #expect(try stage.reports().isEmpty)
    _ = PlayStage.Outcome(try await stage.tool.run(["play", stage.mck, "--cuid", "learner-3"] + words))
      .expect(0)
    let users = try stage.reports().map {
      try $0.json.object("user_info")?.string("client_user_id")
    }
    #expect(users == ["learner-3", "learner-3"])
    let reports = try await stage.tool.run("lms", "list", "--all", "--json")
    #expect(
      try JSON(parsing: reports.standardOutput).elements.allSatisfy { try $0.string("state") == "sent" })
  }

  // MARK: How it ends

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)])
  func `an interrupted play is charged and reported`(_ signal: Int32, _ status: Int) async throws {
    try await stage.download(under: .granted(plays: 3, seconds: 600))
    let process = try stage.start("--speed", "8")
    let remote = try await stage.remote()
    #expect(await remote.reach(8))
    process.kill(signal)
    let run = await process.wait()
    run.expect(status)
    #expect(await eventually { stage.players.isEmpty })
    let shown = try await stage.shown()
    let used = 600 - (try shown.integer("DRMExpirePlayTime") ?? 0)
    #expect(used >= 8 && used < 14)
    #expect(try shown.integer("drmExpireCount") == 2)
    #expect(try shown.number("position") ?? 0 >= 8)
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(try #require(try stage.reports().last?.number("playtime")) >= 8)
  }

  @Test func `one play at a time, and no removal meanwhile`() async throws {
    try await stage.download()
    let process = try stage.start("--speed", "0.5")
    _ = try await stage.remote()
    try await stage.play().expect(75, 0)
    (try await stage.tool.run("remove", stage.mck)).expect(75)
    process.kill(SIGINT)
    (await process.wait()).expect(130)
    (try await stage.tool.run("remove", stage.mck)).expect(0)
  }

  @Test func `a damaged segment ends the play when it is reached, and is named`() async throws {
    try await stage.download()
    try damage(at: 0.6)
    let outcome = try await stage.play("--speed", "8").expect(65, -8646)
    #expect(outcome.run.standardError.contains("segment"))
    let watched = try outcome.number("playtime")
    #expect(watched > 0.5 && watched < 15, "what lies before it is played: \(watched)")
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    #expect(try await stage.shown().string("state") != "ready")
    try await stage.play().expect(65, -8629)
  }

  @Test func `damage that is far ahead ends neither a pause nor a seek`() async throws {
    try await stage.download()
    try damage(at: 0.8)
    let process = try stage.start("--speed", "1")
    let remote = try await stage.remote()
    #expect(await remote.reach(1))
    _ = await remote.pause()
    // Longer than any look at the meter is apart.
    try await Task.sleep(for: .milliseconds(800))
    for aim in [2.0, 4, 3, 5] { remote.seek(to: aim) }
    remote.set("pause", "false")
    for aim in [2.0, 4, 3, 5] { remote.seek(to: aim) }
    #expect(await remote.reach(5.5), "it goes on")
    #expect(process.isRunning)
    remote.quit()
    // It is told all the same.
    PlayStage.Outcome(await process.wait()).expect(65, -8646)
  }

  /// Turns a byte of the sealed file, `share` of its length from the beginning, under its old time stamp.
  private func damage(at share: Double) throws {
    let folder = "\(stage.tool.home)/media"
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".sealed") })
    let url = URL(filePath: "\(folder)/\(name)")
    var bytes = try Data(contentsOf: url)
    bytes[Int(Double(bytes.count) * share)] ^= 1
    let file = try FileHandle(forUpdating: url)
    var before = stat()
    #expect(stat(url.path, &before) == 0)
    try file.write(contentsOf: bytes)
    try file.close()
    #expect(utimensat(AT_FDCWD, url.path, [before.st_atim, before.st_mtim], 0) == 0)
  }

  @Test func `a file that cannot be played charges nothing and says why`() async throws {
    try await stage.download(randomBytes(200_000), under: .granted(plays: 1, seconds: 60))
    let outcome = try await stage.play()
    #expect(outcome.run.status == 74, "\(outcome.run)")
    #expect(outcome.run.standardError.contains("unrecognized file format"))
    let shown = try await stage.shown()
    #expect(try shown.integer("drmExpireCount") == 1 && shown.integer("DRMExpirePlayTime") == 60)
    #expect(try stage.reports().isEmpty)
  }
}

/// Other players than mpv, and none at all.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct OtherPlayerTests {
  let stage: PlayStage

  init() throws { stage = try PlayStage() }

  @Test func `a missing mpv is named with its package`() async throws {
    var stage = stage
    try await stage.download(under: .granted(plays: 1))
    stage.tool.environment["PATH"] = "\(stage.folder)/nowhere"
    let outcome = try await stage.play()
    #expect(outcome.run.status == 78)
    #expect(outcome.run.standardError.contains("apt-get install mpv"))
    #expect(try await stage.shown().integer("drmExpireCount") == 1)
    #expect(try stage.reports().isEmpty)
  }

  @Test func `another player is metered by the clock`() async throws {
    try await stage.download(under: .granted(plays: 2, seconds: 60))
    let script = try stage.script("other", "echo \"$2\" > \"$1\"; sleep 2.2")
    let outcome = try await stage.play("--player", "'\(script)' '\(stage.folder)/told' {url}").expect(0)
    #expect(abs(try outcome.number("playtime") - 1.7) < 0.7, "\(outcome.run)")
    let shown = try await stage.shown()
    #expect(try shown.integer("drmExpireCount") == 1)
    #expect((57...59).contains(try shown.integer("DRMExpirePlayTime") ?? 0))
    #expect(try shown.number("position") == 0, "nobody knows where it was left")
    #expect(try stage.reports().map(\.status) == ["play", "stop"])
    let url = try String(contentsOfFile: "\(stage.folder)/told", encoding: .utf8)
    #expect(url.hasPrefix("http://127.0.0.1:"))
    #expect(!outcome.run.standardOutput.contains(url) && !outcome.run.standardError.contains(url))
  }

  @Test func `another player is stopped at the limit, with what it started`() async throws {
    try await stage.download(under: .granted(seconds: 60))
    try await stage.charge(58)
    let script = try stage.script("other", "sleep 31; true")
    let outcome = try await stage.play("--player", "'\(script)'").expect(77, -8683)
    #expect(abs(try outcome.number("playtime") - 2) < 0.3)
    #expect(try await stage.shown().integer("DRMExpirePlayTime") == 0)
    let isLeft = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
      .contains { stage.commandLine($0).contains(script) }
    #expect(!isLeft)
  }

  @Test(arguments: [
    ("no-such-player {url}", 78, "no-such-player"), ("sh -c 'exit 3'", 74, "exit status 3"), ("true", 0, ""),
    ("'unfinished", 64, "--player"),
  ])
  func `a player that plays nothing charges nothing`(
    _ command: String, _ status: Int, _ words: String
  ) async throws {
    try await stage.download(under: .granted(plays: 1))
    let outcome = try await stage.play("--player", command)
    #expect(outcome.run.status == status)
    #expect(words.isEmpty || outcome.run.standardError.contains(words), "\(outcome.run.standardError)")
    #expect(try await stage.shown().integer("drmExpireCount") == 1)
    #expect(try stage.reports().isEmpty)
  }
}
