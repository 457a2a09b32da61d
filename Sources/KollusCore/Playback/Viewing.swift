import Synchronization

/// A player's events and the meter they feed.
///
/// Every event enters the meter on the thread and at the time it comes, so nothing is lost and nothing
/// piles up, however late somebody looks. Those that have to be acted upon are also a stream.
package final class Viewing: Sendable {
  /// All events but the frequent ones, to the last; when nobody reads, the newest 1,000 are kept.
  package let news: AsyncStream<PlayerEvent>
  private let meter: Mutex<ViewingMeter>
  private let yield: AsyncStream<PlayerEvent>.Continuation
  private let now: @Sendable () -> Double

  /// - Parameters:
  ///   - policy: Tells where the section ends that is played.
  ///   - now: Seconds of a clock that stands still while the machine sleeps.
  package init(_ policy: PlayPolicy = PlayPolicy(), now: @escaping @Sendable () -> Double = suspendingSeconds)
  {
    meter = Mutex(ViewingMeter(sectionEnd: policy.section?.upperBound))
    (news, yield) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1_000))
    self.now = now
  }

  /// Takes a player's events: the observer to start it with.
  package func take(_ event: PlayerEvent) {
    meter.withLock { $0.take(event, at: now()) }
    if !event.isFrequent { yield.yield(event) }
    if case .exited = event { yield.finish() }
  }

  /// Reads or empties the meter; `now` is the time to do it at.
  package func withMeter<Result: Sendable>(
    _ body: (inout ViewingMeter, _ now: Double) -> sending Result
  ) -> Result {
    meter.withLock { body(&$0, now()) }
  }
}

/// Seconds of the clock that a machine's sleep stops.
@Sendable package func suspendingSeconds() -> Double {
  origin.duration(to: .now) / .seconds(1)
}

private let origin = SuspendingClock.now
