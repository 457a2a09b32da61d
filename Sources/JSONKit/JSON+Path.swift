extension JSON {
  /// Where this value lies in its document, such as `contents[0].media.size`; empty for the whole document.
  ///
  /// Safe to print: names are cut after 40 scalars and what a terminal might obey is escaped.
  package var path: String {
    var path = ""
    var container = JSON(document: document, index: 0)
    while container.index < index {
      var step: (label: String, value: JSON)?
      if container.kind == .array {
        let found = container.elements.enumerated().first { $0.element.node.next > index }
        step = found.map { ("[\($0.offset)]", $0.element) }
      } else {
        let found = MemberTokens(container).first { $0.value.node.next > index }
        let dot = path.isEmpty ? "" : "."
        step = found.map { (dot + printable(document.text(of: $0.name)), $0.value) }
      }
      guard let step else { break }
      path += step.label
      container = step.value
    }
    return path
  }

  /// An error about this value.
  package func failure(_ reason: String) -> JSONError { JSONError(path: path, reason: reason) }

  private func printable(_ name: String) -> String {
    let start = name.unicodeScalars.prefix(40)
    let quoted = String(start).jsonQuoted.dropFirst().dropLast()
    return start.endIndex < name.endIndex ? "\(quoted)…" : String(quoted)
  }
}
