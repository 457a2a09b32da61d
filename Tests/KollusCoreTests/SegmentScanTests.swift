import CurlKit
import KollusTestSupport
import SealKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct SegmentScanTests {
  let path = TemporaryDirectory.path + "/media.sealed"

  private func digests(_ plain: [UInt8]) -> [Digest] {
    stride(from: 0, to: plain.count, by: 65_536).map {
      SHA256.hash(Array(plain[$0..<min($0 + 65_536, plain.count)]))
    }
  }

  @Test func `a scan against digests keeps what fits`() async throws {
    let plain = randomBytes(300_000)
    let file = try CoreStage.sealedFile(at: path, plain: plain)
    var wanted = digests(plain)
    #expect(try await file.scan(digests: wanted, isPartial: true).done == Array(repeating: true, count: 5))
    wanted[2] = wanted[3]
    let scan = try await file.scan(digests: wanted, isPartial: true)
    #expect(scan.done == [true, true, false, true, true])
    #expect(scan.size(file.layout) == 300_000 - 65_536)
  }

  private func partial(_ sources: [SegmentSource?]) throws -> SealedFile {
    let plain = randomBytes(65_536 * sources.count)
    let file = try SealedFile.create(
      at: path, SealedDescription(mediaContentKey: "mck", manifest: "{}"), segmentSize: 65_536,
      size: Int64(plain.count), deviceKey: CoreStage.key, isLarge: false)
    for (index, source) in sources.enumerated() {
      if let source { try CoreStage.write(plain, to: file, index, source: source) }
    }
    return file
  }

  private func source(_ tag: String?) throws -> SegmentSource {
    try SegmentSource(CoreStage.address("https://h/x"), validator: tag.map { .entityTag($0) })
  }

  @Test func `without digests only the segments of one object are kept`() async throws {
    let (one, two, none) = try (source("\"1\""), source("\"2\""), source(nil))
    let file = try partial([one, two, one, nil, none, one, two])
    let scan = try await file.scan(digests: [], isPartial: true)
    #expect(scan.done == [true, false, true, false, false, true, false])
    #expect(scan.source == one)
    // A complete file is judged by its own tags.
    #expect(try await file.scan(digests: [], isPartial: false).damaged == [3])
  }

  @Test func `without digests and validators nothing of a partial file is kept`() async throws {
    let file = try partial([source(nil), source(nil), nil])
    let scan = try await file.scan(digests: [], isPartial: true)
    #expect(scan.done == [false, false, false])
    #expect(scan.source == nil)
    #expect(scan.lastDigest == nil)
  }

  @Test func `a proof is kept as long as any segment is`() async throws {
    let file = try partial([source("\"1\""), source("\"1\""), nil])
    let scan = try await file.scan(digests: [], isPartial: true)
    #expect(scan.lastDigest?.index == 1)
  }

  @Test func `a proof is found among the segments that are kept`() async throws {
    let file = try partial([source("\"1\""), source("\"1\""), source("\"2\"")])
    let scan = try await file.scan(digests: [], isPartial: true)
    #expect(scan.done == [true, true, false])
    #expect(scan.lastDigest?.index == 1)
  }

  @Test func `an empty file holds nothing`() async throws {
    let file = try partial([nil, nil])
    #expect(try await file.scan(digests: [], isPartial: true).done == [false, false])
    #expect(!SealedFile.holdsSegments(path, deviceKey: CoreStage.key))
    _ = try partial([nil, source(nil)])
    #expect(SealedFile.holdsSegments(path, deviceKey: CoreStage.key))
  }
}
