import Foundation
import JSONKit
import SealKit

/// A content as an ``OriginSite`` publishes it.
package struct OriginContent: Sendable {
  /// Which digests the manifest gives.
  package enum Digests: Sendable, CaseIterable { case none, file, segments }

  package var mck: String
  package var title = "Lecture"
  package var bytes: [UInt8]
  package var digests: Digests
  package var segmentSize = 1 << 20
  package var etag: String? = "\"v1\""
  package var type = "video/mp4"
  /// Other places of the media than the site's own.
  package var urls: [String]?
  /// JSON texts by name that replace or add members of the manifest; nil leaves one out.
  package var members: [String: String?] = [:]
  /// The same for the members of `media`.
  package var mediaMembers: [String: String?] = [:]

  package init(_ mck: String, bytes: [UInt8], digests: Digests = .segments) {
    (self.mck, self.bytes, self.digests) = (mck, bytes, digests)
  }

  package func with(_ change: (inout Self) -> Void) -> Self {
    var content = self
    change(&content)
    return content
  }

  /// Serves the bytes as a good server does.
  package var handler: ScriptedServer.Handler { ScriptedServer.object(bytes, etag: etag, type: type) }

  /// The origin's answer that holds this one manifest.
  package func manifest(mediaURL: String) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("contents")
    writer.beginArray()
    let own = [
      ("version", "1"), ("mediaContentKey", mck.jsonQuoted), ("title", title.jsonQuoted),
      ("contentType", "\"download\""), ("duration", "600.0"), ("naturalSize", "[1280,720]"),
      ("downloadable", "true"), ("media", media(mediaURL)),
    ]
    Self.write(own, changed: members, to: &writer)
    writer.endArray()
    writer.endObject()
    return writer.text
  }

  private func media(_ mediaURL: String) -> String {
    var own = [
      ("type", type.jsonQuoted), ("size", "\(bytes.count)"),
      ("urls", "[" + (urls ?? [mediaURL]).map(\.jsonQuoted).joined(separator: ",") + "]"),
    ]
    if digests == .file {
      own.append(("sha256", SHA256.hash(bytes).hex.jsonQuoted))
    }
    if digests == .segments {
      own += [("segmentSize", "\(segmentSize)"), ("segments", segments)]
    }
    var writer = JSONWriter()
    Self.write(own, changed: mediaMembers, to: &writer)
    return writer.text
  }

  private var segments: String {
    let digests = stride(from: 0, to: bytes.count, by: segmentSize).map { start in
      let segment = start..<min(start + segmentSize, bytes.count)
      return SHA256.hash(bytes.span.bytes.extracting(segment)).base64.jsonQuoted
    }
    return "[" + digests.joined(separator: ",") + "]"
  }

  private static func write(
    _ own: [(name: String, json: String)], changed: [String: String?], to writer: inout JSONWriter
  ) {
    writer.beginObject()
    var changed = changed
    for (name, json) in own {
      let change = changed.removeValue(forKey: name)
      guard let json = change ?? json else { continue }
      writer.name(name)
      writer.raw(json)
    }
    for case (let name, let json?) in changed.sorted(by: { $0.key < $1.key }) {
      writer.name(name)
      writer.raw(json)
    }
    writer.endObject()
  }
}
