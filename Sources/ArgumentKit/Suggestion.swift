/// The known word somebody probably meant.
enum Suggestion {
  /// The first of the candidates that begins with the word or, failing that, the nearest within two edits.
  static func closest(to word: String, among candidates: [String]) -> String? {
    guard !word.isEmpty else { return nil }
    if let longer = candidates.first(where: { $0.hasPrefix(word) }) { return longer }
    let near = candidates.map { (candidate: $0, edits: edits(from: word, to: $0)) }
      .filter { $0.edits <= 2 && $0.edits < word.count }
    return near.min { $0.edits < $1.edits }?.candidate
  }

  /// The Levenshtein distance; three, standing for "too far", as soon as the lengths alone say so.
  static func edits(from source: String, to target: String) -> Int {
    let source = Array(source)
    let target = Array(target)
    guard abs(source.count - target.count) <= 2 else { return 3 }
    var row = Array(0...target.count)
    for (line, letter) in source.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for column in target.indices {
        let substituted = diagonal + (letter == target[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
      }
    }
    return row[target.count]
  }
}
