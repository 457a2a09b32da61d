package import CurlKit
import JSONKit
package import SealKit

/// What the origin says of one content: the contract of design §4, checked.
package struct Manifest: Sendable, Equatable {
  package struct Media: Sendable, Equatable {
    package var type: String
    /// Bytes, 1 to 2⁵⁰.
    package var size: Int64
    /// Mirrors of one object, best first.
    package var addresses: [WebAddress]
    /// Digest of the whole object.
    package var digest: Digest?
    /// Bytes of a segment: a power of two from 64 KiB to 8 MiB.
    package var segmentSize: Int
    /// Digest of each segment in order, or empty where the origin gives none.
    package var segments: [Digest]

    /// Stands for the object: the same for the same size, segments and digests.
    var identity: String {
      var hash = SHA256()
      hash.update(Array("\(size) \(segmentSize) \(digest?.hex ?? "-")".utf8).span.bytes)
      for segment in segments { hash.update(segment.bytes.span.bytes) }
      return Hex.encode(hash.finish().bytes.prefix(16))
    }
  }

  /// A snapshot or thumbnail.
  package struct Picture: Sendable, Equatable {
    package var address: WebAddress
    package var size: Int64?
    package var digest: Digest?
  }

  /// The metadata, as a content of the library that is not stored yet.
  package var content: Content
  package var media: Media
  package var snapshot: Picture?
  package var thumbnail: Picture?
  package var isDownloadable: Bool
  package var isIntro: Bool
  /// Marks that come with a download.
  package var bookmarks: [Bookmark]
  /// Where changes of marks are told.
  package var bookmarkURL: WebAddress?
  /// The manifest's own text without its segment digests, kept for what later steps read of it.
  package var text: String

  /// The custom key of the content's channel, which names the security key of its callback's answers.
  var customKey: String? {
    // It was checked when the manifest was read.
    guard let json = try? JSON(parsing: text, limits: JSON.Limits(bytes: 1 << 24, depth: 33, values: 500_016))
    else { return nil }
    return (try? json.object("channel")?.string("customKey")).flatMap { $0 }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Largest manifest answer, in bytes.
  package static let sizeLimit = 8 << 20
  /// Longest text member, in bytes.
  static let textLimit = 64 << 10
}

extension Manifest {
  /// Reads an answer `{"contents":[…]}` that came from `base`.
  static func read(_ body: [UInt8], from base: WebAddress) throws(JSONError) -> [Manifest] {
    let json = try JSON(parsing: body, limits: JSON.Limits(bytes: sizeLimit, depth: 32, values: 500_000))
    guard json.kind == .object, let contents = try json.array("contents") else {
      throw JSONError(path: "contents", reason: "expected an array of manifests")
    }
    guard (1...1_000).contains(contents.count) else { throw contents.failure("expected 1 to 1000 manifests") }
    var manifests: [Manifest] = []
    for element in contents.elements { manifests.append(try Manifest(element, base: base)) }
    return manifests
  }

  /// Reads one manifest; media URLs may be relative to `base`.
  init(_ json: JSON, base: WebAddress) throws(JSONError) {
    guard json.kind == .object else { throw json.failure("expected an object") }
    guard try json.integer("version") == 1 else {
      throw JSONError(path: "\(json.path).version", reason: "only version 1 is understood")
    }
    guard let key = try json.text("mediaContentKey"), !key.isEmpty, !key.utf8.contains(0) else {
      throw JSONError(path: "\(json.path).mediaContentKey", reason: "expected a media content key")
    }
    guard let media = try json.object("media") else {
      throw JSONError(path: "\(json.path).media", reason: "expected an object")
    }
    self.media = try Media(media, base: base)
    snapshot = try json.object("snapshot").map { json throws(JSONError) in try Picture(json, base: base) }
    thumbnail = try json.object("thumbnail").map { json throws(JSONError) in try Picture(json, base: base) }
    isDownloadable = try json.bool("downloadable") ?? true
    isIntro = try json.bool("intro") ?? false
    bookmarks = try json.array("bookmarks").map { list throws(JSONError) in try Bookmark.read(list) } ?? []
    bookmarkURL = try json.object("channel")?.address("bookmarkURL", relativeTo: base)
    text = json.textWithoutSegments
    content = try Content(json, key: key, media: self.media, base: base)
    _ = try json.object("policy")
  }
}

extension Content {
  fileprivate init(_ json: JSON, key: String, media: Manifest.Media, base: WebAddress) throws(JSONError) {
    self.init(mediaContentKey: key)
    title = try json.text("title") ?? ""
    company = try json.text("company") ?? ""
    course = try json.text("course") ?? ""
    teacher = try json.text("teacher") ?? ""
    synopsis = try json.text("synopsis") ?? ""
    descriptionURL = try json.text("descriptionURL") ?? ""
    encodingProfile = try json.text("encodingProfile") ?? ""
    contentProviderKey = try json.text("contentProviderKey") ?? ""
    switch try json.text("contentType") ?? "download" {
    case "download": kind = .download
    case "sample": kind = .sample
    default: throw JSONError(path: "\(json.path).contentType", reason: "expected download or sample")
    }
    duration = try json.number("duration") ?? 0
    guard duration >= 0, duration <= 1e9 else {
      throw JSONError(path: "\(json.path).duration", reason: "expected seconds from 0 to 1e9")
    }
    if let size = try json.array("naturalSize") {
      let sides = size.elements.map(\.integer)
      guard sides.count == 2, let width = sides[0], let height = sides[1],
        (0...100_000).contains(width), (0...100_000).contains(height)
      else { throw size.failure("expected two numbers of pixels") }
      (naturalWidth, naturalHeight) = (width, height)
    }
    (mediaType, fileSize, identity) = (media.type, media.size, media.identity)
    if let channel = try json.object("channel") {
      for name in ["channelKey", "customKey", "lmsCallback"] { _ = try channel.text(name) }
      _ = try channel.integer("blockCount", in: 1...100_000)
      if let callback = try channel.text("drmCallback") {
        needsLicence = true
        // Relative to the manifest, as the media are. An empty one is a mistake that must not give the film away.
        guard !callback.isEmpty, let address = WebAddress(callback, relativeTo: base) else {
          throw JSONError(path: "\(channel.path).drmCallback", reason: "not a usable http or https URL")
        }
        drmCallback = address.text
      }
    }
  }
}

extension Manifest.Media {
  fileprivate init(_ json: JSON, base: WebAddress) throws(JSONError) {
    type = try json.text("type") ?? "application/octet-stream"
    guard let size = try json.integer("size", in: 1...(1 << 50)) else {
      throw JSONError(path: "\(json.path).size", reason: "expected the number of bytes")
    }
    self.size = size
    guard let urls = try json.array("urls"), (1...32).contains(urls.count) else {
      throw JSONError(path: "\(json.path).urls", reason: "expected 1 to 32 URLs")
    }
    addresses = []
    for url in urls.elements {
      guard let text = url.string else { throw url.failure("expected a string") }
      guard let address = WebAddress(text, relativeTo: base) else {
        throw url.failure("not a usable http or https URL")
      }
      addresses.append(address)
    }
    digest = try json.text("sha256").map { text throws(JSONError) in
      guard let digest = Digest(hex: text) else {
        throw JSONError(path: "\(json.path).sha256", reason: "expected 64 hexadecimal digits")
      }
      return digest
    }
    let segmentSize = try json.integer("segmentSize") ?? 1 << 20
    guard (64 << 10...8 << 20).contains(segmentSize), segmentSize & (segmentSize - 1) == 0 else {
      throw JSONError(
        path: "\(json.path).segmentSize", reason: "expected a power of two from 65536 to 8388608")
    }
    self.segmentSize = Int(segmentSize)
    segments = []
    guard let list = try json.array("segments") else { return }
    let expected = (size + segmentSize - 1) / segmentSize
    guard Int64(list.count) == expected else {
      throw list.failure("expected \(expected) digests for \(size) bytes, found \(list.count)")
    }
    segments.reserveCapacity(list.count)
    for element in list.elements {
      guard let digest = element.string.flatMap({ Digest(base64: $0) }) else {
        throw element.failure("expected the base64 of 32 bytes")
      }
      segments.append(digest)
    }
  }
}

extension Manifest.Picture {
  fileprivate init(_ json: JSON, base: WebAddress) throws(JSONError) {
    guard let text = try json.text("url"), let address = WebAddress(text, relativeTo: base) else {
      throw JSONError(path: "\(json.path).url", reason: "expected an http or https URL")
    }
    self.address = address
    size = try json.integer("size", in: 0...(1 << 50))
    digest = try json.text("sha256").map { text throws(JSONError) in
      guard let digest = Digest(hex: text) else {
        throw JSONError(path: "\(json.path).sha256", reason: "expected 64 hexadecimal digits")
      }
      return digest
    }
  }
}

extension Manifest {
  /// The digests that are kept apart from the text.
  mutating func take(segments: [Digest]) {
    media.segments = segments
    content.identity = media.identity
  }
}

extension JSON {
  /// A manifest's text but for `media.segments`, which is most of a long one.
  fileprivate var textWithoutSegments: String {
    var writer = JSONWriter(reserving: 1_024)
    func copy(_ object: JSON, isMedia: Bool) {
      writer.beginObject()
      for (name, value) in object.members where !(isMedia && name == "segments") {
        writer.name(name)
        if !isMedia, name == "media", value.kind == .object {
          copy(value, isMedia: true)
        } else {
          writer.raw(value.rawText)
        }
      }
      writer.endObject()
    }
    copy(self, isMedia: false)
    return writer.text
  }

  /// A URL, which may be relative; an empty one is none.
  fileprivate func address(
    _ name: String, relativeTo base: WebAddress
  ) throws(JSONError) -> WebAddress? {
    guard let text = try text(name), !text.isEmpty else { return nil }
    guard let address = WebAddress(text, relativeTo: base) else {
      throw JSONError(path: "\(path).\(name)", reason: "not a usable http or https URL")
    }
    return address
  }

  /// A string of bounded length.
  fileprivate func text(_ name: String) throws(JSONError) -> String? {
    let value = try string(name)
    guard (value?.utf8.count ?? 0) <= Manifest.textLimit else {
      throw JSONError(
        path: path.isEmpty ? name : "\(path).\(name)", reason: "longer than \(Manifest.textLimit) bytes")
    }
    return value
  }
}
