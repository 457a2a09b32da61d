package import JSONKit

/// What a viewer may do with a content's playback (`policy` of the manifest, design §4).
package struct PlayPolicy: Sendable, Equatable {
  /// Whether one may go anywhere.
  package var isSeekable = true
  /// Up to where one may go all the same where seeking is forbidden, media seconds; `nil` for nowhere.
  package var seekableEnd: Double?
  /// Whether the speed may be other than 1.
  package var allowsSpeed = true
  /// The only part to be played, media seconds.
  package var section: ClosedRange<Double>?

  /// Everything is allowed.
  package init() {}

  /// Reads `policy`; what is absent is allowed.
  package init(_ json: JSON?) throws(JSONError) {
    guard let json else { return }
    isSeekable = try json.bool("seek") ?? true
    if let end = try json.number("seekableEnd"), end >= 0 { seekableEnd = end }
    allowsSpeed = try !(json.bool("disablePlayrate") ?? false)
    if let section = try json.array("playSection") {
      let seconds = section.elements.map(\.number)
      guard seconds.count == 2, let start = seconds[0], let end = seconds[1], start >= 0, end > start,
        end <= 1e9
      else { throw section.failure("expected two numbers of seconds, the second one larger") }
      self.section = start...end
    }
  }

  /// The speed to play at instead of `speed`, or `nil` when that is allowed.
  package func correction(ofSpeed speed: Double) -> Double? {
    allowsSpeed || speed == 1 ? nil : 1
  }

  /// Where to go instead of `aim` for a viewer who is at `current`, or `nil` when that is allowed.
  ///
  /// Differences up to `slack` seconds do not count: players land a frame beside where they are sent.
  package func correction(
    ofSeekTo aim: Double, from current: Double, slack: Double = 0.1
  ) -> Double? {
    if !isSeekable, abs(aim - current) > slack, aim > (seekableEnd ?? -.infinity) + slack {
      return inSection(current)
    }
    let inside = inSection(aim)
    return abs(aim - inside) > slack ? inside : nil
  }

  /// Where playing begins for a viewer who wants to begin at `wanted`, if anywhere, and was at `resumed` last.
  package func start(wanted: Double?, resumed: Double = 0) -> Double {
    let resumed = inSection(resumed)
    guard let wanted else { return resumed }
    return correction(ofSeekTo: wanted, from: resumed) ?? wanted
  }

  private func inSection(_ seconds: Double) -> Double {
    guard let section else { return max(0, seconds) }
    return min(max(seconds, section.lowerBound), section.upperBound)
  }
}

/// Watches a player's events for what the policy forbids.
struct PolicyWatch: Sendable {
  /// What a player has to be told.
  enum Correction: Sendable, Equatable {
    case seek(Double)
    case speed(Double)
  }

  let policy: PlayPolicy
  /// Where the viewer got to in ways that are allowed.
  private var reached: Double
  private var speed = 1.0
  private var isOurs = false
  private var isSettled = false
  /// Whether where a seek goes is still to be judged.
  private var isSought = false
  /// Whether a correction is on its way, so that the positions meanwhile mean nothing.
  private var isAwaiting = false

  init(_ policy: PlayPolicy, start: Double) { (self.policy, reached) = (policy, start) }

  /// Takes one event and says what has to be put right.
  mutating func take(_ event: PlayerEvent) -> Correction? {
    switch event {
    case .opening(let isOurs):
      (self.isOurs, isSettled, isSought, isAwaiting) = (isOurs, false, false, false)
    case .seeking: (isSettled, isSought) = (false, true)
    case .settled: isSettled = true
    case .speed(let speed):
      self.speed = speed
      return policy.correction(ofSpeed: speed).map(Correction.speed)
    case .position(let told?) where isOurs: return judge(told)
    default: break
    }
    return nil
  }

  private mutating func judge(_ told: Double) -> Correction? {
    // An aim is exact; after it is reached the picture has moved on a little.
    let loose = max(1, speed)
    if isSought,
      let target = policy.correction(ofSeekTo: told, from: reached, slack: isSettled ? loose : 0.1)
    {
      // One correction a seek: it is a seek as well, which is judged anew.
      (isSought, isAwaiting) = (false, true)
      return .seek(target)
    }
    if isSought || abs(told - reached) <= loose { isAwaiting = false }
    if isSettled, !isAwaiting { (isSought, reached) = (false, told) }
    return nil
  }
}
