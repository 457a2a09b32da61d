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

  func sealed(under key: SymmetricKey) throws(KollusError) -> [UInt8] {
    var writer = JSONWriter(reserving: manifest.text.utf8.count + 512)
    writer.beginObject()
    writer.member("base", base.text)
    writer.member("playURL", playURL?.text)
    writer.name("manifest")
    writer.raw(manifest.text)
    writer.endObject()
    do throws(SealError) {
      return try SealedBox.seal(
        writer.bytes, with: key.derived("source"),
        authenticating: Self.label(manifest.content.mediaContentKey))
    } catch {
      throw KollusError(.internalFailure, "cannot seal the manifest: \(error)")
    }
  }

  /// `nil` when the bytes were not sealed by this home for this content, or are damaged.
  init?(opening sealed: [UInt8], of mediaContentKey: String, key: SymmetricKey) {
    // Every failure means the same: the origin must be asked again.
    guard
      let bytes = try? SealedBox.open(
        sealed, with: key.derived("source"), authenticating: Self.label(mediaContentKey)),
      let json = try? JSON(
        parsing: bytes,
        limits: JSON.Limits(bytes: Manifest.sizeLimit + (64 << 10), depth: 33, values: 500_016)),
      let base = (try? json.string("base")).flatMap({ $0.flatMap { WebAddress($0) } }),
      let text = try? json.object("manifest"), let manifest = try? Manifest(text, base: base)
    else { return nil }
    self.base = base
    playURL = (try? json.string("playURL")).flatMap { $0.flatMap { WebAddress($0) } }
    self.manifest = manifest
  }

  init(base: WebAddress, playURL: WebAddress?, manifest: Manifest) {
    (self.base, self.playURL, self.manifest) = (base, playURL, manifest)
  }
}
