import Testing

@testable import KollusCore

@Suite struct ViewingLogTests {
  private struct Totals: Equatable, CustomStringConvertible {
    let play, real, run, show: Double
    let percent: Int

    init(_ log: ViewingLog) {
      (play, real, run, show) = (log.playTime, log.realPlayTime, log.runTime, log.showTime)
      percent = log.playTimePercent
    }

    init(_ play: Double, _ real: Double, _ run: Double, _ show: Double, _ percent: Int) {
      (self.play, self.real, self.run, self.show, self.percent) = (play, real, run, show, percent)
    }

    var description: String { "play \(play) real \(real) run \(run) show \(show) percent \(percent)" }
  }

  private static func times(_ log: ViewingLog) -> [Double] { log.blocks.map(\.seconds) }

  @Test func `the protocol's example of metrics comes out`() {
    var log = ViewingLog(duration: 600, blockCount: 10)
    log.watch(0, 20, clock: 10)
    log.watch(0, 20, clock: 10)
    log.pass(30)
    #expect(Totals(log) == Totals(40, 20, 30, 20, 6))
    #expect(log.lastPlayAt == 20)
  }

  @Test func `the protocol's example of a report comes out`() {
    var log = ViewingLog(duration: 600, blockCount: 10)
    log.watch(0, 210, clock: 210)
    log.pass(245)
    #expect(Totals(log) == Totals(210, 210, 245, 210, 35))
    #expect(log.lastPlayAt == 210)
    #expect(Self.times(log) == [60, 60, 60, 30, 0, 0, 0, 0, 0, 0])
    #expect(log.blocks.map(\.percent) == [100, 100, 100, 50, 0, 0, 0, 0, 0, 0])
    #expect(log.blocks.map(\.isPlayed) == (0..<10).map { $0 < 4 })
  }

  @Test func `repeats go beyond the whole, but not in a block's percent`() {
    var log = ViewingLog(duration: 10, blockCount: 2)
    for _ in 0..<3 { log.watch(0, 10, clock: 5) }
    log.watch(0, 2.5, clock: 2.5)
    #expect(Totals(log) == Totals(32.5, 10, 17.5, 17.5, 325))
    #expect(log.blocks.map(\.seconds) == [17.5, 15])
    #expect(log.blocks.map(\.percent) == [100, 100])
  }

  @Test(arguments: [
    (60.0, 10), (600, 100), (0.25, 3), (59.999999, 7), (600.04, 60), (5_400.123456, 100), (1, 100_000),
    (7_200, 100_000), (1e9, 99_991), (1e9, 1), (0.001, 1),
  ])
  func `a content watched once is every block watched once`(_ duration: Double, _ count: Int) {
    var log = ViewingLog(duration: duration, blockCount: count)
    log.watch(0, duration, clock: duration)
    let blocks = log.blocks
    #expect(blocks.count == count)
    #expect(blocks.allSatisfy { $0.isPlayed && $0.percent == 100 })
    #expect(log.playTime == log.duration && log.realPlayTime == log.duration)
    #expect(log.playTimePercent == 100)
    let share = duration / Double(count)
    #expect(blocks.allSatisfy { abs($0.seconds - share) < 1.1e-6 })
  }

  @Test(arguments: [(600.0, 10), (100, 7), (5_400.5, 100), (1, 3), (3, 1_000)])
  func `a bound belongs to the block it begins`(_ duration: Double, _ count: Int) {
    for index in 0..<count {
      let bound = duration * Double(index) / Double(count)
      var log = ViewingLog(duration: duration, blockCount: count)
      // Bounds are exact to a microsecond.
      log.watch(bound + 1e-6, bound + 3e-6, clock: 0)
      #expect(log.blocks.map(\.isPlayed) == (0..<count).map { $0 == index })
    }
  }

  @Test func `a stretch in pieces is the same as a whole one`() {
    var (pieces, whole) = (
      ViewingLog(duration: 100.1, blockCount: 7), ViewingLog(duration: 100.1, blockCount: 7)
    )
    let frames = (0...2_400).map { 3 + Double($0) / 25 }
    for (from, to) in zip(frames, frames.dropFirst()) { pieces.watch(from, to, clock: 0) }
    whole.watch(3, 99, clock: 0)
    #expect(pieces == whole)
    #expect(pieces.playTime == 96)
  }

  @Test func `sixty frames a second for an hour lose nothing of the clock`() {
    var log = ViewingLog(duration: 3_600, blockCount: 60)
    for frame in 0..<216_000 {
      log.watch(Double(frame) / 60, Double(frame + 1) / 60, clock: 1.0 / 60)
    }
    #expect(log.playTime == 3_600)
    #expect(abs(log.showTime - 3_600) < 0.1)
    #expect(Self.times(log).allSatisfy { $0 == 60 })
  }

