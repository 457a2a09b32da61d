/// A command line, taken apart as a shell does it, without a shell and anything it would expand.
enum CommandWords {
  /// Splits at white space; quotes and backslashes keep it, as in sh(1).
  static func split(_ text: String) throws(KollusError) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = text[...]
    while let character = rest.popFirst() {
      switch (character, quote) {
      case ("\\", nil), ("\\", "\""):
        guard let next = rest.popFirst() else { throw unfinished("ends in a backslash") }
        // Within double quotes only these two are escaped.
        let isKept = quote == "\"" && next != "\\" && next != "\""
        word = (word ?? "") + (isKept ? "\\" : "") + String(next)
      case ("'", nil), ("\"", nil): (quote, word) = (character, word ?? "")
      case (let character, let open?) where character == open: quote = nil
      case (let character, nil) where character.isWhitespace:
        if let finished = word { words.append(finished) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    guard quote == nil else { throw unfinished("has a quote that is not closed") }
    if let word { words.append(word) }
    guard let name = words.first, !name.isEmpty else { throw unfinished("names no program") }
    return words
  }

  /// The words with `{url}` replaced; a command that does not say where gets the URL last.
  static func filled(_ words: [String], url: String) -> [String] {
    let filled = words.map { $0.replacing("{url}", with: url) }
    return filled == words ? words + [url] : filled
  }

  private static func unfinished(_ problem: String) -> KollusError {
    KollusError(
      .configuration, "the player's command \(problem)",
      hint: "write it as in a shell, with {url} where the address goes")
  }
}
