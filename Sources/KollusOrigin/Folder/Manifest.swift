import JSONKit
import SealKit

/// What a manifest says of one content.
struct Manifest: Sendable {
  /// What the player may do.
  struct Policy: Sendable, Equatable {
    var seek = true
    /// Seconds, −1 for no bound.
    var seekableEnd: Int64 = -1
    var disablePlayrate = false
    /// Seconds from and to.
    var playSection: ClosedRange<Int64>?
  }

  /// Where the content's callbacks go.
  struct Channel: Sendable, Equatable {
    var channelKey: String?
    var customKey: String?
    var drmCallback: String?
    var lmsCallback: String?
    var blockCount: Int64?
  }

  /// Which digests it gives.
  enum Digests: String, CaseIterable, Sendable {
    case segments, file, none
  }

  let key: ContentKey
  /// Texts that are left out when absent, by member name, in order.
  var texts: [(name: String, value: String?)] = []
  var contentType = "download"
  /// Seconds.
  var duration: Double?
  var naturalSize: PixelSize?
  var isDownloadable = true
  var isIntro = false
  let media: ImportedFile
  let mediaType: String
  /// Bytes; given only with the digests of segments.
  let segmentSize: Int
  let digests: Digests
  var snapshot: ImportedFile?
  var thumbnail: ImportedFile?
  var policy = Policy()
  var channel = Channel()

  /// The document of `/contents/<key>`: a list of this one manifest.
  var document: [UInt8] {
    var writer = JSONWriter(reserving: 1_024 + media.segments.count * 48)
    writer.beginObject()
    writer.name("contents")
    writer.beginArray()
    write(to: &writer)
    writer.endArray()
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  private func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("version", 1)
    writer.member("mediaContentKey", key.text)
    for (name, value) in texts { writer.optional(name, value) }
    writer.member("contentType", contentType)
    if let duration { writer.member("duration", duration) }
    if let naturalSize { writer.numbers("naturalSize", [naturalSize.width, naturalSize.height]) }
    writer.member("downloadable", isDownloadable)
    writer.member("intro", isIntro)
    writeMedia(to: &writer)
    writePicture("snapshot", snapshot, to: &writer)
    writePicture("thumbnail", thumbnail, to: &writer)
    writer.name("policy")
    policy.write(to: &writer)
    if channel != Channel() {
      writer.name("channel")
      channel.write(to: &writer)
    }
    writer.endObject()
  }

  private func writeMedia(to writer: inout JSONWriter) {
    writer.name("media")
    writer.beginObject()
    writer.member("type", mediaType)
    writer.member("size", media.size)
    writer.name("urls")
    writer.beginArray()
    writer.value(Self.reference(to: media))
    writer.endArray()
    if digests != .none { writer.member("sha256", media.sha256.hex) }
    if digests == .segments {
      writer.member("segmentSize", segmentSize)
      writer.name("segments")
      writer.beginArray()
      for segment in media.segments { writer.value(segment.base64) }
      writer.endArray()
    }
    writer.endObject()
  }

  private func writePicture(_ name: String, _ picture: ImportedFile?, to writer: inout JSONWriter) {
    guard let picture else { return }
    writer.name(name)
    writer.beginObject()
    writer.member("url", Self.reference(to: picture))
    writer.member("size", picture.size)
    if digests != .none { writer.member("sha256", picture.sha256.hex) }
    writer.endObject()
  }

  /// A reference that holds under any host and prefix, from a manifest and (at the root) from a play URL.
  private static func reference(to file: ImportedFile) -> String {
    "../\(OriginFolder.mediaName)/\(file.name)"
  }
}

extension Manifest.Policy {
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("seek", seek)
    writer.member("seekableEnd", seekableEnd)
    writer.member("disablePlayrate", disablePlayrate)
    if let playSection { writer.numbers("playSection", [playSection.lowerBound, playSection.upperBound]) }
    writer.endObject()
  }
}

extension Manifest.Channel {
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.optional("channelKey", channelKey)
    writer.optional("customKey", customKey)
    writer.optional("drmCallback", drmCallback)
    writer.optional("lmsCallback", lmsCallback)
    if let blockCount { writer.member("blockCount", blockCount) }
    writer.endObject()
  }
}

extension JSONWriter {
  fileprivate mutating func optional(_ name: String, _ value: String?) {
    if let value { member(name, value) }
  }

  /// A member that is an array of integers.
  mutating func numbers(_ name: String, _ values: [Int64]) {
    self.name(name)
    beginArray()
    for value in values { self.value(value) }
    endArray()
  }
}
