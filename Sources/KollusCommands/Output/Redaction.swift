extension String {
  /// The text with what may be a token cut: the part of every URL that follows its `?`.
  ///
  /// Whatever the user wrote in the wrong place is repeated in messages, and it may have been a play URL.
  var withoutTokens: String {
    guard contains("://"), contains("?") else { return self }
    var shown = ""
    var rest = self[...]
    while let scheme = rest.firstRange(of: "://"), let mark = rest[scheme.upperBound...].firstIndex(of: "?") {
      let between = rest[scheme.upperBound..<mark]
      guard !between.contains(where: { $0.isWhitespace || $0 == "'" || $0 == "\"" }) else {
        shown += rest[..<scheme.upperBound]
        rest = rest[scheme.upperBound...]
        continue
      }
      shown += rest[...mark] + "…"
      rest = rest[mark...].drop { !$0.isWhitespace && $0 != "'" && $0 != "\"" }
    }
    return shown + rest
  }
}

extension Substring {
  /// Where `part` first stands in the text.
  fileprivate func firstRange(of part: String) -> Range<Index>? {
    indices.first { self[$0...].hasPrefix(part) }.map { $0..<index($0, offsetBy: part.count) }
  }
}
