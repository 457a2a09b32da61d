import JSONKit

/// What one session has watched of a content: the record from which every number of its reports derives
/// (PROTO §3.5, §3.7).
///
/// Times are kept as whole microseconds, so a stretch taken in pieces sums up to exactly what it is as one.
/// What comes in is clamped to the content and to a billion seconds; nothing traps.
package struct ViewingLog: Sendable, Equatable {
  /// One of the equal parts of a content.
  package struct Block: Sendable, Equatable {
    /// Whether any time of it was played.
    package var isPlayed: Bool
    /// Media seconds played in it; repeats add.
    package var seconds: Double
    /// `seconds` as a share of its length in whole percent, rounded down; repeats count up to 100.
    package var percent: Int
  }

  /// How many blocks a content may have.
  package static let blockCounts = 1...100_000
  /// The longest time of any kind, in microseconds.
  private static let limit: Int64 = 1_000_000_000_000_000

  /// Microseconds from here on; 0 for a length that is not known.
  private let length: Int64
  private var playing: Int64 = 0
  private var showing: Int64 = 0
  private var passed: Int64 = 0
  private var position: Int64
  private var seen = Stretches()
  private var blockTimes: [Int64]

  /// A session that begins at `position` of a content of `duration` seconds.
  ///
  /// A content whose duration is not known (0) is one single block, whatever the number asked for.
  package init(duration: Double, blockCount: Int, position: Double = 0) {
    length = Self.microseconds(duration)
    let count = min(max(blockCount, Self.blockCounts.lowerBound), Self.blockCounts.upperBound)
    blockTimes = Array(repeating: 0, count: length > 0 ? count : 1)
    self.position = 0
    self.position = place(position)
  }

  /// Notes media played once through, from one position to another, and the clock seconds in the playing
  /// state that it took.
  ///
  /// Positions that are not in order add no media, only their clock.
  package mutating func watch(_ from: Double, _ to: Double, clock: Double) {
    showing = min(showing + Self.microseconds(clock), Self.limit)
    guard from.isFinite, to.isFinite, from <= to else { return }
    let (start, end) = (place(from), place(to))
    guard playing + (end - start) <= Self.limit else { return }
    playing += end - start
    position = end
    guard start < end else { return }
    seen.insert(start..<end)
    addToBlocks(start..<end)
  }

  /// Notes how many clock seconds have passed since the start of the session, pauses included.
  ///
  /// This is the whole time, not what was added to it; it never falls.
  package mutating func pass(_ seconds: Double) { passed = max(passed, Self.microseconds(seconds)) }

  /// Seconds of the content, 0 when not known.
  package var duration: Double { Self.seconds(length) }
  /// Media seconds watched; repeats count.
  package var playTime: Double { Self.seconds(playing) }
  /// Media seconds watched, each position once.
  package var realPlayTime: Double { Self.seconds(min(seen.total, playing)) }
  /// Clock seconds since the start, pauses included.
  package var runTime: Double { Self.seconds(max(passed, showing)) }
  /// Clock seconds in the playing state.
  package var showTime: Double { Self.seconds(showing) }
  /// Where playing last was, in seconds of the content.
  package var lastPlayAt: Double { Self.seconds(position) }
  /// `playTime` as a share of the duration, rounded down; may exceed 100, and is 0 without a duration.
  package var playTimePercent: Int { Self.percent(playing, of: length) }

  package var blockCount: Int { blockTimes.count }

  /// All blocks in order.
  package var blocks: [Block] { blockTimes.indices.compactMap(block) }

  /// The block of a number from 0 on, `nil` beyond the last one.
  package func block(_ index: Int) -> Block? {
    guard blockTimes.indices.contains(index) else { return nil }
    let time = blockTimes[index]
    let size = length > 0 ? start(ofBlock: index + 1) - start(ofBlock: index) : 0
    return Block(
      isPlayed: time > 0, seconds: Self.seconds(time), percent: min(Self.percent(time, of: size), 100))
  }
}

extension ViewingLog {
  /// Where positions end: without a duration, nowhere near.
  private var end: Int64 { length > 0 ? length : Self.limit }

  private func place(_ seconds: Double) -> Int64 { min(Self.microseconds(seconds), end) }

  /// The exact bound is `end × index ÷ count`; positions are whole, so rounding it down parts them the same
  /// to a microsecond.
  private func start(ofBlock index: Int) -> Int64 {
    Int64(Int128(end) * Int128(index) / Int128(blockTimes.count))
  }

  /// The block of a position below `end`; at a bound that is rounded down it may be the block before.
  private func blockIndex(at position: Int64) -> Int {
    Int(Int128(position) * Int128(blockTimes.count) / Int128(end))
  }

