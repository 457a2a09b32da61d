/// Lays out the plain text of help pages, which is all ours and takes one column a letter.
struct TextLayout {
  /// Columns of a line; a page narrower than 40 would be worse than a wrapped one.
  let width: Int

  init(width: Int) { self.width = max(width, 40) }

  /// Breaks between words; a word longer than a line stands alone.
  func wrap(_ text: String, indent: Int = 0, hanging: Int? = nil) -> [String] {
    var lines: [String] = []
    var line = String(repeating: " ", count: indent)
    var isFresh = true
    for word in text.split(whereSeparator: \.isWhitespace) {
      if !isFresh, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: hanging ?? indent)
        isFresh = true
      }
      line += (isFresh ? "" : " ") + word
      isFresh = false
    }
    return isFresh ? lines : lines + [line]
  }

  /// Parts paragraphs at empty lines, wraps each, and keeps a line that begins with a space as it is.
  func paragraphs(_ text: String) -> [String] {
    var lines: [String] = []
    var paragraph = ""
    func flush() {
      lines += wrap(paragraph)
      paragraph = ""
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty || line.hasPrefix(" ") {
        flush()
        lines.append(String(line))
      } else {
        paragraph += line + " "
      }
    }
    flush()
    return lines
  }

  /// A title and aligned rows below it; a term too long for its column gets a line of its own.
  func section(_ title: String, _ rows: [(term: String, text: String)]) -> [String] {
    guard !rows.isEmpty else { return [] }
    let column = min(rows.map(\.term.count).max() ?? 0, width / 3) + 4
    var lines = ["", "\(title):"]
    for row in rows {
      let term = "  " + row.term
      var texts = wrap(row.text, indent: column)
      if term.count + 2 <= column, !texts.isEmpty {
        let first = texts.removeFirst()
        lines.append(term + first.dropFirst(term.count))
      } else {
        lines.append(term)
      }
      lines += texts
    }
    return lines
  }
}
