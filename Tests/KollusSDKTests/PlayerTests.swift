import Foundation
import KollusSDK
import KollusTestSupport
import Testing

/// Plays with a real mpv, which runs unseen.
@Suite(
  .serialized, .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: SDKStage.hasMPV, "needs mpv"))
struct PlayerTests {
  let stage: SDKStage
  let player = KollusPlayerView()
  let listener = PlayerListener()

  init() async throws {
    stage = try await SDKStage()
    listener.follow(player)
  }

  private func prepare() throws {
    player.kollusContent = try stage.content()
    try player.prepareToPlay(withMode: .kollus)
  }

  @Test func `a content plays to its end, is charged and reported`() async throws {
    try await stage.download(under: .granted(plays: 5, seconds: 7_200))
    stage.answer(3, .init())
    player.currentPlaybackRate = 16
    try prepare()
    #expect(player.isPreparedToPlay && !player.isPlaying && player.seekable && !player.disablePlayRate)
    #expect(try stage.content().DRMExpireCount == 5, "nothing is charged before it plays")
    try player.play()
    await listener.waits { $0.steps == ["prepare", "play", "stop"] }
    let heard = listener.heard.withLock { $0 }
    #expect(heard.prepareCode == nil && heard.stopCode == nil && !heard.wasStoppedByUs)
    #expect(heard.kinds == [3])
    let content = try stage.content()
    #expect(content.DRMExpireCount == 4 && content.DRMExpirePlayTime <= 7_200 - 23)
    #expect(content.position == 0, "it begins anew")
    #expect(!player.isPreparedToPlay)
    #expect(stage.forms("/lms").map { $0["status"] } == ["play", "stop"])
    await listener.waits { $0.reports.count == 2 }
    await stage.listener.waits { $0.reports.count == 2 && $0.exchanges.last?.kind == 3 }
  }

  @Test func `a play is steered: pause, seek, speed, stop`() async throws {
    try await stage.download()
    try prepare()
    #expect(player.currentPlaybackTime == 0)
    try player.play()
    let player = player
    #expect(await eventually(within: .seconds(20)) { player.isPlaying && player.currentPlaybackTime > 0.5 })
    try player.pause()
    await listener.waits { $0.steps.last == "pause" }
    #expect(await eventually { !player.isPlaying })
    player.currentPlaybackTime = 12
    await listener.waits { $0.positions.last.map { abs($0 - 12) < 1 } ?? false }
    #expect(abs(player.currentPlaybackTime - 12) < 1)
    player.currentPlaybackRate = 4
    try player.play()
    await listener.waits { $0.steps.last == "play" && $0.rates.last == 4 }
    #expect(await eventually(within: .seconds(20)) { player.currentPlaybackTime > 14 })
    try player.stop()
    await listener.waits { $0.steps == ["prepare", "play", "pause", "play", "stop"] }
    #expect(listener.heard.withLock { $0.wasStoppedByUs && $0.stopCode == nil })
    let left = try stage.content().position
    #expect(left > 13 && left < 24)
    #expect(abs(player.currentPlaybackTime - left) < 1)
    try prepare()
    #expect(abs(player.currentPlaybackTime - left) < 0.1, "it goes on where it was left")
    try player.stop()
    #expect(!player.isPreparedToPlay)
  }

  @Test func `where to go may be said after it was prepared, and right after play`() async throws {
    try await stage.download()
    let player = player
    try prepare()
    player.currentPlaybackTime = 8
    try player.play()
    #expect(await eventually(within: .seconds(20)) { player.isPlaying && player.currentPlaybackTime > 8.2 })
    #expect(player.currentPlaybackTime < 12)
    player.currentPlaybackTime = .nan
    player.currentPlaybackRate = .infinity
    #expect(player.currentPlaybackTime > 8)
    // The end is waited for, so that the next play may be prepared at once.
    try player.stop()
    try prepare()
    try player.play()
    player.currentPlaybackTime = 16
    #expect(await eventually(within: .seconds(20)) { player.isPlaying && player.currentPlaybackTime > 16.2 })
    try player.stop()
    await listener.waits { $0.steps.count { $0 == "stop" } == 2 }
    // What happened is in the log of the home.
    let log = try String(contentsOfFile: stage.storage.storagePath + "/events.jsonl", encoding: .utf8)
    #expect(log.components(separatedBy: #""note":"played""#).count == 3)
    #expect(log.contains(#""event":"downloadContent""#))
  }

