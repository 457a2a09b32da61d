import Testing

@testable import KollusCore

@Suite struct ReportPolicyTests {
  typealias Event = ReportPolicy.Event
  typealias Status = LMSReport.PlayStatus

  /// What comes of events at their times, with a period of 60 s; `nil` where no report is due.
  private func walk(_ events: [(Event, Double)]) -> [Status?] {
    var policy = ReportPolicy(period: 60)
    return events.map { policy.take($0.0, at: $0.1) }
  }

  @Test func `play, pause, resume and stop report at once`() {
    #expect(
      walk([(.began, 5), (.paused, 6), (.resumed, 7), (.stopped, 8)]) == [.play, .pause, .play, .stop])
  }

  @Test func `while playing a report is due every period`() {
    #expect(
      walk([
        (.began, 100), (.tick, 100), (.tick, 159.9), (.tick, 160), (.tick, 160.1), (.tick, 219), (.tick, 221),
        (.tick, 279), (.tick, 280),
      ]) == [.play, nil, nil, .play, nil, nil, .play, nil, .play])
  }

  @Test func `while paused none is due, and the period begins anew after it`() {
    #expect(
      walk([
        (.began, 0), (.paused, 50), (.tick, 60), (.tick, 1_000), (.resumed, 1_010), (.tick, 1_020),
        (.tick, 1_069), (.tick, 1_070), (.stopped, 1_071),
      ]) == [.play, .pause, nil, nil, .play, nil, nil, .play, .stop])
  }

  @Test func `a late tick stands for all that were missed`() {
    #expect(
      walk([(.began, 0), (.tick, 1_000), (.tick, 1_001), (.tick, 1_059), (.tick, 1_060)])
        == [.play, .play, nil, nil, .play])
  }

  @Test func `nothing played, nothing to report`() {
    #expect(
      walk([(.tick, 100), (.paused, 101), (.resumed, 102), (.stopped, 103), (.began, 104), (.tick, 900)])
        == [nil, nil, nil, nil, nil, nil])
  }

  @Test func `what changes nothing gives no report`() {
    #expect(
      walk([
        (.began, 0), (.began, 1), (.resumed, 2), (.paused, 3), (.paused, 4), (.began, 5), (.resumed, 6),
        (.stopped, 7), (.stopped, 8), (.began, 9), (.resumed, 10), (.paused, 11), (.tick, 500),
      ]) == [.play, nil, nil, .pause, nil, nil, .play, .stop, nil, nil, nil, nil, nil])
  }

  @Test func `a paused session stops with a report`() {
    #expect(walk([(.began, 0), (.paused, 1), (.stopped, 2)]) == [.play, .pause, .stop])
  }

  @Test(arguments: [(Status.play, false), (.pause, false), (.stop, true)])
  func `only a stop is final`(_ status: Status, _ isFinal: Bool) {
    #expect(status.isFinal == isFinal)
  }

  @Test func `it says when the next one is due`() {
    var policy = ReportPolicy(period: 30)
    var due: [Double?] = [policy.nextDue]
    for (event, time) in [
      (Event.began, 1.0), (.tick, 20), (.tick, 32), (.paused, 33), (.resumed, 40), (.stopped, 41),
    ] {
      _ = policy.take(event, at: time)
      due.append(policy.nextDue)
    }
    #expect(due == [nil, 31, 31, 61, nil, 70, nil])
  }

  @Test(arguments: [(Int.min, 1.0), (0, 1), (1, 1), (60, 60), (86_400, 86_400), (.max, 86_400)])
  func `the period has bounds`(_ asked: Int, _ period: Double) {
    #expect(ReportPolicy(period: asked).period == period)
  }

  /// The rules said again: a walk through every event in every order of five.
  @Test func `any order of events keeps the rules`() {
    let events = Event.allCases
    for number in 0..<3_125 {
      var policy = ReportPolicy(period: 10)
      var (digits, now, last) = (number, 0.0, 0.0)
      var (hasBegun, isPaused, isOver) = (false, false, false)
      for _ in 0..<5 {
        let event = events[digits % 5]
        digits /= 5
        now += 7
        var expected: Status?
        if !isOver {
          switch event {
          case .began: if !hasBegun { (expected, hasBegun) = (.play, true) }
          case .tick: if hasBegun, !isPaused, now - last >= 10 { expected = .play }
          case .paused: if hasBegun, !isPaused { (expected, isPaused) = (.pause, true) }
          case .resumed: if hasBegun, isPaused { (expected, isPaused) = (.play, false) }
          case .stopped: (expected, isOver) = (hasBegun ? .stop : nil, true)
          }
        }
        let given = policy.take(event, at: now)
        #expect(given == expected)
        // A periodic report keeps to the grid of its period, not to when it was asked for.
        if event == .tick, expected != nil {
          last = last + 20 > now ? last + 10 : now
        } else if expected != nil {
          last = now
        }
      }
    }
  }
}
