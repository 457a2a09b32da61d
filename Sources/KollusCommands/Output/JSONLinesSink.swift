import KollusCore
import Synchronization

/// Prints every event as one JSON object a line (design §8).
final class JSONLinesSink: EventSink {
  private let sequence = Mutex<Int64>(0)
  private let now: @Sendable () -> Double
  private let print: @Sendable (String) -> Void

  init(now: @escaping @Sendable () -> Double, print: @escaping @Sendable (String) -> Void) {
    (self.now, self.print) = (now, print)
  }

  func emit(_ event: Event) {
    // The line is printed under the lock, so that lines come in the order of their numbers.
    sequence.withLock { sequence in
      sequence += 1
      print(event.line(sequence: sequence, at: now()) + "\n")
    }
  }
}
