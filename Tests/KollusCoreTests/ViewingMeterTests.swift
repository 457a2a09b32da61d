import SystemKit
import Testing

@testable import KollusCore

@Suite struct ViewingMeterTests {
  /// Feeds a meter with what a player would tell, frame by frame, along a script.
  struct FakePlayer {
    var meter: ViewingMeter
    var now = 100.0
    var position = 0.0
    var speed = 1.0
    var frame = 0.04
    private(set) var stretches: [ViewingMeter.Stretch] = []

    init(duration: Double? = 60, sectionEnd: Double? = nil) {
      meter = ViewingMeter(sectionEnd: sectionEnd)
      for event in [
        .position(nil), .duration(nil), .speed(1), .pause(false), .idle(true), .opening(isOurs: true),
        .loaded,
        .duration(duration), .position(0), .settled, .idle(false),
      ] as [PlayerEvent] { tell(event) }
    }

    mutating func tell(_ event: PlayerEvent) { meter.take(event, at: now) }

    /// Plays so many clock seconds.
    mutating func play(_ seconds: Double) {
      let frames = Int((seconds / (frame / speed)).rounded())
      for _ in 0..<frames {
        now += frame / speed
        position += frame
        tell(.position(position))
      }
    }

    mutating func pause(_ seconds: Double) {
      tell(.pause(true))
      tell(.idle(true))
      now += seconds
      tell(.pause(false))
      tell(.idle(false))
    }

    mutating func seek(to aim: Double, landing: Double? = nil, taking seconds: Double = 0.02) {
      tell(.seeking)
      tell(.idle(true))
      tell(.position(aim))
      now += seconds
      tell(.settled)
      if let landing, landing != aim { tell(.position(landing)) }
      tell(.idle(false))
      position = landing ?? aim
    }

    mutating func changeSpeed(_ value: Double) {
      speed = value
      tell(.speed(value))
    }

    mutating func drain() { stretches += meter.drain(at: now) }

    /// Media seconds with repeats, each position once, and clock seconds, of all so far.
    mutating func totals() -> (media: Double, once: Double, clock: Double) {
      drain()
      var (once, end) = (0.0, -1.0)
      for stretch in stretches.sorted(by: { $0.from < $1.from }) {
        once += max(0, stretch.to - max(end, stretch.from))
        end = max(end, stretch.to)
      }
      return (
        stretches.reduce(0) { $0 + $1.to - $1.from }, once, stretches.reduce(0) { $0 + $1.clock }
      )
    }
  }

  static func isNear(_ value: Double, _ expected: Double, _ slack: Double = 0.001) -> Bool {
    abs(value - expected) <= slack
  }

  @Test func `the documented example is reproduced`() {
    var player = FakePlayer()
    player.changeSpeed(2)
    player.play(10)
    player.seek(to: 0, taking: 0)
    player.play(10)
    player.pause(10)
    let totals = player.totals()
    #expect(Self.isNear(totals.media, 40, 0.05))
    #expect(Self.isNear(totals.once, 20, 0.05))
    #expect(Self.isNear(totals.clock, 20))
    #expect(player.stretches.map { $0.from.rounded() } == [0, 0])
  }

  @Test func `draining every moment adds up to the same`() {
    var (whole, parts) = (FakePlayer(), FakePlayer())
    func script(_ player: inout FakePlayer, _ each: (inout FakePlayer) -> Void) {
      for speed in [1, 2, 0.5, 4] {
        player.changeSpeed(speed)
        for _ in 0..<5 {
          player.play(0.4)
          each(&player)
        }
        player.seek(to: 5)
        each(&player)
        player.pause(3)
        each(&player)
      }
    }
    script(&whole) { _ in }
    script(&parts) { $0.drain() }
    let (expected, totals) = (whole.totals(), parts.totals())
    #expect(whole.stretches.count == 4)
    #expect(parts.stretches.count == 20)
    #expect(Self.isNear(totals.media, expected.media))
    #expect(Self.isNear(totals.once, expected.once))
    #expect(Self.isNear(totals.clock, expected.clock))
    #expect(Self.isNear(expected.media, 15, 0.3))
    #expect(Self.isNear(expected.clock, 8))
  }

