/// Measures what was watched, from a player's events.
///
/// Media seconds are differences of positions, never clock × speed, because a player's picture stands or leaps
/// when the speed changes. The frame on the screen counts until the break, so that slides of many seconds
/// are measured as well as 60 frames a second. Times are seconds of one clock that stands still while the
/// machine sleeps and never goes back.
package struct ViewingMeter: Sendable {
  /// Media that was watched without a break.
  package struct Stretch: Sendable, Equatable {
    /// Media seconds.
    package var from: Double
    /// Media seconds, not less than `from`.
    package var to: Double
    /// Seconds on the clock in the playing state, since the stretch before.
    package var clock: Double

    package init(from: Double, to: Double, clock: Double) {
      (self.from, self.to, self.clock) = (from, to, clock)
    }
  }

  /// Where the media is: the last position told, or the aim of a seek; media seconds.
  package private(set) var position = 0.0
  /// As the player tells it; `nil` while unknown.
  package private(set) var duration: Double?
  /// Media seconds per second.
  package private(set) var speed = 1.0
  /// Whether a picture or sound has moved on, which opening and seeking alone do not tell.
  package private(set) var hasBegun = false
  /// Whether our file ended where it, or the section to be played, is over.
  package private(set) var hasReachedEnd = false

  /// Where the section to be played ends, media seconds.
  private let sectionEnd: Double?
  private var isOurs = false
  private var isIdle = true
  private var isSettled = false
  /// Whether the stretch was begun at the aim of a seek, and where it landed may still be told.
  private var isAimed = false
  /// The start of the running stretch, or of what of it was not taken yet.
  private var start: Double?
  private var finished: [Stretch] = []
  /// Clock seconds of playing that no stretch has yet.
  private var clock = 0.0
  /// Since when it plays, as far as `clock` and `shown` do not count it yet.
  private var activeSince: Double?
  /// Clock seconds of playing in all.
  private var played = 0.0
  /// Clock seconds of playing since the last position.
  private var shown = 0.0
  /// Media seconds by which the picture may have moved on since the last position.
  private var ahead = 0.0
  private var canExtrapolate = false

  /// The longest that a picture is believed to stand, in clock seconds: slides do.
  private static let longestFrame = 15.0

  package init(sectionEnd: Double? = nil) { self.sectionEnd = sectionEnd }

  /// Whether media of ours is moving.
  package var isPlaying: Bool { activeSince != nil && isSettled }

  /// Takes one event that came at `now`.
  package mutating func take(_ event: PlayerEvent, at now: Double) {
    pass(to: now)
    switch event {
    case .opening(let isOurs):
      breakOff()
      self.isOurs = isOurs
      activeSince = isOurs && !isIdle ? now : nil
    case .duration(let seconds?) where isOurs && seconds.isFinite: duration = seconds
    case .position(let told?) where isOurs && told.isFinite: move(to: clamped(told))
    // The picture stands or leaps for a while until the new speed holds.
    case .speed(let value): (speed, canExtrapolate) = (max(0, value), false)
    case .idle(let isIdle):
      self.isIdle = isIdle
      activeSince = isOurs && !isIdle ? now : nil
    case .seeking: breakOff()
    case .settled where isOurs && !isSettled: settle()
    case .ended(let reason): end(reason)
    case .exited: leave()
    case .loaded, .duration, .position, .pause, .buffering, .settled: break
    }
  }

  /// What was watched since the last call, up to `now`; nothing before it has really begun.
  ///
  /// A stretch that goes on is cut here: the next begins where it ends.
  package mutating func drain(at now: Double) -> [Stretch] {
    pass(to: now)
    guard hasBegun else { return [] }
    if let start {
      let reached = max(start, clamped(position + ahead))
      finish(from: start, to: reached)
      self.start = reached
    } else {
      finish(from: position, to: position)
    }
    defer { finished = [] }
    return finished
  }

  /// Counts the time that has passed.
  private mutating func pass(to now: Double) {
    guard let since = activeSince, now > since else { return }
    clock += now - since
    let counted = min(now - since, max(0, Self.longestFrame - shown))
    shown += now - since
    if canExtrapolate { ahead += counted * speed }
    if isSettled {
      // A slide moves on without a new position.
      played += now - since
      if played >= 1 { hasBegun = true }
    }
    activeSince = now
  }

  private mutating func move(to told: Double) {
    guard isSettled else {
      position = told
      return
    }
    let passed = shown * speed
    let slack = 0.1 * max(1, speed)
    if isAimed, told < position || told > position + slack + passed {
      // A seek to key frames lands elsewhere; what lies between was not watched.
      start = told
    } else if start == nil {
      start = told
    } else if told < position - 5 * slack {
      // Backward without a seek: a picture that was not there before.
      breakOff()
      (start, isSettled) = (told, true)
    } else if !isAimed, activeSince != nil, told > position {
      hasBegun = true
    }
    position = told
    (isAimed, shown, ahead, canExtrapolate) = (false, 0, 0, true)
  }

  /// Begins a stretch at the aim, where there was one.
  private mutating func settle() {
    isSettled = true
    (start, isAimed) = (position, true)
    (shown, ahead, canExtrapolate) = (0, 0, true)
  }

  /// Ends the running stretch; the frame on the screen counts.
  private mutating func breakOff() {
    if let start { finish(from: start, to: max(start, clamped(position + ahead))) }
    start = nil
    (isSettled, isAimed, shown, ahead, canExtrapolate) = (false, false, 0, 0, false)
  }

  private mutating func finish(from: Double, to: Double) {
    guard to > from || clock > 0 else { return }
    finished.append(Stretch(from: from, to: to, clock: clock))
    clock = 0
  }

  private mutating func end(_ reason: PlayerEvent.End) {
    guard isOurs else { return }
    if reason == .eof {
      let end = [duration, sectionEnd].compactMap { $0 }.min() ?? position
      // The last position told lies up to 0.4 s × speed before the end.
      hasReachedEnd = clamped(position + ahead) >= end - 0.5 * max(1, speed)
      // An aim alone was not watched.
      if hasReachedEnd, !isAimed, isSettled { (position, ahead) = (max(position, end), 0) }
    }
    leave()
  }

  private mutating func leave() {
    breakOff()
    (isOurs, activeSince) = (false, nil)
  }

  private func clamped(_ seconds: Double) -> Double {
    max(0, min(seconds, duration ?? seconds, sectionEnd ?? seconds))
  }
}
