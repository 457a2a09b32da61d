/// A media content key that is the name of a file, so that any static server can answer for it.
struct ContentKey: Equatable, Sendable {
  let text: String

  /// Takes a key as it stands; the error says why a static server could not hold it.
  init(_ text: String) throws(OriginError) {
    if let reason = Self.obstacle(text) {
      throw OriginError(
        .data, "the media content key '\(text)' cannot be published: \(reason)",
        hint: "a static server finds a manifest by its file name, which is the key")
    }
    self.text = text
  }

  /// Takes a key from a token or a URL; nil when none can be published by that name.
  init?(published text: String) {
    guard Self.obstacle(text) == nil else { return nil }
    self.text = text
  }

  private static func obstacle(_ text: String) -> String? {
    if text.isEmpty { return "it is empty" }
    if text.utf8.contains(UInt8(ascii: "/")) { return "a slash parts folders" }
    if text.utf8.first == UInt8(ascii: ".") { return "names that begin with a dot are hidden" }
    if text.utf8.count > 255 { return "a file name has at most 255 bytes, this has \(text.utf8.count)" }
    if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      return "it holds a control character"
    }
    // What bytes that are no UTF-8 were turned into on the way here: the key meant is lost.
    if text.unicodeScalars.contains("\u{fffd}") { return "it is not valid UTF-8" }
    return nil
  }
}
