import CurlKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// What may be joined where no digest tells one object from another.
@Suite struct FetchStrangerTests {
  private func source(_ mirror: Int, _ tag: String?) throws -> SegmentSource {
    try SegmentSource(CoreStage.address("https://h\(mirror)/x"), validator: tag.map { .entityTag($0) })
  }

  @Test func `a resumed download names the validator where it came from`() throws {
    let stage = try FetchStage(digests: false, done: [0], source: source(1, "\"v\""))
    let errand = try stage.errand()
    #expect(errand.mirror == 1)
    #expect(errand.validator == .entityTag("\"v\""))
    #expect(stage.fetch.accept(errand, validator: .entityTag("\"v\""), isPlain: false))
    // A 206 need not repeat it.
    #expect(stage.fetch.accept(errand, validator: nil, isPlain: false))
    #expect(stage.verdict == "none")
  }

  @Test(arguments: [nil, "\"w\""]) func `another validator, or none, does not join what is stored`(
    _ tag: String?
  ) throws {
    let stage = try FetchStage(mirrors: 1, digests: false, done: [0], source: source(9, "\"v\""))
    let errand = try stage.errand()
    #expect(!stage.fetch.accept(errand, validator: tag.map { .entityTag($0) }, isPlain: false))
    #expect(stage.verdict == "startOver")
  }

  @Test func `without any validator one plain answer brings everything`() throws {
    let stage = try FetchStage(digests: false)
    let errand = try stage.errand()
    #expect(!stage.fetch.accept(errand, validator: nil, isPlain: false))
    #expect(stage.verdict == "none")
    stage.fetch.end(errand, partial: nil)
    let whole = try stage.errand()
    #expect(whole.isWhole)
    #expect(stage.fetch.accept(whole, validator: nil, isPlain: true))
    // A second answer may be another object than what the first one brought.
    #expect(stage.fetch.claim(0))
    stage.bring([0])
    stage.fetch.end(whole, partial: nil)
    #expect(!stage.fetch.accept(try stage.errand(), validator: nil, isPlain: true))
    #expect(stage.verdict == "startOver")
  }

  @Test func `another server with the same validator must prove itself by a stored segment`() throws {
    let stage = try FetchStage(mirrors: 1, digests: false, done: [3], source: source(9, "\"v\""), proof: 3)
    let errand = try stage.errand()
    #expect(stage.fetch.expected(3) == FetchStage.digest(3))
    #expect(stage.fetch.accept(errand, validator: .entityTag("\"v\""), isPlain: false))
    #expect(stage.fetch.isWanted(3))
    #expect(stage.fetch.claim(3))
    #expect(stage.fetch.arrived(3))
    stage.fetch.mismatched(3, errand)
    #expect(stage.verdict == "startOver")
  }

  @Test func `the proof stays wanted while other segments arrive`() throws {
    let stage = try FetchStage(mirrors: 1, digests: false, done: [3], source: source(9, "\"v\""), proof: 3)
    let errand = try stage.errand()
    #expect(stage.fetch.accept(errand, validator: .entityTag("\"v\""), isPlain: false))
    #expect(errand.segments.lowerBound == 0)
    stage.bring([0])
    // Segment 0 came from the server that has yet to prove itself; segment 3 is what it is judged by.
    #expect(stage.fetch.expected(3) == FetchStage.digest(3))
  }

  @Test func `a segment on its way to the disk is not joined by another object`() throws {
    let stage = try FetchStage(digests: false, connections: 1)
    let first = try stage.errand()
    #expect(stage.fetch.accept(first, validator: .entityTag("\"v\""), isPlain: false))
    #expect(stage.fetch.arrived(0))
    stage.fail(first, .transient(FetchStage.error, retryAfter: nil))
    let second = try stage.errand()
    #expect(second.mirror == 1)
    let isAccepted = stage.fetch.accept(second, validator: .entityTag("\"w\""), isPlain: false)
    stage.fetch.sealed(0, digest: FetchStage.digest(0))
    #expect(!(isAccepted && stage.fetch.scan.done[0]))
  }

  @Test func `a transfer that goes on is not joined by another object`() throws {
    let stage = try FetchStage(digests: false, connections: 2)
    let first = try stage.errand()
    #expect(stage.fetch.accept(first, validator: .entityTag("\"v\""), isPlain: false))
    let beside = try stage.errand()
    #expect(stage.fetch.accept(beside, validator: .entityTag("\"v\""), isPlain: false))
    stage.fail(first, .transient(FetchStage.error, retryAfter: nil))
    let second = try stage.errand()
    let isAccepted = stage.fetch.accept(second, validator: .entityTag("\"w\""), isPlain: false)
    // The transfer beside it still brings the first object.
    stage.bring([beside.segments.lowerBound])
    #expect(!(isAccepted && stage.fetch.scan.done[beside.segments.lowerBound]))
  }

  @Test func `bytes of one object stay with its mirror while there are tries`() throws {
    let stage = try FetchStage(digests: false, connections: 1, retries: 1)
    let first = try stage.errand()
    #expect(stage.fetch.accept(first, validator: .entityTag("\"v\""), isPlain: false))
    stage.bring([0])
    stage.fail(first, .transient(FetchStage.error, retryAfter: nil))
    #expect(stage.wait() != nil)
    let second = try stage.errand(now: 100)
    #expect(second.mirror == 0)
    stage.fail(second, .transient(FetchStage.error, retryAfter: nil), now: 100)
    // The tries are used up: better begin anew elsewhere than not at all.
    #expect(try stage.errand(now: 200).mirror == 1)
  }
}
