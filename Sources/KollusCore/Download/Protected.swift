import Synchronization

/// A `Mutex` that closures can share: `Mutex` itself is non-copyable, so a task may not capture it.
final class Protected<Value>: Sendable {
  private let mutex: Mutex<Value>

  init(_ value: consuming sending Value) { mutex = Mutex(value) }

  func withLock<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result {
    mutex.withLock(body)
  }
}
