import CurlKit
import KollusTestSupport
import Testing

@testable import KollusCore

@Suite struct FetchStateTests {
  @Test func `all segments are given out once and the fetch ends`() throws {
    let stage = try FetchStage(connections: 2)
    var seen: [Int] = []
    while !stage.fetch.isComplete, seen.count < 100 {
      let errand = try stage.errand()
      #expect(stage.fetch.accept(errand, validator: nil, isPlain: false))
      seen += errand.segments
      stage.bring(errand.segments)
      stage.fetch.end(errand, partial: nil)
    }
    #expect(seen == Array(0..<8))
    #expect(stage.isAtEnd)
    #expect(stage.fetch.progress == 8 * 65_536)
    #expect(stage.verdict == "none")
  }

  @Test func `progress never falls and counts a segment once`() throws {
    let stage = try FetchStage(done: [0, 1], progress: 131_072)
    let errand = try stage.errand()
    stage.bring([2, 2])
    #expect(stage.fetch.progress == 196_608)
    #expect(stage.fetch.arrived(3) == false)
    stage.fetch.end(errand, partial: nil)
    let told = stage.news.withLock {
      $0.compactMap { if case .progress(let size) = $0 { size } else { nil } }
    }
    #expect(told == [196_608])
  }

  @Test func `what a transfer did not bring is given out again`() throws {
    let stage = try FetchStage(mirrors: 1, connections: 1)
    let errand = try stage.errand()
    #expect(errand.segments == 0..<4)
    stage.bring([0])
    stage.fail(errand, .transient(FetchStage.error, retryAfter: nil))
    #expect(try stage.errand(now: 100).segments.lowerBound == 1)
  }

  @Test func `a refused mirror is left for good, the last one asks for the manifest`() throws {
    let stage = try FetchStage()
    let first = try stage.errand()
    #expect(first.mirror == 0)
    stage.fail(first, .denied(FetchStage.refused))
    let second = try stage.errand()
    #expect(second.mirror == 1)
    #expect(stage.verdict == "none")
    stage.fail(second, .foreign(FetchStage.refused))
    #expect(stage.verdict == "unusable")
    #expect(stage.isAtEnd)
  }

  @Test func `failures of transfers that began together count once`() throws {
    let stage = try FetchStage(mirrors: 1, retries: 1)
    let errands = try (0..<4).map { _ in try stage.errand() }
    for errand in errands { stage.fail(errand, .transient(FetchStage.error, retryAfter: nil)) }
    #expect(stage.verdict == "none")
    stage.fail(try stage.errand(now: 100), .transient(FetchStage.error, retryAfter: nil), now: 100)
    #expect(stage.verdict == "fail")
  }

  @Test func `a mirror that fails is passed over, and come back to after a wait`() throws {
    let stage = try FetchStage(mirrors: 3, retries: 1)
    var mirrors: [Int] = []
    for _ in 0..<3 {
      let errand = try stage.errand()
      mirrors.append(errand.mirror)
      stage.fail(errand, .transient(FetchStage.error, retryAfter: nil))
    }
    #expect(mirrors == [0, 1, 2])
    // All were tried: now time must pass.
    #expect(try #require(stage.wait()) >= .milliseconds(300))
    #expect(stage.verdict == "none")
    _ = try stage.errand(now: 100)
  }

  @Test func `progress earns the tries back`() throws {
    let stage = try FetchStage(mirrors: 1, connections: 4, retries: 1)
    for round in 0..<6 {
      let errand = try stage.errand(now: Double(round) * 1_000)
      stage.bring([errand.segments.lowerBound])
      stage.fail(errand, .transient(FetchStage.error, retryAfter: nil), now: Double(round) * 1_000)
    }
    #expect(stage.verdict == "none")
  }

  @Test func `Retry-After is waited for`() throws {
    let stage = try FetchStage(mirrors: 1)
    stage.fail(try stage.errand(now: 1_000), .transient(FetchStage.error, retryAfter: 1_003), now: 1_000)
    #expect(try #require(stage.wait(now: 1_000)) >= .seconds(3))
    #expect(stage.wait(now: 1_002.9) != nil)
    _ = try stage.errand(now: 1_003.1)
  }

  @Test func `a server that asks for more than two minutes ends the run with its time`() throws {
    let stage = try FetchStage(mirrors: 1)
    stage.fail(try stage.errand(now: 1_000), .transient(FetchStage.error, retryAfter: 1_121), now: 1_000)
    #expect(stage.verdict == "fail until 1121")
  }

  @Test func `while one mirror asks for patience another is asked`() throws {
    let stage = try FetchStage()
    stage.fail(try stage.errand(now: 1_000), .transient(FetchStage.error, retryAfter: 9_000), now: 1_000)
    let other = try stage.errand(now: 1_000)
    #expect(other.mirror == 1)
    stage.fail(other, .transient(FetchStage.error, retryAfter: nil), now: 1_000)
    // The patient one is not called before its time.
    #expect(stage.wait(now: 1_000) != nil)
    #expect(try stage.errand(now: 1_100).mirror == 1)
  }

