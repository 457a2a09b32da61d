import Dispatch
import Synchronization

/// Calls an application's delegates one after the other, on a queue of its choice.
final class DelegateCalls: Sendable {
  private struct State {
    var chosen: DispatchQueue
    /// One call at a time, whatever the chosen queue is like.
    var serial: DispatchQueue
    /// Calls that were asked for and are not over.
    var open = 0

    mutating func choose(_ queue: DispatchQueue) {
      let before = serial
      (chosen, serial) = (queue, DispatchQueue(label: "kollus.sdk.calls", target: queue))
      guard open > 0 else { return }
      // What was asked for before is over first.
      let next = serial
      next.suspend()
      before.async { next.resume() }
    }
  }

  private let state: Mutex<State>

  init(label: String) {
    let queue = DispatchQueue(label: label)
    state = Mutex(State(chosen: queue, serial: DispatchQueue(label: "kollus.sdk.calls", target: queue)))
  }

  var queue: DispatchQueue {
    get { state.withLock { $0.chosen } }
    set { state.withLock { $0.choose(newValue) } }
  }

  /// Calls later, after all calls that were asked for before; never from here.
  func perform(_ call: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.open += 1
      // Under the lock, so that no other queue comes in between.
      state.serial.async { [self] in
        call()
        self.state.withLock { $0.open -= 1 }
      }
    }
  }
}