  @Test func `a stop ends a preparation too`() async throws {
    try await stage.download(under: .granted(plays: 5))
    let isAsked = Protected(false)
    stage.callback.override { _, _ in
      isAsked.withLock { $0 = true }
      usleep(300_000)
      return Answer(503)
    }
    player.kollusContent = try stage.content()
    let player = player
    async let outcome = Task.detached { code { try player.prepareToPlay() } }.value
    #expect(await eventually { isAsked.withLock { $0 } })
    try player.stop()
    #expect(await outcome == -8615)
    #expect(!player.isPreparedToPlay)
    stage.callback.override(nil)
    #expect(code { try stage.storage.removeContent(stage.mck) } == 0, "nothing holds it")
  }

  @Test func `a play may begin elsewhere, and without reports`() async throws {
    try await stage.download()
    player.lmsOffDownloadContent = true
    player.kollusContent = try stage.content()
    player.currentPlaybackTime = 20
    try player.prepareToPlay()
    #expect(player.currentPlaybackTime == 20)
    player.currentPlaybackRate = 8
    try player.play()
    await listener.waits { $0.steps.last == "stop" }
    #expect(stage.forms("/lms").isEmpty)
  }

  @Test func `a limit that is reached stops the player`() async throws {
    try await stage.download(under: .granted(seconds: 60))
    stage.callback.override { _, _ in Answer(503) }
    for _ in 0..<2 {
      try prepare()
      player.currentPlaybackRate = 16
      try player.play()
      await listener.waits { $0.steps.last == "stop" }
      #expect(listener.heard.withLock { $0.stopCode } == nil)
      listener.heard.withLock { $0.steps = [] }
    }
    try prepare()
    try player.play()
    await listener.waits { $0.steps.last == "stop" }
    #expect(listener.heard.withLock { $0.stopCode } == -8683)
    #expect(try stage.content().DRMExpired)
    #expect(code { try prepare() } == -8683)
  }

  @Test func `damage is told when it is met, and the content is had again`() async throws {
    try await stage.download()
    player.kollusContent = try stage.content()
    let file = try FileHandle(forUpdating: URL(filePath: try stage.mediaFile()))
    try file.seek(toOffset: try file.seekToEnd() / 2)
    try file.write(contentsOf: Data([1, 2, 3, 4]))
    try file.close()
    #expect(code { try player.prepareToPlay() } == -8646, "met by the player itself")
    await listener.waits { $0.prepareCode == -8646 }
    #expect(try !stage.content().downloaded)
    #expect(code { try prepare() } == -8646, "met before, by the list")
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { $0.ended.count == 2 && $0.ended[1].isDownloaded }
    try prepare()
  }
}

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct PlayerGateTests {
  let stage: SDKStage
  let player = KollusPlayerView()

  init() async throws { stage = try await SDKStage() }

  @Test func `what is not prepared is not played`() throws {
    #expect(code { try player.prepareToPlay() } == -8661, "no storage")
    player.storage = stage.storage
    #expect(code { try player.prepareToPlay() } == -8661, "not started")
    try stage.storage.start()
    #expect(code { try player.prepareToPlay() } == -8613, "no content")
    player.kollusContent = KollusContent(folder: "math")
    #expect(code { try player.prepareToPlay() } == -8613, "a folder")
    player.mediaContentKey = "none"
    #expect(code { try player.prepareToPlay() } == -8638)
    #expect(code { try player.prepareToPlay(withMode: .hls) } == -1010)
    #expect(code { try player.play() } == -8661 && code { try player.pause() } == -8661)
    try player.stop()
    #expect(player.playerType == .kollus && !player.isPlaying && !player.isBuffering && !player.isSeeking)
  }

  @Test func `a server that refuses, and one that expires, are obeyed`() async throws {
    try await stage.download(under: .granted(plays: 5))
    player.kollusContent = try stage.content()
    stage.answer(3, .init(["result": "0", "message": "\"Not before Monday.\""]))
    let error = #expect(throws: KollusError.self) { try player.prepareToPlay() }
    #expect(error?.code == -8657 && error?.message == "Not before Monday.")
    stage.answer(3, .init(["result": "1", "content_expired": "1"]))
    #expect(code { try player.prepareToPlay() } == -8658)
    #expect(try stage.content().DRMExpired)
  }

  @Test func `offline the stored licence decides`() async throws {
    try await stage.download(under: .granted(plays: 5))
    player.kollusContent = try stage.content()
    stage.callback.override { _, _ in Answer(503) }
    try player.prepareToPlay()
    #expect(code { try player.prepareToPlay() } == -8661, "it is prepared already")
    let error = #expect(throws: KollusError.self) { try stage.storage.removeContent(stage.mck) }
    #expect(error?.mediaContentKey == stage.mck && error?.message.contains("works on") == true)
    try player.stop()
    try stage.storage.removeContent(stage.mck)
  }
}
