import Dispatch
import Synchronization

/// Calls an application's delegates one after the other, on a queue of its choice.
final class DelegateCalls: Sendable {
  private struct Queues {
    var chosen: DispatchQueue
    /// One call at a time, whatever the chosen queue is like.
    var serial: DispatchQueue

    init(_ chosen: DispatchQueue) {
      self.chosen = chosen
      serial = DispatchQueue(label: "kollus.sdk.calls", target: chosen)
    }
  }

  private let queues: Mutex<Queues>

  init(label: String) { queues = Mutex(Queues(DispatchQueue(label: label))) }

  var queue: DispatchQueue {
    get { queues.withLock { $0.chosen } }
    set { queues.withLock { $0 = Queues(newValue) } }
  }

  /// Calls later, after all calls that were asked for before; never from here.
  func perform(_ call: @escaping @Sendable () -> Void) { queues.withLock { $0.serial }.async { call() } }
}
