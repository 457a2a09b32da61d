/// The `Content-Range` of an answer (RFC 9110 §14.4).
struct ContentRange: Equatable, Sendable {
  /// First and last byte, both included; `nil` in a 416.
  let bytes: ClosedRange<Int64>?
  /// Bytes of the whole object; `nil` when the server does not know.
  let total: Int64?

  /// `nil` when the text is no byte range or contradicts itself.
  init?(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let sides = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard sides.count == 2 else { return nil }
    if sides[1] == "*" {
      total = nil
    } else {
      guard let number = Self.number(sides[1]) else { return nil }
      total = number
    }
    if sides[0] == "*" {
      bytes = nil
      return
    }
    let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
      last < total ?? .max
    else { return nil }
    bytes = first...last
  }

  static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text)
  }
}
