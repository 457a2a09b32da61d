import Foundation
import KollusTestSupport
import Testing

/// A server that errs at random: whatever it does, no run may end well with wrong bytes or lose a sound home.
///
/// `KOLLUS_CHAOS` asks for more seeds.
@Suite(.serialized, .temporaryDirectory) struct ChaosTests {
  static let seeds = ProcessInfo.processInfo.environment["KOLLUS_CHAOS"].flatMap { Int($0) } ?? 6

  @Test(.timeLimit(.minutes(2)), arguments: 0..<seeds)
  func `twenty faults in any order leave the right bytes or an honest failure`(_ seed: Int) async throws {
    let digests = Digests.allCases[seed % Digests.allCases.count]
    let bench = try FaultBench(digests, ["timeout": "\"1s\"", "retries": "3"])
    let whole = Answer(200, bench.content.bytes[...], type: "video/mp4").with("ETag", "\"v1\"")
    bench.spoil { request, sound in
      guard request.earlier < 20 else { return sound }
      var random = SplitMix(state: UInt64(seed) << 32 | UInt64(request.earlier))
      return ChaosTests.fault(of: sound, whole: whole, range: request.range, &random)
    }
    let run = try await bench.download()
    run.outcome.expect(0, 65, 69, 75)
    if run.outcome.status == 0 { try await bench.expectExported() } else { try await bench.expectNotReady() }
    try await bench.expectHealed()
  }

  private static func fault(
    of sound: Answer, whole: Answer, range: ServedRequest.ByteRange?, _ random: inout SplitMix
  ) -> Answer {
    let total = whole.body.count
    let wanted = range?.resolved(in: total) ?? 0..<total
    let some = Int.random(in: 0..<wanted.count, using: &random)
    return switch Int.random(in: 0..<12, using: &random) {
    case 0: sound.cut(after: some)
    case 1: sound.framed(.untilClose).cut(after: some)
    case 2: sound.framed(.chunked).cut(after: some)
    case 3: whole
    case 4: whole.cut(after: some)
    case 5: whole.part(wanted.lowerBound..<wanted.lowerBound + some + 1, of: total)
    case 6: whole.part(some..<min(total, some + wanted.count), of: total)
    case 7: Answer(503).retryAfter("0")
    case 8: Answer(500, text: "no").closing()
    case 9: sound.framed(.lying(wanted.count + 10)).cut(after: wanted.count)
    default: sound
    }
  }
}

/// Random numbers that repeat by seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
