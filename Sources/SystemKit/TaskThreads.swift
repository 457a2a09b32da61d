import Dispatch
import Synchronization

/// Which threads tasks run on, and their sleep.
///
/// Swift's own pool is as wide as the machine has processors, and its sleepers are woken there. Whoever lets callers block a thread
/// of that pool until some work is done must have the work, its sleeps and the tasks it begins done elsewhere.
package enum TaskThreads {
  /// Where work of the current task runs, tasks that it begins by themselves included; `nil` for Swift's own pool.
  @TaskLocal package static var executor: (any TaskExecutor)?

  /// Sleeps as `Task.sleep(for:clock:)` does, woken without Swift's own pool where ``executor`` is set.
  package static func sleep(
    for duration: Duration, clock: some Clock<Duration> = .continuous
  ) async throws {
    guard executor != nil else { return try await Task.sleep(for: duration, clock: clock) }
    let alarm = Alarm()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { alarm.set($0, after: duration) }
    } onCancel: {
      alarm.cancel()
    }
  }
}

/// Wakes one sleeper, once: at its time or when its task is cancelled.
private final class Alarm: Sendable {
  private enum State {
    case unset
    case set(CheckedContinuation<Void, any Error>)
    case over
  }

  private static let queue = DispatchQueue(label: "kollus.alarms")
  private let state = Mutex(State.unset)

  func set(_ sleeper: CheckedContinuation<Void, any Error>, after duration: Duration) {
    let isSet = state.withLock { state in
      guard case .unset = state else { return false }
      state = .set(sleeper)
      return true
    }
    guard isSet else { return sleeper.resume(throwing: CancellationError()) }
    let (seconds, rest) = duration.components
    let time = DispatchTime.now() + .seconds(Int(clamping: seconds)) + .nanoseconds(Int(rest / 1_000_000_000))
    Self.queue.asyncAfter(deadline: time) { self.take()?.resume() }
  }

  func cancel() { take()?.resume(throwing: CancellationError()) }

  /// The sleeper, for the one who comes first.
  private func take() -> CheckedContinuation<Void, any Error>? {
    state.withLock { state in
      defer { state = .over }
      guard case .set(let sleeper) = state else { return nil }
      return sleeper
    }
  }
}
