/// A run of bytes within something of a known size.
struct ByteRange: Equatable, Sendable {
  let first: Int
  let count: Int

  /// What a `Range` field selects.
  enum Selection: Equatable, Sendable {
    /// Everything: no field, or one that a server ignores (several ranges, another unit, bad syntax).
    case whole
    case part(ByteRange)
    case unsatisfiable
  }

  /// Reads a `Range` field by RFC 9110 §14 for a representation of so many bytes.
  static func select(_ field: String?, size: Int) -> Selection {
    guard let field, let equals = field.firstIndex(of: "="), field[..<equals].lowercased() == "bytes" else {
      return .whole
    }
    let range = field[field.index(after: equals)...]
    guard let dash = range.firstIndex(of: "-"), !range.contains(",") else { return .whole }
    let (from, to) = (trimmed(range[..<dash]), trimmed(range[range.index(after: dash)...]))
    if from.isEmpty {
      guard let wanted = number(to) else { return .whole }
      guard wanted > 0 else { return .unsatisfiable }
      // The last bytes of nothing are nothing, which no Content-Range can say.
      guard size > 0 else { return .whole }
      let count = min(wanted, size)
      return .part(ByteRange(first: size - count, count: count))
    }
    guard let first = number(from), let last = to.isEmpty ? Int.max : number(to), first <= last else {
      return .whole
    }
    guard first < size else { return .unsatisfiable }
    return .part(ByteRange(first: first, count: min(last, size - 1) - first + 1))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }

  /// Digits and nothing else (`Int("+1")` would take a sign); too many of them are the largest number.
  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int(text) ?? .max
  }
}
