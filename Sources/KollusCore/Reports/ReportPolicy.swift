/// When a report is due (PROTO §3.2): at once on play, pause, resume and stop, and every period while playing.
///
/// It has no clock of its own: events come with seconds of a clock that never goes back. Each template has a
/// policy of its own, as each has its own period.
package struct ReportPolicy: Sendable, Equatable {
  /// What happens to a session.
  package enum Event: Sendable, CaseIterable {
    /// Playback really began.
    case began
    /// Time has passed.
    case tick
    case paused
    case resumed
    /// The session is over; nothing comes after it.
    case stopped
  }

  private enum State: Sendable { case idle, playing, paused, stopped }

  /// Seconds between reports while playing.
  package let period: Double
  private var state = State.idle
  /// When the next periodic report is due, on the clock of the events; `nil` while none is.
  package private(set) var nextDue: Double?

  /// A policy with a period in seconds, clamped to what a template may ask for.
  package init(period: Int) {
    let periods = LMSTemplate.periods
    self.period = Double(min(max(period, periods.lowerBound), periods.upperBound))
  }

  /// Takes one event in order; returns the status of the report that is due because of it.
  ///
  /// Events that change nothing, such as a second pause, and all before `began` are without a report.
  package mutating func take(_ event: Event, at now: Double) -> LMSReport.PlayStatus? {
    switch (state, event) {
    case (.idle, .began), (.paused, .resumed):
      (state, nextDue) = (.playing, now + period)
      return .play
    case (.playing, .tick):
      guard let due = nextDue, now >= due else { return nil }
      // One late report stands for all that were missed, on a machine that slept for example.
      nextDue = due + period > now ? due + period : now + period
      return .play
    case (.playing, .paused):
      (state, nextDue) = (.paused, nil)
      return .pause
    case (.playing, .stopped), (.paused, .stopped):
      (state, nextDue) = (.stopped, nil)
      return .stop
    case (.idle, .stopped):
      state = .stopped
      return nil
    default: return nil
    }
  }
}