  @Test(arguments: 1...40) func `any session agrees with a count of milliseconds`(_ seed: UInt64) {
    var random = Random(state: seed)
    let length = Int(random.next(2_000)) + 1
    let count = Int(random.next(30)) + 1
    var log = ViewingLog(duration: Double(length) / 1_000, blockCount: count)
    var times = Array(repeating: 0, count: length)
    var blocks = Array(repeating: 0.0, count: count)
    var (clock, last) = (0, 0)
    for _ in 0..<random.next(200) {
      // Now and then beyond the end, and backwards.
      let from = Int(random.next(UInt64(length + 50)))
      let to = from + Int(random.next(200)) - 20
      let took = Int(random.next(300))
      log.watch(Double(from) / 1_000, Double(to) / 1_000, clock: Double(took) / 1_000)
      clock += took
      guard to >= from else { continue }
      last = min(max(to, 0), length)
      for position in from..<to where position < length { times[position] += 1 }
      for index in 0..<count {
        let lower = max(Double(from), Double(length * index) / Double(count))
        let upper = min(Double(to), Double(length * (index + 1)) / Double(count))
        blocks[index] += max(upper - lower, 0) / 1_000
      }
    }
    #expect(log.playTime == Double(times.reduce(0, +)) / 1_000)
    #expect(log.realPlayTime == Double(times.count { $0 > 0 }) / 1_000)
    #expect(log.showTime == Double(clock) / 1_000)
    #expect(log.playTimePercent == times.reduce(0, +) * 100 / length)
    #expect(log.lastPlayAt == Double(last) / 1_000)
    for (block, expected) in zip(log.blocks, blocks) {
      #expect(abs(block.seconds - expected) < 1e-3)
    }
    let whole = log.blocks.reduce(0) { $0 + Int($1.seconds) }
    #expect(whole <= Int(log.playTime), "whole seconds of blocks exceed the whole")
    #expect(ViewingLog(encoded: log.encoded) == log)
  }

  @Test(arguments: [
    (Double.nan, 5.0, 0.0), (0, .nan, 0), (.infinity, .infinity, 0), (0, .infinity, 0),
    (-.infinity, 5, 0), (5, 2, 0), (-7, -3, 0), (-7, 3, 3), (8, 99, 2), (11, 99, 0), (10, 10, 0),
    (0, 1e300, 10), (-1e300, 1e300, 10), (0, .leastNonzeroMagnitude, 0), (4, 5, 1),
  ]) func `positions are clamped to the content`(_ from: Double, _ to: Double, _ media: Double) {
    var log = ViewingLog(duration: 10, blockCount: 4)
    log.watch(from, to, clock: 1.5)
    #expect(log.playTime == media)
    #expect(log.realPlayTime == media)
    #expect(log.showTime == 1.5, "the clock counts whatever the positions are")
    #expect(Self.times(log).reduce(0, +) == media)
    #expect((0...10).contains(log.lastPlayAt))
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, -1, 1e300, .greatestFiniteMagnitude])
  func `no number traps`(_ number: Double) {
    var log = ViewingLog(duration: number, blockCount: .max, position: number)
    for _ in 0..<3 {
      log.watch(0, number, clock: number)
      log.watch(number, 1e300, clock: -number)
      log.watch(0, 1e9, clock: number)
      log.pass(number)
    }
    #expect(log.playTime <= 1e9 && log.runTime <= 1e9 && log.showTime <= 1e9)
    #expect(log.blocks.count == log.blockCount)
    #expect(log.block(-1) == nil && log.block(log.blockCount) == nil && log.block(.max) == nil)
    #expect(ViewingLog(encoded: log.encoded) == log)
  }

  @Test(arguments: [(Int.min, 1), (-1, 1), (0, 1), (1, 1), (100_000, 100_000), (100_001, 100_000)])
  func `the number of blocks has bounds`(_ asked: Int, _ given: Int) {
    #expect(ViewingLog(duration: 5, blockCount: asked).blockCount == given)
  }

  @Test(arguments: [0.0, -5, .nan, 1e-7]) func `without a duration there is one block`(_ duration: Double) {
    var log = ViewingLog(duration: duration, blockCount: 10)
    log.watch(100, 130, clock: 30)
    log.watch(110, 120, clock: 10)
    #expect(Totals(log) == Totals(40, 30, 40, 40, 0))
    #expect(log.blocks == [ViewingLog.Block(isPlayed: true, seconds: 40, percent: 0)])
    #expect(log.lastPlayAt == 120)
    #expect(ViewingLog(encoded: log.encoded) == log)
  }

  @Test func `the time passed never falls, nor below the time shown`() {
    var log = ViewingLog(duration: 100, blockCount: 10)
    log.pass(7)
    log.pass(3)
    #expect(log.runTime == 7)
    log.watch(0, 10, clock: 10)
    #expect(log.runTime == 10)
    log.pass(12)
    #expect((log.runTime, log.showTime) == (12, 10))
  }

  @Test(arguments: [(0.0, 0.0), (42.5, 42.5), (700, 600), (-3, 0)])
  func `before anything is watched the position is that of the start`(_ start: Double, _ position: Double) {
    var log = ViewingLog(duration: 600, blockCount: 10, position: start)
    #expect(log.lastPlayAt == position)
    #expect(log.blocks.allSatisfy { !$0.isPlayed })
    log.watch(5, 5, clock: 0)
    #expect(log.lastPlayAt == 5)
    log.watch(9, 8, clock: 0)
    #expect(log.lastPlayAt == 5)
  }

  @Test func `gaps below a millisecond do not count`() {
    var log = ViewingLog(duration: 100, blockCount: 1)
    for second in 0..<10 { log.watch(Double(second), Double(second) + 0.9995, clock: 1) }
    log.watch(50, 50.999, clock: 1)
    log.watch(51, 52, clock: 1)
    #expect(log.playTime == 9.995 + 1.999)
    #expect(log.realPlayTime == log.playTime, "seen once is never more than seen in all")
    let bounds = log.encoded.split(separator: "[")[1].split(separator: "]")[0].split(separator: ",")
    #expect(bounds == ["0", "9999500", "50000000", "50999000", "51000000", "52000000"])
  }

  @Test func `beyond some thousands of stretches the smallest gaps are closed`() {
    let (count, kept) = (5_000, 4_096)
    var log = ViewingLog(duration: 100_000, blockCount: 100)
    let stretches = (0..<count).map { index in
      let from = Double(index * 7_919 % count) * 10
      return (from, from + 2 + Double(index % 8) / 8)
    }
    for (from, to) in stretches + stretches { log.watch(from, to, clock: 1) }
    let watched = stretches.reduce(0) { $0 + $1.1 - $1.0 }
    #expect(log.playTime == 2 * watched, "only what is seen once is affected")
    #expect(log.realPlayTime >= watched)
    #expect(log.realPlayTime <= watched + Double(count - kept) * 8)
    #expect(log.encoded.utf8.count < 100_000)
    #expect(ViewingLog(encoded: log.encoded) == log)
    log.watch(0, 100_000, clock: 1)
    #expect(log.realPlayTime == 100_000)
  }

  @Test func `the largest log is below 4 MiB and reads back`() {
    var log = ViewingLog(duration: 1e9, blockCount: 100_000)
    for index in 0..<5_000 {
      log.watch(Double(index) * 199_999.123457, Double(index) * 199_999.123457 + 99_999.5, clock: 1e6)
    }
    let encoded = log.encoded
    #expect(encoded.utf8.count < 4 << 20)
    #expect(ViewingLog(encoded: encoded) == log)
  }
}

