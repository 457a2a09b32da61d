import Dispatch
import Glibc
import Synchronization

/// Turns SIGINT and SIGTERM into a call, instead of the process's end, while it lives.
///
/// Invariant behind `@unchecked Sendable`: the sources are set once and only cancelled, which any thread may do.
@safe package final class SignalWatch: @unchecked Sendable {
  private let sources: [any DispatchSourceSignal]

  /// Calls `handler` with the signal's number, on a queue of its own, when the first one arrives.
  ///
  /// A second one ends the process at once, as someone who waits in vain expects.
  package init(_ signals: [Int32] = [SIGINT, SIGTERM], handler: @escaping @Sendable (Int32) -> Void) {
    let queue = DispatchQueue(label: "kollus.signals")
    let count = SignalCount()
    sources = signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        guard count.isFirst() else { _exit(128 + number) }
        handler(number)
      }
      source.resume()
      return source
    }
  }

  deinit { for source in sources { source.cancel() } }
}

private final class SignalCount: Sendable {
  private let count = Atomic(0)
  func isFirst() -> Bool { count.wrappingAdd(1, ordering: .relaxed).oldValue == 0 }
}
