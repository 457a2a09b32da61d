import CurlKit
import JSONKit
import SealKit

/// What is kept, sealed, to come back to a content: its manifest and where that came from.
struct Source: Sendable {
  /// The URL the manifest came from; media URLs in it are relative to this.
  var base: WebAddress
  /// The play URL, when it was not asked for by key.
  var playURL: WebAddress?
  var manifest: Manifest

  /// Authenticated with the sealed bytes, so that one content's source is never read as another's.
  private static func label(_ mediaContentKey: String) -> [UInt8] { Array("source\0\(mediaContentKey)".utf8) }

  /// Bytes: length of the JSON text in four bytes, the text, then 32 bytes for each segment digest.
  func sealed(under key: SymmetricKey) throws(KollusError) -> [UInt8] {
    var writer = JSONWriter(reserving: manifest.text.utf8.count + 512)
    writer.beginObject()
    writer.member("base", base.text)
    writer.member("playURL", playURL?.text)
    writer.name("manifest")
    writer.raw(manifest.text)
    writer.endObject()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(4 + writer.bytes.count + manifest.media.segments.count * Digest.byteCount)
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: writer.bytes.count >> shift)) }
    bytes += writer.bytes
    for digest in manifest.media.segments { bytes += digest.bytes }
    do throws(SealError) {
      return try SealedBox.seal(
        bytes, with: key.derived("source"), authenticating: Self.label(manifest.content.mediaContentKey))
    } catch {
      throw KollusError(.internalFailure, "cannot seal the manifest: \(error)")
    }
  }

  /// `nil` when the bytes were not sealed by this home for this content, or are damaged.
  init?(opening sealed: [UInt8], of mediaContentKey: String, key: SymmetricKey) {
    // Every failure means the same: the origin must be asked again.
    guard
      let bytes = try? SealedBox.open(
        sealed, with: key.derived("source"), authenticating: Self.label(mediaContentKey)), bytes.count >= 4
    else { return nil }
    let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard length <= bytes.count - 4, (bytes.count - 4 - length) % Digest.byteCount == 0,
      let json = try? JSON(
        parsing: Array(bytes[4..<4 + length]),
        limits: JSON.Limits(bytes: Manifest.sizeLimit + (64 << 10), depth: 33, values: 500_016)),
      let base = (try? json.string("base")).flatMap({ $0.flatMap { WebAddress($0) } }),
      let text = try? json.object("manifest"), var manifest = try? Manifest(text, base: base)
    else { return nil }
    var digests: [Digest] = []
    digests.reserveCapacity((bytes.count - 4 - length) / Digest.byteCount)
    for start in stride(from: 4 + length, to: bytes.count, by: Digest.byteCount) {
      guard let digest = Digest(bytes: bytes[start..<start + Digest.byteCount]) else { return nil }
      digests.append(digest)
    }
    manifest.take(segments: digests)
    self.base = base
    playURL = (try? json.string("playURL")).flatMap { $0.flatMap { WebAddress($0) } }
    self.manifest = manifest
  }

  init(base: WebAddress, playURL: WebAddress?, manifest: Manifest) {
    (self.base, self.playURL, self.manifest) = (base, playURL, manifest)
  }
}