  private mutating func addToBlocks(_ range: Range<Int64>) {
    var index = blockIndex(at: range.lowerBound)
    var position = range.lowerBound
    while position < range.upperBound {
      let next = min(start(ofBlock: index + 1), range.upperBound)
      blockTimes[index] += next - position
      (position, index) = (next, index + 1)
    }
  }

  private static func microseconds(_ seconds: Double) -> Int64 {
    // What is no number compares with nothing and is 0.
    seconds > 0 ? Int64(min(seconds * 1e6, Double(limit)).rounded()) : 0
  }

  private static func seconds(_ microseconds: Int64) -> Double { Double(microseconds) / 1e6 }

  private static func percent(_ part: Int64, of whole: Int64) -> Int {
    whole > 0 ? Int(part * 100 / whole) : 0
  }
}

extension ViewingLog {
  /// The log as compact JSON, below 4 MiB, from which `init(encoded:)` makes an equal one.
  package var encoded: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("version", 1)
    writer.member("duration", length)
    writer.member("position", position)
    writer.member("show", showing)
    writer.member("run", passed)
    writer.name("seen")
    writer.beginArray()
    for range in seen.ranges {
      writer.value(range.lowerBound)
      writer.value(range.upperBound)
    }
    writer.endArray()
    writer.name("blocks")
    writer.beginArray()
    for time in blockTimes { writer.value(time) }
    writer.endArray()
    writer.endObject()
    return writer.text
  }

  /// Reads what `encoded` wrote; `nil` for anything that cannot have come from there.
  package init?(encoded: String) {
    do throws(JSONError) {
      let json = try JSON(parsing: encoded, limits: JSON.Limits(bytes: 4 << 20, depth: 2, values: 110_000))
      guard try json.integer("version") == 1,
        let length = try json.integer("duration", in: 0...Self.limit),
        let position = try json.integer("position", in: 0...(length > 0 ? length : Self.limit)),
        let showing = try json.integer("show", in: 0...Self.limit),
        let passed = try json.integer("run", in: 0...Self.limit),
        let bounds = try json.array("seen").flatMap(Self.numbers),
        let seen = Stretches(bounds, within: length > 0 ? length : Self.limit),
        let blockTimes = try json.array("blocks").flatMap(Self.numbers),
        Self.blockCounts.contains(blockTimes.count), length > 0 || blockTimes.count == 1
      else { return nil }
      (self.length, self.position, self.showing, self.passed) = (length, position, showing, passed)
      (self.seen, self.blockTimes) = (seen, blockTimes)
    } catch {
      return nil
    }
    // At most 100,000 times the limit: no overflow.
    playing = 0
    for time in blockTimes {
      playing += time
      guard playing <= Self.limit else { return nil }
    }
  }

  private static func numbers(_ array: JSON) -> [Int64]? {
    var numbers: [Int64] = []
    numbers.reserveCapacity(array.count)
    for element in array.elements {
      guard let number = element.integer, (0...limit).contains(number) else { return nil }
      numbers.append(number)
    }
    return numbers
  }
}

/// Positions that were watched at least once: sorted ranges of microseconds, apart from each other.
private struct Stretches: Sendable, Equatable {
  /// Ranges with a smaller gap count as one: a millisecond is less than any picture lasts.
  private static let closeness: Int64 = 1_000
  /// Beyond so many ranges the smallest gap is closed.
  private static let limit = 4_096

  private(set) var ranges: [Range<Int64>] = []

  init() {}

  /// Takes bounds in pairs; `nil` unless they rise up to `end` at most.
  init?(_ bounds: [Int64], within end: Int64) {
    guard bounds.count.isMultiple(of: 2), bounds.count / 2 <= Self.limit, bounds.last ?? 0 <= end,
      zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    ranges = stride(from: 0, to: bounds.count, by: 2).map { bounds[$0]..<bounds[$0 + 1] }
  }

  var total: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  mutating func insert(_ range: Range<Int64>) {
    let first = firstRange(reaching: range.lowerBound)
    var (joined, end) = (range, first)
    while end < ranges.count, ranges[end].lowerBound - Self.closeness < joined.upperBound {
      let (lower, upper) = (ranges[end].lowerBound, ranges[end].upperBound)
      joined = min(joined.lowerBound, lower)..<max(joined.upperBound, upper)
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    if ranges.count > Self.limit { closeSmallestGap() }
  }

  /// The index of the first range that ends after a position or less than the closeness before it.
  private func firstRange(reaching position: Int64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound + Self.closeness > position { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private mutating func closeSmallestGap() {
    var (smallest, place) = (Int64.max, 0)
    for index in 1..<ranges.count {
      let gap = ranges[index].lowerBound - ranges[index - 1].upperBound
      if gap < smallest { (smallest, place) = (gap, index) }
    }
    guard place > 0 else { return }
    ranges[place - 1] = ranges[place - 1].lowerBound..<ranges[place].upperBound
    ranges.remove(at: place)
  }
}