  @Test func `nothing is told before it has begun`() {
    var meter = ViewingMeter()
    for event in [.opening(isOurs: true), .loaded, .duration(60), .position(0), .settled] as [PlayerEvent] {
      meter.take(event, at: 1)
    }
    #expect(!meter.hasBegun && !meter.isPlaying && meter.drain(at: 5).isEmpty)
    meter.take(.idle(false), at: 5)
    meter.take(.position(0), at: 5.01)
    #expect(!meter.hasBegun && meter.isPlaying && meter.drain(at: 5.02).isEmpty)
    meter.take(.position(0.04), at: 5.04)
    #expect(meter.hasBegun)
    #expect(meter.drain(at: 5.04).map(\.to) == [0.04])
    #expect(meter.drain(at: 5.04).isEmpty)
  }

  @Test func `audio output that fails has not begun`() {
    var player = FakePlayer()
    player.now += 0.02
    player.tell(.ended(.error("audio output initialization failed")))
    player.tell(.exited(.exit(2)))
    #expect(!player.meter.hasBegun && player.totals() == (0, 0, 0))
  }

  @Test func `seeks while paused show nothing`() {
    var player = FakePlayer()
    player.play(4)
    player.tell(.pause(true))
    player.tell(.idle(true))
    for aim in [10.0, 20, 30] {
      player.now += 1
      player.tell(.seeking)
      player.tell(.position(aim))
      player.tell(.settled)
    }
    #expect(Self.isNear(player.meter.position, 30))
    let totals = player.totals()
    #expect(Self.isNear(totals.media, 4) && Self.isNear(totals.clock, 4))
  }

  @Test(arguments: [(30, 27.2), (30, 33), (30, 30.03), (30, 30), (30, 29.98)])
  func `a seek counts from where it landed`(_ aim: Double, _ landing: Double) {
    var player = FakePlayer()
    player.play(2)
    player.seek(to: aim, landing: landing)
    player.play(2)
    player.drain()
    #expect(player.stretches.count == 2)
    #expect(Self.isNear(player.stretches[1].from, landing, 0.05))
    #expect(Self.isNear(player.stretches[1].to, landing + 2))
  }

  @Test func `many seeks with one end are one break`() {
    var player = FakePlayer()
    player.play(2)
    for aim in [10.0, 50, 20, 40] {
      player.tell(.seeking)
      player.tell(.position(aim))
      player.now += 0.01
    }
    player.tell(.idle(true))
    player.tell(.settled)
    player.tell(.idle(false))
    player.position = 40
    player.play(1)
    player.drain()
    #expect(player.stretches.map { $0.from.rounded() } == [0, 40])
    #expect(Self.isNear(player.totals().media, 3, 0.1))
  }

  @Test func `a slide counts to the moment it is left, and less when the speed is not sure`() {
    var player = FakePlayer()
    (player.frame, player.position) = (10, 0)
    player.now += 5
    #expect(player.meter.drain(at: player.now) == [.init(from: 0, to: 5, clock: 5)])
    player.now += 5
    player.tell(.position(10))
    player.pause(100)
    player.now += 4
    player.seek(to: 40)
    #expect(player.meter.drain(at: player.now) == [.init(from: 5, to: 14, clock: 9)])
    player.now += 3
    player.changeSpeed(4)
    player.now += 30
    #expect(player.meter.drain(at: player.now) == [.init(from: 40, to: 43, clock: 33)])
    player.tell(.position(60))
    #expect(player.meter.drain(at: player.now) == [.init(from: 43, to: 60, clock: 0)])
  }

  @Test func `a picture that stands for ever counts a quarter of a minute`() {
    var player = FakePlayer(duration: 1_000)
    player.now += 500
    #expect(player.meter.drain(at: player.now) == [.init(from: 0, to: 15, clock: 500)])
    #expect(player.meter.hasBegun)
  }

  @Test func `waiting for bytes is no playing`() {
    var player = FakePlayer()
    player.play(3)
    player.tell(.buffering(true))
    player.tell(.idle(true))
    #expect(!player.meter.isPlaying)
    player.now += 9
    player.tell(.ended(.eof))
    #expect(!player.meter.hasReachedEnd, "far from the end it was broken off")
    let totals = player.totals()
    #expect(Self.isNear(totals.media, 3) && Self.isNear(totals.clock, 3))
  }

  @Test(
    arguments: [
      (1.0, 59.92, nil, true, 60), (1, 59.4, nil, false, 59.4), (4, 58.4, nil, true, 60),
      (4, 57.6, nil, false, 57.6),
      (1, 29.92, 30, true, 30), (1, 20, 30, false, 20),
    ] as [(Double, Double, Double?, Bool, Double)])
  func `the end is reached from close by`(
    _ speed: Double, _ last: Double, _ sectionEnd: Double?, _ isReached: Bool, _ counted: Double
  ) {
    var player = FakePlayer(sectionEnd: sectionEnd)
    player.changeSpeed(speed)
    player.play(last / speed)
    player.tell(.position(nil))
    player.tell(.ended(.eof))
    player.tell(.idle(true))
    player.now += 5
    player.tell(.exited(.exit(0)))
    #expect(player.meter.hasReachedEnd == isReached)
    #expect(Self.isNear(player.totals().media, counted, 0.05))
    #expect(Self.isNear(player.meter.position, isReached ? counted : last, 0.05))
  }

