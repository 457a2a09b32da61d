/// Where a text stands in a column wider than itself.
package enum Alignment: Sendable { case left, right }

extension String {
  /// The text itself if it fits, else its beginning and `…`; never wider than `width` columns.
  package func truncated(toWidth width: Int) -> String {
    // No character is wider than its bytes are many.
    if utf8.count <= width || displayWidth <= width { return self }
    guard width > 0 else { return "" }
    var kept = ""
    var used = 1
    for character in self {
      used += character.displayWidth
      if used > width { break }
      kept.append(character)
    }
    return kept + "…"
  }

  /// The text with spaces up to `width` columns; a wider one stays as it is.
  package func padded(toWidth width: Int, _ alignment: Alignment = .left) -> String {
    let missing = width - displayWidth
    guard missing > 0 else { return self }
    let spaces = String(repeating: " ", count: missing)
    return alignment == .left ? self + spaces : spaces + self
  }
}
