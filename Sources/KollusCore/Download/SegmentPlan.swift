/// Which segments are still to be had; a value without I/O.
struct SegmentPlan: Equatable, Sendable {
  private enum State: UInt8 { case missing, claimed, arrived, done }

  private var states: [State]
  private(set) var missing: Int
  private(set) var done: Int
  /// No segment before this one is missing.
  private var cursor = 0

  init(done: [Bool]) {
    states = done.map { $0 ? .done : .missing }
    self.done = done.count { $0 }
    missing = done.count - self.done
  }

  var count: Int { states.count }
  var isComplete: Bool { done == states.count }
  func isDone(_ index: Int) -> Bool { states[index] == .done }

  func isMissing(_ index: Int) -> Bool { states[index] == .missing }

  /// Claims the next run of missing segments: long ones first, short ones towards the end, so that
  /// `lanes` transfers end together.
  ///
  /// A run from `preferred` on is given when that segment is missing.
  mutating func take(lanes: Int, preferring preferred: Int? = nil, atMost longest: Int = 16) -> Range<Int>? {
    guard missing > 0 else { return nil }
    let wanted = preferred.flatMap { states[$0] == .missing ? $0 : nil }
    guard let first = wanted ?? states[cursor...].firstIndex(of: .missing) else { return nil }
    let fair = max(1, min(longest, missing / (2 * max(1, lanes))))
    var end = first
    while end < states.count, states[end] == .missing, end - first < fair {
      states[end] = .claimed
      end += 1
    }
    missing -= end - first
    if wanted == nil { cursor = end }
    return first..<end
  }

  /// Claims one segment for a stream that comes by it; `false` when it is not wanted.
  mutating func claim(_ index: Int) -> Bool {
    guard states[index] == .missing else { return false }
    states[index] = .claimed
    missing -= 1
    return true
  }

  /// The claimed segment's bytes are here; `false` when they are not wanted any more.
  ///
  /// What was given `true` must be stored or reopened: no one else will bring it meanwhile.
  mutating func arrive(_ index: Int) -> Bool {
    guard states[index] == .claimed else { return false }
    states[index] = .arrived
    return true
  }

  /// Makes claimed segments missing again; those that arrived or are done stay.
  mutating func giveBack(_ range: Range<Int>) {
    for index in range where states[index] == .claimed {
      states[index] = .missing
      missing += 1
    }
    cursor = min(cursor, range.lowerBound)
  }

  mutating func finish(_ index: Int) {
    guard states[index] == .arrived else { return }
    states[index] = .done
    done += 1
  }

  /// Makes a segment missing whatever it was: its bytes were wrong, or it is to be fetched as a proof.
  mutating func reopen(_ index: Int) {
    switch states[index] {
    case .missing: return
    case .claimed, .arrived: break
    case .done: done -= 1
    }
    states[index] = .missing
    missing += 1
    cursor = min(cursor, index)
  }

  /// The last segment that is done, a sample to prove another source by.
  var lastDone: Int? { states.lastIndex(of: .done) }
}
