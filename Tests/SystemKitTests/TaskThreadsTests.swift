import Dispatch
import SystemKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TaskThreadsTests {
  @Test(arguments: [true, false])
  func `a sleep takes its time, and ends at once when its task is cancelled`(_ hasThreads: Bool) async throws
  {
    let executor = hasThreads ? Elsewhere() : nil
    let begin = ContinuousClock.now
    try await TaskThreads.$executor.withValue(executor) {
      try await TaskThreads.sleep(for: .milliseconds(30))
      #expect(begin.duration(to: .now) >= .milliseconds(30))
      try await TaskThreads.sleep(for: .seconds(-1))
      let sleeper = Task { try await TaskThreads.sleep(for: .seconds(600)) }
      sleeper.cancel()
      await #expect(throws: CancellationError.self) { try await sleeper.value }
      // Cancelled before it begins.
      let late = Task {
        withUnsafeCurrentTask { unsafe $0?.cancel() }
        try await TaskThreads.sleep(for: .seconds(600))
      }
      await #expect(throws: CancellationError.self) { try await late.value }
    }
    #expect(begin.duration(to: .now) < .seconds(50))
  }

  @Test func `sleeps and tasks need no thread of Swift's own pool`() async {
    let executor = Elsewhere()
    let done = DispatchSemaphore(value: 0)
    // As many as the pool can have at most; each waits for the work below.
    await withTaskGroup { group in
      TaskThreads.$executor.withValue(executor) {
        _ = Task(executorPreference: executor) {
          try await TaskThreads.sleep(for: .milliseconds(20))
          await Task(executorPreference: TaskThreads.executor) {}.value
          for _ in 0..<64 { done.signal() }
        }
      }
      for _ in 0..<64 { group.addTask { Self.isSignaled(done) } }
      for await isDone in group { #expect(isDone) }
    }
  }

  private static func isSignaled(_ done: DispatchSemaphore) -> Bool {
    done.wait(timeout: .now() + 30) == .success
  }
}

/// Runs tasks on threads of its own.
private final class Elsewhere: TaskExecutor {
  private let threads = WorkerThreads(2)

  deinit { threads.close() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
