/// Smooths a growing count of bytes to bytes a second over the last few seconds.
///
/// It is fed with instants of any clock and knows no time of its own.
package struct RateMeter<Instant: InstantProtocol>: Sendable where Instant.Duration == Duration {
  private struct Sample: Sendable {
    var at: Instant
    var total: Int64
  }

  private let window: Duration
  private var samples: [Sample] = []
  private var latest: Sample?

  package init(window: Duration = .seconds(5)) { self.window = window }

  /// Takes the bytes done so far; fewer than before, or an earlier instant, is a new beginning.
  package mutating func record(_ total: Int64, at now: Instant) {
    let sample = Sample(at: now, total: total)
    if let latest, latest.total > total || latest.at > now { samples = [] }
    latest = sample
    // One sample for every fiftieth of the window is as fine as anybody can see.
    if let newest = samples.last, newest.at.duration(to: now) < window / 50 { return }
    let start = now.advanced(by: .zero - window)
    if let base = samples.lastIndex(where: { $0.at <= start }) { samples.removeFirst(base) }
    samples.append(sample)
  }

  /// Bytes a second at an instant, falling to zero while nothing comes; `nil` until there is enough to tell.
  package func bytesPerSecond(at now: Instant) -> Double? {
    let start = now.advanced(by: .zero - window)
    guard let latest, let base = samples.last(where: { $0.at <= start }) ?? samples.first else { return nil }
    let elapsed = base.at.duration(to: now)
    guard elapsed >= window / 25 else { return nil }
    return (Double(latest.total) - Double(base.total)) / (elapsed / .seconds(1))
  }
}
