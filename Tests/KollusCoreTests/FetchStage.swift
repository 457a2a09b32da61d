import CurlKit
import KollusTestSupport
import SealKit
import Testing

@testable import KollusCore

/// A fetch of eight segments from given mirrors, without any network.
struct FetchStage {
  let fetch: FetchState
  let news = KollusTestSupport.Protected<[FetchNews]>([])

  init(
    mirrors: Int = 2, digests: Bool = true, done: Set<Int> = [], source: SegmentSource? = nil,
    proof: Int? = nil,
    connections: Int = 4, retries: Int = 2, progress: Int64 = 0, preferring: Int? = nil
  ) throws {
    let size: Int64 = 8 * 65_536
    let addresses = try (0..<mirrors).map { try CoreStage.address("https://h\($0)/x") }
    let media = Manifest.Media(
      type: "video/mp4", size: size, addresses: addresses, segmentSize: 65_536,
      segments: digests ? (0..<8).map(Self.digest) : [])
    var settings = Settings()
    (settings.connections, settings.retries) = (connections, retries)
    var scan = SegmentScan.empty(count: 8)
    for index in done { scan.done[index] = true }
    scan.source = source
    scan.lastDigest = proof.map { ($0, Self.digest($0)) }
    fetch = FetchState(
      layout: SealedLayout(descriptionLength: 100, segmentSize: 65_536, size: size), media: media, scan: scan,
      settings: settings, progress: progress, preferring: preferring.map { addresses[$0] },
      told: { [news] told in news.withLock { $0.append(told) } })
  }

  static func digest(_ index: Int) -> Digest { SHA256.hash([UInt8(index)]) }

  func errand(now: Double = 0) throws -> FetchState.Errand {
    guard case .errand(let errand) = fetch.next(holding: nil, now: now) else {
      return try #require(nil, "no errand")
    }
    return errand
  }

  func wait(now: Double = 0) -> Duration? {
    if case .wait(let wait) = fetch.next(holding: nil, now: now) { wait } else { nil }
  }

  var isAtEnd: Bool { if case .end = fetch.next(holding: nil, now: 1e12) { true } else { false } }

  /// Brings segments as a transfer would.
  func bring(_ segments: some Sequence<Int>) {
    for index in segments where fetch.arrived(index) { fetch.sealed(index, digest: Self.digest(index)) }
  }

  func fail(_ errand: FetchState.Errand, _ failure: TransferFailure, now: Double = 0) {
    fetch.end(errand, partial: nil)
    fetch.failed(errand, failure, now: now)
  }

  static let error = KollusError(.tryLater, code: -8_028, "no answer")
  static let refused = KollusError(.refused, code: -8_403, "no")

  /// The verdict as a word.
  var verdict: String {
    switch fetch.verdict {
    case nil: "none"
    case .resolve(.changed, _): "changed"
    case .resolve(.unusable, _): "unusable"
    case .startOver: "startOver"
    case .fail(_, let notBefore): notBefore == 0 ? "fail" : "fail until \(notBefore)"
    }
  }
}
