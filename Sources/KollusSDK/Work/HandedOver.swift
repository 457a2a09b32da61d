import Synchronization

/// A value that one taker gets, so that nobody else keeps it alive.
final class HandedOver<Value: Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: Value) { self.value = Mutex(value) }

  /// The value, the first time; `nil` afterwards.
  func take() -> Value? { value.withLock { $0.take() } }
}
