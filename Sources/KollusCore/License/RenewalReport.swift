/// Counts what is done and tells it, one at a time.
final class RenewalReport: Sendable {
  private let state = Protected((count: 0, current: 0, failures: 0))
  private let sink: any EventSink
  private let settled: @Sendable (RenewalOutcome) -> Void

  init(sink: any EventSink, settled: @escaping @Sendable (RenewalOutcome) -> Void) {
    (self.sink, self.settled) = (sink, settled)
  }

  var failures: Int { state.withLock { $0.failures } }

  /// How many there will be in all.
  func expect(_ count: Int) { state.withLock { $0.count = max($0.count, count) } }

  func tell(_ outcome: RenewalOutcome) {
    // Under the lock, so that the numbers come in their order; sinks are quick.
    state.withLock { state in
      state.current += 1
      // What was deleted is not left to be done.
      if let error = outcome.error, error.code != Int(Licence.Cause.deletion.rawValue) { state.failures += 1 }
      sink.emit(
        .drmUpdate(
          cur: state.current, count: state.count, mediaContentKey: outcome.mediaContentKey,
          error: outcome.error))
      settled(outcome)
    }
  }
}
