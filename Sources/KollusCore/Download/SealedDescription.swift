import CurlKit
import JSONKit

/// What a sealed file says of itself, so that a lost library is found again from its files.
///
/// It is sealed under the file's own key and never changed.
struct SealedDescription: Sendable, Equatable {
  var mediaContentKey: String
  /// Which object the segments are of (`Manifest.Media.identity`).
  var identity = ""
  /// Whether a licence was needed when the file was made, by the manifest or by the configuration.
  var needsLicence = false
  /// The manifest's text, without its segment digests.
  var manifest: String
  /// Where the manifest came from, and the play URL it was had by; empty where a file does not tell.
  var base = ""
  var playURL = ""
  /// Who it was downloaded for, and the user values as a JSON object: the DRM callback is told both.
  var clientUserID = ""
  var userValues = "{}"

  private static let limits = JSON.Limits(bytes: 1 << 24, depth: 33, values: 500_016)

  init(mediaContentKey: String, manifest: String) {
    (self.mediaContentKey, self.manifest) = (mediaContentKey, manifest)
  }

  /// What is kept of a content that is about to be fetched.
  init(_ content: Content, _ source: Source) {
    self.init(mediaContentKey: content.mediaContentKey, manifest: source.manifest.text)
    identity = source.manifest.media.identity
    needsLicence = content.needsLicence
    base = source.base.text
    playURL = source.playURL?.text ?? ""
    (clientUserID, userValues) = (content.clientUserID, content.userValues)
  }

  var encoded: [UInt8] {
    var writer = JSONWriter(reserving: manifest.utf8.count + 512)
    writer.beginObject()
    writer.member("mediaContentKey", mediaContentKey)
    writer.member("identity", identity)
    writer.member("needsLicence", needsLicence)
    writer.member("base", base)
    writer.member("playURL", playURL)
    writer.member("clientUserID", clientUserID)
    writer.member("userValues", userValues)
    writer.name("manifest")
    writer.raw(manifest)
    writer.endObject()
    return writer.bytes
  }

  /// `nil` for what was not written by `encoded`, by whichever version.
  init?(encoded: [UInt8]) {
    // Whatever is wrong with it, it is no description.
    guard let json = try? JSON(parsing: encoded, limits: Self.limits),
      let key = try? json.string("mediaContentKey"), let identity = try? json.string("identity"),
      let manifest = try? json.object("manifest")
    else { return nil }
    self.init(mediaContentKey: key, manifest: manifest.rawText)
    self.identity = identity
    needsLicence = (try? json.bool("needsLicence")) ?? false
    func text(_ name: String) -> String { (try? json.string(name)).flatMap { $0 } ?? "" }
    (base, playURL, clientUserID) = (text("base"), text("playURL"), text("clientUserID"))
    if let values = (try? json.string("userValues")).flatMap({ $0 }) { userValues = values }
  }

  /// Whether the content was under a DRM callback when the file was made.
  var namesCallback: Bool {
    if needsLicence { return true }
    // What cannot be read is not trusted to need none.
    guard let json = try? JSON(parsing: manifest, limits: Self.limits) else { return true }
    guard let channel = try? json.object("channel") else { return false }
    return (try? channel.string("drmCallback")).map { !$0.isEmpty } ?? false
  }

  /// The manifest with where it came from, as far as the file tells; without segment digests.
  var source: Source? {
    guard let base = WebAddress(base), let json = try? JSON(parsing: manifest, limits: Self.limits),
      let manifest = try? Manifest(json, base: base)
    else { return nil }
    return Source(base: base, playURL: WebAddress(playURL), manifest: manifest)
  }

  /// The content as the manifest describes it; media URLs that are relative to an unknown place do not matter to it.
  var content: Content? {
    guard let base = WebAddress(base.isEmpty ? "https://unknown.invalid/" : base),
      let json = try? JSON(parsing: manifest, limits: Self.limits),
      let manifest = try? Manifest(json, base: base),
      manifest.content.mediaContentKey.isExactly(mediaContentKey)
    else { return nil }
    var content = manifest.content
    content.identity = identity
    content.needsLicence = content.needsLicence || namesCallback
    // Of a callback that was relative to an unknown place only the need is known.
    if self.base.isEmpty, content.drmCallback.hasPrefix("https://unknown.invalid/") {
      content.drmCallback = ""
    }
    (content.clientUserID, content.userValues) = (clientUserID, userValues)
    return content
  }
}