  @Test func `a server without ranges is asked once for everything`() throws {
    let stage = try FetchStage(mirrors: 1, done: [0, 1])
    let errand = try stage.errand()
    stage.fail(errand, .noRanges)
    let whole = try stage.errand()
    #expect(whole.isWhole)
    #expect(whole.segments == 0..<8)
    #expect(stage.isAtEnd)
    #expect(!stage.fetch.claim(0))
    #expect(stage.fetch.isWanted(2))
    #expect(stage.fetch.claim(2))
    #expect(!stage.fetch.claim(2))
    // What it was in the middle of is wanted again, by the next one.
    stage.fetch.end(whole, partial: 2)
    #expect(stage.fetch.isWanted(2))
    #expect(try stage.errand().isWhole)
    stage.fail(whole, .noRanges)
    #expect(stage.verdict == "unusable")
  }

  @Test func `a plain request's end leaves the claims of others`() throws {
    let stage = try FetchStage(connections: 4)
    let ranged = try stage.errand()
    let other = try stage.errand()
    stage.fail(ranged, .noRanges)
    let whole = try stage.errand()
    #expect(whole.isWhole)
    stage.fetch.end(whole, partial: nil)
    #expect(!stage.fetch.isWanted(other.segments.lowerBound))
  }

  @Test func `a redirect is followed until it fails, and not for ever`() throws {
    let stage = try FetchStage(mirrors: 1, connections: 1)
    let target = try CoreStage.address("https://t/x")
    stage.fail(try stage.errand(), .redirect(target))
    #expect(try stage.errand().address == target)
    var rounds = 0
    while stage.verdict == "none", rounds < 100 {
      rounds += 1
      let errand = try stage.errand()
      stage.fail(errand, .redirect(try CoreStage.address("https://t/\(rounds)")))
    }
    #expect(stage.verdict == "unusable")
    #expect(rounds < 10)
  }

  @Test func `a failed redirect target is left for the address itself`() throws {
    let stage = try FetchStage(mirrors: 1)
    stage.fail(try stage.errand(), .redirect(try CoreStage.address("https://t/x")))
    stage.fail(try stage.errand(), .transient(FetchStage.error, retryAfter: nil))
    #expect(try stage.errand(now: 100).address.text == "https://h0/x")
  }

  @Test func `a changed object, and what is fatal, end the round at once`() throws {
    let changed = try FetchStage()
    changed.fail(try changed.errand(), .changed(FetchStage.refused))
    #expect(changed.verdict == "changed")
    let fatal = try FetchStage()
    fatal.fail(try fatal.errand(), .fatal(FetchStage.refused))
    #expect(fatal.verdict == "fail")
    // The first verdict stays.
    fatal.fail(try changedErrand(), .changed(FetchStage.refused))
    #expect(fatal.verdict == "fail")
  }

  private func changedErrand() throws -> FetchState.Errand { try FetchStage().errand() }

  @Test func `a segment that cannot be stored fails with its own error`() async throws {
    let stage = try FetchStage()
    _ = try stage.errand()
    #expect(stage.fetch.arrived(0))
    stage.fetch.notStored(0, KollusError(.noSpace, "full"))
    await stage.fetch.settle()
    #expect(stage.verdict == "fail")
    #expect(!stage.fetch.scan.done[0])
  }

  @Test(.timeLimit(.minutes(1))) func `settling waits for what is on its way to the disk`() async throws {
    let stage = try FetchStage(connections: 1)
    _ = try stage.errand()
    #expect(stage.fetch.arrived(0))
    #expect(stage.fetch.arrived(1))
    let isSettled = KollusTestSupport.Protected(false)
    let task = Task {
      await stage.fetch.settle()
      isSettled.withLock { $0 = true }
    }
    stage.fetch.sealed(0, digest: FetchStage.digest(0))
    await Task.yield()
    #expect(!isSettled.withLock { $0 })
    stage.fetch.sealed(1, digest: FetchStage.digest(1))
    await task.value
    await stage.fetch.settle()
  }

  // MARK: Wrong bytes

  @Test func `wrong bytes once are fetched again, twice are the mirror's fault`() throws {
    let stage = try FetchStage()
    let errand = try stage.errand()
    #expect(stage.fetch.expected(0) == FetchStage.digest(0))
    #expect(stage.fetch.arrived(0))
    stage.fetch.mismatched(0, errand)
    #expect(stage.fetch.isWanted(0))
    #expect(try stage.errand().mirror == 0)
    #expect(stage.fetch.arrived(0))
    stage.fetch.mismatched(0, errand)
    #expect(stage.verdict == "none")
    #expect(try stage.errand().mirror == 1)
  }

  @Test func `right bytes after wrong ones forgive`() throws {
    let stage = try FetchStage(mirrors: 1)
    let errand = try stage.errand()
    #expect(stage.fetch.arrived(0))
    stage.fetch.mismatched(0, errand)
    #expect(stage.fetch.claim(0))
    stage.bring([0])
    #expect(stage.fetch.scan.done[0])
    #expect(stage.verdict == "none")
  }
}
