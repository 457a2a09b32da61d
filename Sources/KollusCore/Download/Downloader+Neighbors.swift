import CurlKit
import SealKit
import SystemKit

/// Repairing a segment of which no digest is known any more.
extension Downloader {
  /// Fetches segment `index` together with sound neighbors in one answer.
  ///
  /// When those are what is stored, so is the object, and the segment takes its place. `false` when nothing was
  /// proved. Throws when no server answers.
  func adopt(_ index: Int, in file: SealedFile, from media: Manifest.Media, of content: Content) async throws
    -> Bool
  {
    let layout = file.layout
    let span = max(0, index - 1)...min(layout.segmentCount - 1, index + 1)
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: layout.segmentSize))
    var proofs: [Int: Digest] = [:]
    for neighbor in span where neighbor != index {
      guard try file.read(neighbor, into: buffer) != nil else { continue }
      proofs[neighbor] = buffer.withBytes { SHA256.hash($0) }
    }
    guard !proofs.isEmpty else { return false }
    var failure: KollusError?
    for address in media.addresses where (try? client.policy.check(address, for: "media.urls")) != nil {
      do {
        // Three segments at most are held, beside the buffers of downloads.
        let isDone = try await memory.with(4 * layout.segmentSize) { () async throws -> Bool in
          guard let (bytes, source) = try await slice(span, of: layout, from: address) else { return false }
          func part(_ segment: Int) -> ArraySlice<UInt8> {
            let start = Int(layout.plainOffset(segment) - layout.plainOffset(span.lowerBound))
            return bytes[start..<start + layout.plainLength(segment)]
          }
          guard proofs.allSatisfy({ SHA256.hash(Array(part($0.key))) == $0.value }) else { return false }
          let plain = Array(part(index))
          buffer.count = 0
          buffer.append(plain.span.bytes)
          try file.write(buffer, as: index, digest: SHA256.hash(plain), source: source)
          return true
        }
        if isDone { return true }
      } catch let error as CurlError {
        failure = KollusError(error, address: address)
      }
    }
    if let failure { throw failure }
    return false
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
      let response = try await engine.perform(request, limit: Int(end - start) + 1)
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
