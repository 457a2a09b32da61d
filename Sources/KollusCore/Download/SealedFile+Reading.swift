import SealKit
import SystemKit

/// Reading a complete file as plain bytes.
extension SealedFile {
  /// Shows every segment's plain bytes in order; throws `badData` naming the first that is not sound.
  func forEachSegment(_ body: (RawSpan) throws -> Void) throws {
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: layout.segmentSize))
    for index in 0..<layout.segmentCount {
      let record: Record?
      do throws(SystemError) {
        record = try read(index, into: buffer)
      } catch {
        throw KollusError(error, code: KollusCode.readFile)
      }
      guard record != nil else {
        throw KollusError(
          .badData, code: KollusCode.damaged, SegmentScan.text(of: [index]),
          hint: "download the content again to repair it"
        ).of(mediaContentKey)
      }
      try buffer.withBytes { try body($0) }
    }
  }

  /// The digest of the whole plain object.
  func wholeDigest() async throws -> Digest {
    var hash = SHA256()
    try forEachSegment { bytes in
      try Task.checkCancellation()
      hash.update(bytes)
    }
    return hash.finish()
  }
}

extension Home {
  /// Opens the media of a content and makes sure that they are this content's, as long as the library says.
  ///
  /// Throws `badData` otherwise.
  func openMedia(of content: Content) throws(KollusError) -> SealedFile {
    let key = content.mediaContentKey
    // An unmounted disk is not damage.
    guard hasMedia else { throw mediaMissing.of(key) }
    do throws(KollusError) {
      guard let file = try SealedFile.open(mediaPath(of: key), deviceKey: identity.key) else {
        throw KollusError(
          .badData, code: KollusCode.damaged, "the media file is gone", hint: "download the content again")
      }
      guard file.mediaContentKey.isExactly(key), file.layout.size == content.fileSize,
        file.about.identity == content.identity
      else {
        throw KollusError(
          .badData, code: KollusCode.damaged, "the media file does not belong to this content",
          hint: "download the content again")
      }
      return file
    } catch {
      throw (error.kind == .inputOutput ? error.hinting(Self.doctorHint) : error).of(key)
    }
  }
}
