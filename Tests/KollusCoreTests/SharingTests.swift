import KollusTestSupport
import Synchronization
import SystemKit
import Testing

@testable import KollusCore

@Suite struct SharingTests {
  @Test func `waits double with jitter, up to a minute`() {
    var patience = Patience(retries: 12)
    let waits = (0..<12).map { _ in patience.next(notBefore: nil, now: 0, jitter: 1) }
    let seconds = [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    #expect(waits == seconds.map { .milliseconds(Int64($0 * 1_000)) })
    #expect(patience.next(notBefore: nil, now: 0) == nil)
    patience.reset()
    #expect(patience.next(notBefore: nil, now: 0, jitter: 0.75) == .milliseconds(375))
  }

  @Test func `no retries is no wait`() {
    var patience = Patience(retries: 0)
    #expect(patience.next(notBefore: nil, now: 0) == nil)
  }

  @Test(arguments: [(1_003.0, 3_000), (1_119.5, 119_500), (1_120, 120_000), (900, 500), (1_000.1, 500)])
  func `a server's word is never undercut`(_ notBefore: Double, _ milliseconds: Int64) {
    var patience = Patience(retries: 3)
    #expect(patience.next(notBefore: notBefore, now: 1_000, jitter: 1) == .milliseconds(milliseconds))
  }

  @Test(arguments: [1_120.1, 1e12, .infinity]) func `a server that asks for too much ends the run`(
    _ notBefore: Double
  ) {
    var patience = Patience(retries: 3)
    #expect(patience.next(notBefore: notBefore, now: 1_000) == nil)
  }

  @Test func `a million failures are still a minute`() {
    var patience = Patience(retries: 2_000)
    for _ in 0..<1_999 { _ = patience.next(notBefore: nil, now: 0, jitter: 1) }
    #expect(patience.next(notBefore: nil, now: 0, jitter: 1.25) == .seconds(75))
  }

  @Test(arguments: [(500, "0.5 s"), (1_000, "1 s"), (1_250, "1.3 s"), (40, "0 s"), (75_000, "75 s")])
  func `a wait is told in seconds`(_ milliseconds: Int64, _ text: String) {
    #expect(Duration.milliseconds(milliseconds).secondsText == text)
  }

  @Test func `a pool gives what it has and wakes who went without`() throws {
    let wakes = KollusTestSupport.Protected(0)
    let pool = BufferPool(count: 2, segmentSize: 65_536, from: SpareBuffers()) { wakes.withLock { $0 += 1 } }
    let one = try #require(pool.take())
    #expect(one.capacity == 65_536 + 4_096)
    let two = try #require(pool.take())
    pool.giveBack(two)
    #expect(wakes.withLock { $0 } == 0)
    #expect(pool.isReady)
    two.count = 7
    #expect(pool.take()?.count == 0)
    #expect(pool.take() == nil)
    pool.giveBack(one)
    #expect(wakes.withLock { $0 } == 1)
    #expect(pool.isReady)
    _ = pool.take()
    #expect(!pool.isReady)
    pool.giveBack(one)
    #expect(wakes.withLock { $0 } == 2)
  }

  @Test func `buffers of a pool that is gone are used again`() throws {
    let spare = SpareBuffers()
    let first = try {
      let pool = BufferPool(count: 1, segmentSize: 65_536, from: spare) {}
      let buffer = try #require(pool.take())
      pool.giveBack(buffer)
      return buffer
    }()
    first.count = 5
    let pool = BufferPool(count: 1, segmentSize: 65_536, from: spare) {}
    let second = try #require(pool.take())
    #expect(second === first)
    #expect(second.count == 0)
    #expect(spare.take(4_096) !== first)
  }

  @Test(.timeLimit(.minutes(1))) func `a budget is never overdrawn, and everyone gets a turn`() async {
    let budget = Allotment(10)
    let used = KollusTestSupport.Protected((now: 0, most: 0, turns: 0))
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<50 {
        group.addTask {
          // More than everything is everything.
          let amount = index % 7 == 0 ? 1_000 : index % 10 + 1
          await budget.with(amount) {
            used.withLock {
              $0.now += min(10, amount)
              $0.most = max($0.most, $0.now)
              $0.turns += 1
            }
            await Task.yield()
            used.withLock { $0.now -= min(10, amount) }
          }
        }
      }
    }
    let result = used.withLock { $0 }
    #expect(result.now == 0)
    #expect(result.most <= 10)
    #expect(result.turns == 50)
  }

  @Test func `a body that throws gives back its share`() async throws {
    struct Failure: Error {}
    let budget = Allotment(1)
    await #expect(throws: Failure.self) { try await budget.with(1) { throw Failure() } }
    await budget.with(1) {}
  }

  @Test(.timeLimit(.minutes(1)), arguments: [(0, 3), (1, 3), (20, 1), (20, 3), (3, 20)])
  func `results come in the order of the items, few at once`(_ count: Int, _ limit: Int) async {
    let running = KollusTestSupport.Protected((now: 0, most: 0))
    let results = await mapConcurrently(Array(0..<count), limit: limit) { item in
      running.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      for _ in 0..<(20 - item) { await Task.yield() }
      running.withLock { $0.now -= 1 }
      return item * 2
    }
    #expect(results == (0..<count).map { $0 * 2 })
    #expect(running.withLock { $0.most } <= limit)
  }

  @Test(
    arguments: [
      (0, 0, false, 0), (0, 100, true, 100), (99, 100, false, 99), (100, 100, false, 99), (1, 3, false, 33),
      (-5, 100, false, 0), (200, 100, false, 99), (1, Int64.max, false, 0), (5, 0, false, 0),
    ] as [(Int64, Int64, Bool, Int)])
  func `only what is ready is at 100 percent`(
    _ part: Int64, _ whole: Int64, _ isDownloaded: Bool, _ percent: Int
  ) {
    let progress = ContentProgress(
      mediaContentKey: "", title: "", isDownloaded: isDownloaded, downloadSize: part, fileSize: whole)
    #expect(progress.percent == percent)
  }

  @Test func `sizes that cannot be are no trap`() async {
    await #expect(processExitsWith: .success) {
      _ =
        ContentProgress(
          mediaContentKey: "", title: "", isDownloaded: false, downloadSize: .max, fileSize: 1
        ).percent
    }
  }
}
