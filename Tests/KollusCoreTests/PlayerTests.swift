import Foundation
import Glibc
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

/// Real players, headless.
@Suite(.timeLimit(.minutes(1)), .temporaryDirectory) struct PlayerTests {
  static let path = "/usr/bin:/bin:/usr/local/bin"
  static let environment = ["PATH": path, "HOME": "/nonexistent"]
  static let hasMPV = ["mpv", "ffmpeg"].allSatisfy { name in
    path.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
  }

  /// A player with what it tells.
  struct Run {
    let player: any Player
    let viewing: Viewing
    let events: KollusTestSupport.Protected<[PlayerEvent]>

    init(_ playback: Playback, by choice: PlayerChoice = .mpv, environment: [String: String] = environment)
      throws
    {
      let viewing = Viewing(playback.policy)
      let events = KollusTestSupport.Protected<[PlayerEvent]>([])
      player = try choice.start(playback, environment: environment) { event in
        viewing.take(event)
        events.withLock { $0.append(event) }
      }
      (self.viewing, self.events) = (viewing, events)
    }

    var position: Double { viewing.withMeter { meter, _ in meter.position } }

    func reach(_ position: Double) async -> Bool {
      await eventually(within: .seconds(20)) { viewing.withMeter { meter, _ in meter.position >= position } }
    }

    func has(_ event: PlayerEvent) async -> Bool {
      await eventually(within: .seconds(20)) { events.withLock { $0.contains(event) } }
    }

    /// Waits for the last event and empties the meter.
    func end() async -> (stretches: [ViewingMeter.Stretch], ending: PlayerEvent?) {
      var last: PlayerEvent?
      for await event in viewing.news { last = event }
      return (viewing.withMeter { $0.drain(at: $1) }, last)
    }
  }

  /// Makes a clip: `seconds` of 25 pictures a second and a tone.
  static func clip(_ seconds: Int, _ arguments: [String] = []) async throws -> String {
    let path = TemporaryDirectory.path + "/clip.mp4"
    let program = try Program(
      [
        "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
        "testsrc2=size=64x36:rate=25:duration=\(seconds)",
      ]
        + [
          "-f", "lavfi", "-i", "sine=duration=\(seconds)", "-c:v", "libx264", "-preset", "ultrafast", "-g",
          "25",
        ]
        + arguments + [path], environment: environment)
    #expect(await program.ending() == .exit(0))
    return path
  }

  /// How far the picture went between one seek and the next, by the positions told alone.
  static func runs(_ events: [PlayerEvent]) -> [Double] {
    var runs: [[Double]] = [[]]
    for event in events {
      if case .seeking = event { runs.append([]) }
      if case .position(let position?) = event { runs[runs.count - 1].append(position) }
    }
    return runs.compactMap { run in
      guard let from = run.min(), let to = run.last, to - from > 0.1 else { return nil }
      return to - from
    }
  }

  static func media(_ stretches: [ViewingMeter.Stretch]) -> Double {
    stretches.reduce(0) { $0 + $1.to - $1.from }
  }
  static func clock(_ stretches: [ViewingMeter.Stretch]) -> Double { stretches.reduce(0) { $0 + $1.clock } }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"), arguments: [(1.0, 0.0), (4, 1.5)])
  func `a clip plays to its end`(_ speed: Double, _ start: Double) async throws {
    var playback = Playback(url: try await Self.clip(3), title: "Three seconds")
    (playback.speed, playback.start) = (speed, start)
    let run = try Run(playback)
    let (stretches, ending) = await run.end()
    #expect(ending == .exited(.exit(0)))
    #expect(run.events.withLock { $0.contains(.ended(.eof)) })
    #expect(run.viewing.withMeter { meter, _ in meter.hasBegun && meter.hasReachedEnd })
    #expect(abs(Self.media(stretches) - (3 - start)) < 0.1, "\(stretches)")
    #expect(stretches.last?.to == run.viewing.withMeter { meter, _ in meter.duration })
    #expect(run.player.complaints == [])
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `pauses, seeks and speeds are followed`() async throws {
    let run = try Run(Playback(url: try await Self.clip(20), title: "t"))
    #expect(await run.reach(1))
    run.player.pause(true)
    #expect(await run.has(.pause(true)))
    let first = run.position
    run.player.seek(to: 10)
    #expect(await run.reach(10))
    run.player.setSpeed(2)
    run.player.pause(false)
    #expect(await run.reach(12))
    run.player.seek(to: 10)
    #expect(await eventually { run.position < 11 })
    #expect(await run.reach(11.5))
    #expect(await run.player.stop() == .exit(0))
    let (stretches, ending) = await run.end()
    #expect(ending == .exited(.exit(0)))
    #expect(run.events.withLock { $0.contains(.ended(.quit)) })
    // On a busy machine what is asked for comes late: what the player told of positions is what it is held against.
    let runs = run.events.withLock { Self.runs($0) }
    let expected = runs.reduce(0, +)
    #expect(runs.count == 3 && expected > first + 3, "\(runs)")
    #expect(abs(Self.media(stretches) - expected) < 0.3, "\(stretches) \(runs)")
    #expect(abs(Self.clock(stretches) - (first + (expected - first) / 2)) < 1, "\(stretches)")
    #expect(stretches.map { $0.from.rounded() } == [0, 10, 10])
    #expect(!run.viewing.withMeter { meter, _ in meter.hasReachedEnd })
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `the policy holds against whoever steers the player`() async throws {
    var playback = Playback(url: try await Self.clip(20), title: "t")
    playback.policy = PlayPolicy()
    (playback.policy.isSeekable, playback.policy.seekableEnd, playback.policy.allowsSpeed) = (false, 3, false)
    let run = try Run(playback)
    #expect(await run.reach(1))
    run.player.setSpeed(4)
    #expect(await run.has(.speed(4)))
    #expect(
      await eventually {
        run.events.withLock { $0.last { if case .speed = $0 { true } else { false } } == .speed(1) }
      })
    run.player.seek(to: 15)
    #expect(await run.has(.position(15)))
    #expect(await eventually { run.position < 3 }, "it is sent back")
    run.player.seek(to: 3)
    #expect(await run.reach(3.2))
    #expect(run.position < 5)
    await run.player.stop()
    let (stretches, _) = await run.end()
    #expect(stretches.allSatisfy { $0.to < 5 || $0.to - $0.from < 0.3 }, "\(stretches)")
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `only the section is played`() async throws {
    var playback = Playback(url: try await Self.clip(20), title: "t")
    playback.policy.section = 5...7
    playback.start = playback.policy.start(wanted: nil)
    let run = try Run(playback)
    #expect(await run.reach(5.5))
    run.player.seek(to: 1)
    let (stretches, ending) = await run.end()
    #expect(ending == .exited(.exit(0)))
    #expect(run.viewing.withMeter { meter, _ in meter.hasReachedEnd })
    #expect(stretches.last?.to == 7)
    #expect(Self.media(stretches.filter { $0.from < 4 }) < 0.3, "\(stretches)")
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `a file that cannot be played says why, without its address`() async throws {
    let path = TemporaryDirectory.path + "/secret-name.mp4"
    try Data("no media".utf8).write(to: URL(filePath: path))
    let closed = "http://127.0.0.1:\(try unusedPort())/secret-name.mp4"
    for (url, reason) in [(path, "unrecognized file format"), (closed, "loading failed")] {
      let run = try Run(Playback(url: url, title: "t"))
      let (stretches, ending) = await run.end()
      #expect(stretches.isEmpty && ending == .exited(.exit(2)))
      #expect(run.events.withLock { $0.contains(.ended(.error(reason))) })
      #expect(!run.player.complaints.contains { $0.contains("secret-name") }, "\(run.player.complaints)")
      // mpv does not always get to say it before it ends.
      let told = run.player.complaints.filter { $0.hasPrefix("Failed to") }
      #expect(told.allSatisfy { ["Failed to recognize file format.", "Failed to open …."].contains($0) })
    }
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `the address is on no command line`() async throws {
    let run = try Run(Playback(url: try await Self.clip(20), title: "t"))
    #expect(await run.reach(0.2))
    let pid = try #require((run.player as? MPVPlayer)?.pid)
    let line = try String(decoding: Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline")), as: UTF8.self)
    #expect(line.hasPrefix("mpv\0") && !line.contains("clip"))
    await run.player.stop()
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"), arguments: [SIGKILL, SIGTERM] as [Int32])
  func `a player that is killed has vanished`(_ signal: Int32) async throws {
    let run = try Run(Playback(url: try await Self.clip(20), title: "t"))
    #expect(await run.reach(1))
    _ = kill(try #require((run.player as? MPVPlayer)?.pid), signal)
    let (stretches, ending) = await run.end()
    #expect(ending == .exited(.signal(signal)) || (signal == SIGTERM && ending == .exited(.exit(4))))
    #expect(Self.media(stretches) > 0.95)
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `a frozen player is ended by force`() async throws {
    let run = try Run(Playback(url: try await Self.clip(20), title: "t"))
    #expect(await run.reach(0.2))
    _ = kill(try #require((run.player as? MPVPlayer)?.pid), SIGSTOP)
    #expect(await run.player.stop() == .signal(SIGKILL))
    #expect(await run.end().ending == .exited(.signal(SIGKILL)))
  }

  @Test(.enabled(if: hasMPV, "needs mpv and ffmpeg"))
  func `mpv ends with the last reference`() async throws {
    let path = try await Self.clip(20)
    let viewing = Viewing()
    do {
      let player = try PlayerChoice.mpv.start(
        Playback(url: path, title: "t"), environment: Self.environment, observer: { viewing.take($0) })
      #expect(await eventually { viewing.withMeter { meter, _ in meter.hasBegun } })
      withExtendedLifetime(player) {}
    }
    var last: PlayerEvent?
    for await event in viewing.news { last = event }
    #expect(last == .exited(.exit(0)))
  }

  @Test func `a missing mpv names the package`() {
    #expect(
      throws: KollusError(
        .configuration, "mpv is not installed",
        hint: "apt-get install mpv, or name another player with --player")
    ) { try Run(Playback(url: "x", title: "t"), environment: ["PATH": "/nonexistent"]) }
  }

  @Test func `another player counts by the clock`() async throws {
    let file = TemporaryDirectory.path + "/told"
    let choice = try PlayerChoice(
      "sh -c 'echo \"$0 $1\" > \(file); echo \"bad {url}\" >&2; sleep 4.5' x {url}")
    var playback = Playback(url: "http://127.0.0.1:9/secret", title: "t")
    playback.duration = 60
    let start = ContinuousClock.now
    let run = try Run(playback, by: choice)
    let (stretches, ending) = await run.end()
    let elapsed = start.duration(to: .now) / .seconds(1)
    #expect(ending == .exited(.exit(0)))
    #expect(run.events.withLock { $0.contains(.ended(.quit)) })
    // All but the first moment, on a busy machine a longer one.
    let (media, clock) = (Self.media(stretches), Self.clock(stretches))
    #expect(media > 0.5 && media < elapsed - 0.4 && abs(media - clock) < 0.6, "\(stretches)")
    #expect(run.viewing.withMeter { meter, _ in meter.hasBegun && !meter.hasReachedEnd })
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "x http://127.0.0.1:9/secret\n")
    #expect(await eventually { run.player.complaints == ["bad …"] })
  }

  @Test func `another player that stays longer than the media has seen it once`() async throws {
    var playback = Playback(url: "u", title: "t")
    playback.duration = 0.6
    let run = try Run(playback, by: PlayerChoice("sh -c 'sleep 4.5'"))
    let (stretches, _) = await run.end()
    #expect(abs(Self.media(stretches) - 0.6) < 0.001 && Self.clock(stretches) > 1, "\(stretches)")
    #expect(run.viewing.withMeter { meter, _ in meter.hasReachedEnd })
  }

  @Test func `another player that fails at once was no playing`() async throws {
    let run = try Run(Playback(url: "u", title: "t"), by: PlayerChoice("sh -c 'exit 3'"))
    let (stretches, ending) = await run.end()
    #expect(stretches.isEmpty && ending == .exited(.exit(3)))
    #expect(!run.viewing.withMeter { meter, _ in meter.hasBegun })
    #expect { try Run(Playback(url: "u", title: "t"), by: .command(["no-such-player"])) } throws: {
      ($0 as? KollusError)?.kind == .configuration
    }
  }

  @Test func `another player is ended when it is stopped or let go of`() async throws {
    let stopped = try Run(Playback(url: "50", title: "t"), by: .command(["sleep"]))
    #expect(await stopped.player.stop() == .signal(SIGTERM))
    #expect(await stopped.end().ending == .exited(.signal(SIGTERM)))
    let viewing = Viewing()
    _ = try PlayerChoice.command(["sleep"]).start(
      Playback(url: "50", title: "t"), environment: Self.environment, observer: { viewing.take($0) })
    var last: PlayerEvent?
    for await event in viewing.news { last = event }
    #expect(last == .exited(.signal(SIGTERM)))
  }
}