  @Test(arguments: [.stop, .quit, .error("x")] as [PlayerEvent.End])
  func `an end that is no end of bytes reaches nothing`(_ end: PlayerEvent.End) {
    var player = FakePlayer()
    player.play(59.96)
    player.tell(.ended(end))
    #expect(!player.meter.hasReachedEnd)
    #expect(Self.isNear(player.totals().media, 59.96))
  }

  @Test func `the aim of a seek was not watched`() {
    var player = FakePlayer()
    player.play(5)
    player.seek(to: 59.8)
    player.tell(.ended(.eof))
    #expect(player.meter.hasReachedEnd)
    #expect(Self.isNear(player.totals().media, 5))
  }

  @Test func `positions never leave the media`() {
    var player = FakePlayer()
    player.play(59.96)
    player.tell(.position(60.011))
    player.now += 0.04
    player.drain()
    #expect(player.stretches.last?.to == 60 && player.meter.position == 60)
    player.tell(.position(.infinity))
    player.tell(.position(.nan))
    player.tell(.position(-3))
    #expect(player.meter.position == 0)
  }

  @Test func `another file is not ours`() {
    var player = FakePlayer()
    player.play(5)
    player.tell(.ended(.stop))
    player.tell(.opening(isOurs: false))
    player.tell(.duration(9))
    player.tell(.settled)
    player.tell(.idle(false))
    player.play(3)
    player.tell(.ended(.eof))
    let totals = player.totals()
    #expect(Self.isNear(totals.media, 5) && Self.isNear(totals.clock, 5))
    #expect(player.meter.duration == 60 && !player.meter.hasReachedEnd)
  }

  @Test func `a player that vanishes keeps what was watched`() {
    var player = FakePlayer()
    player.play(5)
    player.now += 0.02
    player.tell(.exited(.signal(9)))
    player.now += 100
    let totals = player.totals()
    #expect(Self.isNear(totals.media, 5.02) && Self.isNear(totals.clock, 5.02))
    #expect(!player.meter.isPlaying)
  }

  @Test func `backward without a seek is a break`() {
    var player = FakePlayer()
    player.play(10)
    player.position = 3
    player.play(2)
    player.drain()
    #expect(player.stretches.map { $0.from.rounded() } == [0, 3])
    #expect(Self.isNear(player.totals().media, 12, 0.05))
  }

  @Test func `a clock that goes back counts nothing`() {
    var player = FakePlayer()
    player.play(5)
    player.meter.take(.position(5.04), at: 1)
    _ = player.meter.drain(at: 0)
    player.drain()
    #expect(Self.isNear(player.meter.position, 5.04))
  }

  @Test(arguments: 0..<100)
  func `random storms agree with a simple model`(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var player = FakePlayer(duration: 10_000)
    var (media, clock, breaks) = (0.0, 0.0, 0)
    var seen: Set<Int> = []
    for _ in 0..<200 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        let aim = Double(Int.random(in: 0..<200, using: &random))
        let landing = aim + Double.random(in: -4...4, using: &random)
        player.seek(to: aim, landing: Bool.random(using: &random) ? max(0, landing) : nil)
        breaks += 1
      case 1: player.pause(Double.random(in: 0...5, using: &random))
      case 2: player.changeSpeed([0.5, 1, 2, 4].randomElement(using: &random) ?? 1)
      case 3: player.drain()
      default:
        let (before, from) = (player.now, player.position)
        player.play(Double.random(in: 0...3, using: &random))
        media += player.position - from
        clock += player.now - before
        seen.formUnion(Int(from * 100)..<max(Int(from * 100), Int(player.position * 100)))
      }
    }
    let totals = player.totals()
    #expect(Self.isNear(totals.media, media, 0.11 * Double(breaks) + 0.001))
    #expect(Self.isNear(totals.clock, clock))
    #expect(Self.isNear(totals.once, Double(seen.count) / 100, 0.11 * Double(breaks) + 0.02))
    #expect(player.stretches.allSatisfy { $0.from <= $0.to && $0.clock >= 0 })
  }
}

private struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
