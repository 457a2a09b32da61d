package import CurlKit

/// What a word on the command line means: a media content key, a play URL, or a `kollus://` request.
package enum ContentReference: Sendable, Hashable {
  case mediaContentKey(String)
  case playURL(WebAddress)

  /// Byte for byte: keys that look alike are different contents.
  private var exact: ExactText {
    switch self {
    case .mediaContentKey(let key): ExactText("key:\(key)")
    case .playURL(let address): ExactText("url:\(address.text)")
    }
  }

  package static func == (one: ContentReference, other: ContentReference) -> Bool { one.exact == other.exact }

  package func hash(into hasher: inout Hasher) { hasher.combine(exact) }

  /// A `kollus://` URL (PROTO §1.5), taken apart.
  package struct Request: Sendable, Equatable {
    /// `download`, `download_play`, `list` or `path`.
    package let action: String
    package let urls: [String]
    /// Virtual folder, checked and without slashes at its ends; `nil` when none was given.
    package let folder: String?
  }

  /// Reads a word that is not a `kollus://` URL: something with a web scheme is a URL, all else a key.
  package init(word: String) throws(KollusError) {
    let lower = word.prefix(8).lowercased()
    guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else {
      try self.init(key: word)
      return
    }
    try self.init(url: word)
  }

  package init(key: String) throws(KollusError) {
    guard !key.isEmpty, !key.utf8.contains(0) else {
      throw KollusError(
        .usage, "a media content key may not be empty", hint: "give the key as the origin knows it")
    }
    self = .mediaContentKey(key)
  }

  package init(url: String) throws(KollusError) {
    guard let address = WebAddress(url) else {
      throw KollusError(
        .usage, code: KollusCode.urlNotUsable, "not a usable http or https URL: \(Self.shown(url))",
        hint: "quote the URL in the shell; name a key that looks like a URL with --mck")
    }
    self = .playURL(address)
  }

  /// Takes a `kollus://` URL apart, or `nil` when `word` is none.
  package static func request(_ word: String) throws(KollusError) -> Request? {
    guard word.prefix(9).lowercased() == "kollus://" else { return nil }
    let parts = word.dropFirst(9).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let action = parts[0].split(separator: "/").first.map(String.init) ?? ""
    guard ["download", "download_play", "list", "path"].contains(action) else {
      throw KollusError(
        .usage, code: KollusCode.urlNotUsable, "unknown request kollus://\(shown(action))",
        hint: "kollus://download, download_play and list are understood")
    }
    var urls: [String] = []
    var folder: String?
    for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let value = percentDecoded(sides.count > 1 ? sides[1] : "") else {
        throw KollusError(.usage, code: KollusCode.urlNotUsable, "bad percent-encoding in a kollus:// URL")
      }
      switch sides[0] {
      case "url": urls.append(value)
      case "folder": folder = try FolderPath.checked(value)
      default: break  // Unknown parameters are for other clients.
      }
    }
    return Request(action: action, urls: urls, folder: folder)
  }

  /// A URL for messages: what follows `?` may be a token.
  private static func shown(_ text: String) -> String {
    let cut = text.prefix { $0 != "?" }
    return cut.count < text.count ? "\(cut.prefix(200))?…" : String(cut.prefix(200))
  }

  static func percentDecoded(_ text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexDigit), let low = rest.popFirst().flatMap(hexDigit) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
  }
}

/// Virtual folders: names separated by slashes, nothing of them reaches the file system.
package enum FolderPath {
  /// The path without slashes at its ends; empty names, `.`, `..` and control characters are refused.
  package static func checked(_ path: String) throws(KollusError) -> String {
    let names = path.split(separator: "/", omittingEmptySubsequences: true)
    let isRight = names.allSatisfy { name in
      name != "." && name != ".." && name.utf8.count <= 255
        && !name.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
    }
    guard isRight, names.count <= 32 else {
      throw KollusError(
        .usage, "not a usable folder path", hint: "give names separated by slashes, such as math/unit 1")
    }
    return names.joined(separator: "/")
  }
}
