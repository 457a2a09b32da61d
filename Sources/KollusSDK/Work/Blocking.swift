import Dispatch
import KollusCore
import Synchronization
import SystemKit

/// Runs the core's asynchronous work on threads of this library, so that a caller may wait for it.
///
/// The vendor's calls return when they are done. A caller that is itself a task blocks a thread of Swift's small pool
/// meanwhile; the work must therefore not need one of those, nor one of Dispatch's, whose number is limited too.
final class WorkExecutor: TaskExecutor {
  static let shared = WorkExecutor()
  /// Work never waits for other work by blocking, so that a few are enough.
  private let threads = WorkerThreads(4)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Begins work that nobody waits for.
  @discardableResult
  static func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    TaskThreads.$executor.withValue(shared) { Task(executorPreference: shared) { await work() } }
  }

  /// Does the work and returns what came of it; every error is a ``KollusError``.
  static func wait<Result: Sendable>(
    _ work: @escaping @Sendable () async throws -> Result
  ) throws -> Result {
    let outcome = Outcome<Result>()
    start {
      do {
        outcome.set(.success(try await work()))
      } catch {
        outcome.set(.failure(KollusError(any: error)))
      }
    }
    return try outcome.wait()
  }
}

/// What one piece of work comes to, for one who waits.
private final class Outcome<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, KollusError>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  func set(_ value: Result<Value, KollusError>) {
    result.withLock { $0 = value }
    done.signal()
  }

  func wait() throws -> Value {
    done.wait()
    guard let result = result.withLock({ $0 }) else {
      throw KollusError(CoreError(.internalFailure, "work ended without a result"))
    }
    return try result.get()
  }
}
