import Dispatch
import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite struct WorkerThreadsTests {
  @Test(.timeLimit(.minutes(1))) func `one thread keeps the order`() async {
    let threads = WorkerThreads(1)
    defer { threads.close() }
    let seen = Protected<[Int]>([])
    for index in 0..<1_000 { threads.run { seen.withLock { $0.append(index) } } }
    #expect(await eventually { seen.withLock { $0.count } == 1_000 })
    #expect(seen.withLock { $0 } == Array(0..<1_000))
  }

  @Test(.timeLimit(.minutes(1))) func `several threads work at once`() async {
    let threads = WorkerThreads(3)
    defer { threads.close() }
    let meeting = DispatchGroup()
    let done = Protected(0)
    for _ in 0..<3 { meeting.enter() }
    for _ in 0..<3 {
      threads.run {
        // Each waits for the others: with fewer threads than three nobody would get through.
        meeting.leave()
        if meeting.wait(timeout: .now() + 10) == .success { done.withLock { $0 += 1 } }
      }
    }
    #expect(await eventually { done.withLock { $0 } == 3 })
  }

  @Test(.timeLimit(.minutes(1))) func `jobs given before the close are done`() async {
    let threads = WorkerThreads(2)
    let done = Protected(0)
    for _ in 0..<100 { threads.run { done.withLock { $0 += 1 } } }
    threads.close()
    #expect(await eventually { done.withLock { $0 } == 100 })
  }

  @Test func `a job after the close runs at once on the caller's thread`() {
    let threads = WorkerThreads(1)
    threads.close()
    threads.close()
    let caller = pthread_self()
    let ran = Protected(false)
    threads.run { ran.withLock { $0 = pthread_equal(pthread_self(), caller) != 0 } }
    #expect(ran.withLock { $0 })
  }

  @Test(.timeLimit(.minutes(1))) func `a pool that was closed is freed`() async {
    let pool = Self.usedAndClosed()
    #expect(await eventually { pool.value == nil })
  }

  private static func usedAndClosed() -> WeakReference {
    let threads = WorkerThreads(2)
    threads.run {}
    threads.close()
    return WeakReference(threads)
  }
}

/// Lets a closure look at an object without keeping it.
final class WeakReference: Sendable {
  private weak let object: WorkerThreads?

  init(_ object: WorkerThreads?) { self.object = object }

  var value: WorkerThreads? { object }
}
