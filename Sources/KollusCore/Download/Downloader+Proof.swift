import CurlKit
import SealKit
import SystemKit

/// Finding out what segments must be of which no digest is known any more.
extension Downloader {
  /// Digests of such segments, all others being sound, where what a server has is proved to be the object.
  ///
  /// `whole` is the digest of the object that the origin gave at the time of the download. Without it, a server must
  /// give sound neighbors in the same answer, under the strong validator that they came with. Nothing is written.
  /// Throws when no server answers.
  func prove(_ unknown: [Int], in file: SealedFile, from media: Manifest.Media, whole: Digest?) async throws
    -> [Int: Digest]
  {
    var proved: [Int: Digest] = [:]
    var failure: KollusError?
    for address in media.addresses where (try? client.policy.check(address, for: "media.urls")) != nil {
      let left = unknown.filter { proved[$0] == nil }
      if left.isEmpty { break }
      do {
        // Three segments at most are held, beside the buffers of downloads.
        let found = try await memory.with(4 * file.layout.segmentSize) { () async throws -> [Int: Digest] in
          if let whole { return try await digests(of: left, in: file, from: address, whole: whole) }
          var found: [Int: Digest] = [:]
          for index in left { found[index] = try await digest(of: index, in: file, from: address) }
          return found
        }
        proved.merge(found) { first, _ in first }
      } catch let error as CurlError {
        failure = KollusError(error, address: address)
      }
    }
    if proved.isEmpty, let failure { throw failure }
    return proved
  }

  /// Those of all `unknown` segments, when the object that they make whole has the digest `whole`.
  private func digests(of unknown: [Int], in file: SealedFile, from address: WebAddress, whole: Digest)
    async throws -> [Int: Digest]
  {
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: file.layout.segmentSize))
    var hash = SHA256()
    var found: [Int: Digest] = [:]
    for index in 0..<file.layout.segmentCount {
      try Task.checkCancellation()
      if unknown.contains(index) {
        guard let (bytes, _) = try await slice(index...index, of: file.layout, from: address) else {
          return [:]
        }
        hash.update(bytes.span.bytes)
        found[index] = SHA256.hash(bytes)
      } else {
        guard try file.read(index, into: buffer) != nil else { return [:] }
        buffer.withBytes { hash.update($0) }
      }
    }
    return hash.finish() == whole ? found : [:]
  }

  /// That of one segment, when it comes with sound neighbors, which came from the same object at first.
  private func digest(of index: Int, in file: SealedFile, from address: WebAddress) async throws -> Digest? {
    let layout = file.layout
    let span = max(0, index - 1)...min(layout.segmentCount - 1, index + 1)
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: layout.segmentSize))
    var neighbors: [Int: Digest] = [:]
    var validators: Set<Validator> = []
    for neighbor in span where neighbor != index {
      guard let record = try file.read(neighbor, into: buffer) else { continue }
      neighbors[neighbor] = buffer.withBytes { SHA256.hash($0) }
      if let validator = record.source?.validator { validators.insert(validator) }
    }
    guard !validators.isEmpty, let (bytes, source) = try await slice(span, of: layout, from: address),
      let validator = source.validator, validators == [validator]
    else { return nil }
    func part(_ segment: Int) -> [UInt8] {
      let start = Int(layout.plainOffset(segment) - layout.plainOffset(span.lowerBound))
      return Array(bytes[start..<start + layout.plainLength(segment)])
    }
    guard neighbors.allSatisfy({ SHA256.hash(part($0.key)) == $0.value }) else { return nil }
    return SHA256.hash(part(index))
  }

  /// The plain bytes of some segments, when a server gives just those of an object of the right size.
  private func slice(_ span: ClosedRange<Int>, of layout: SealedLayout, from first: WebAddress) async throws
    -> ([UInt8], SegmentSource)?
  {
    let start = layout.plainOffset(span.lowerBound)
    let end = layout.plainOffset(span.upperBound) + Int64(layout.plainLength(span.upperBound)) - 1
    var address = first
    for _ in 0...HTTPPolicy.redirectLimit {
      var request = Request(address, options: OriginClient.options(settings))
      request.headers = ["Accept-Encoding: identity", "Range: bytes=\(start)-\(end)"]
      let response: Response
      do {
        response = try await engine.perform(request, limit: Int(end - start) + 1)
      } catch let error as CurlError where error.code == CurlError.refusedByReceiver {
        return nil  // More than was asked for: a server that knows no ranges.
      }
      if let target = client.policy.target(of: response.head, from: address) {
        address = target
        continue
      }
      let isWhole = response.head.status == 200 && start == 0 && end == layout.size - 1
      let range = response.head["content-range"].flatMap { ContentRange($0) }
      let isPart =
        response.head.status == 206 && range?.bytes == start...end && range?.total == layout.size
      guard isWhole || isPart, Int64(response.body.count) == end - start + 1 else { return nil }
      return (response.body, SegmentSource(address, validator: Validator(response.head)))
    }
    return nil
  }
}