extension ViewingLogTests {
  private static let stored =
    #"{"version":1,"duration":10000000,"position":5000000,"show":4000000,"run":9000000,"#
    + #""seen":[1000000,5000000],"blocks":[4000000,0]}"#

  @Test func `a stored log goes on`() throws {
    var log = try #require(ViewingLog(encoded: Self.stored))
    #expect(Totals(log) == Totals(4, 4, 9, 4, 40))
    #expect((log.lastPlayAt, log.duration) == (5, 10))
    #expect(log.encoded == Self.stored)
    log.watch(4, 7, clock: 3)
    #expect(Totals(log) == Totals(7, 6, 9, 7, 70))
    #expect(Self.times(log) == [5, 2])
  }

  @Test(arguments: [
    (#""version":1"#, #""version":2"#), (#""version":1,"#, ""), ("10000000", "-1"),
    ("10000000", "1000000000000001"), ("10000000", "1e7"), (#""duration":10000000"#, #""duration":0"#),
    ("10000000", "4000000"), (#""position":5000000"#, #""position":10000001"#),
    (#""position":5000000"#, #""position":null"#), ("9000000", "9223372036854775808"),
    ("[1000000,5000000]", "[1000000]"), ("[1000000,5000000]", "[5000000,1000000]"),
    ("[1000000,5000000]", "[1000000,1000000]"), ("[1000000,5000000]", "[1000000,10000001]"),
    ("[1000000,5000000]", "[-1,5000000]"), ("[1000000,5000000]", "[1,2,2,3]"),
    ("[1000000,5000000]", "[[],5]"), ("[1000000,5000000]", "{}"), ("[4000000,0]", "[]"),
    ("[4000000,0]", "[4000000,-1]"), ("[4000000,0]", "[1000000000000000,1]"), ("[4000000,0]", "[4.5,0]"),
    (#","blocks":[4000000,0]"#, ""), ("}", "}}"), ("{", ""), (#""show""#, #""show":1,"show""#),
  ]) func `a damaged log is none`(_ old: String, _ new: String) throws {
    let range = try #require(Self.stored.firstRange(of: old))
    var text = Self.stored
    text.replaceSubrange(range, with: new)
    #expect(ViewingLog(encoded: text) == nil)
  }

  @Test func `a cut log is none`() {
    for length in 0..<Self.stored.count {
      #expect(ViewingLog(encoded: "\(Self.stored.prefix(length))") == nil)
    }
  }
}

/// The same numbers for the same seed.
private struct Random {
  var state: UInt64

  mutating func next(_ bound: UInt64) -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) % bound
  }
}
