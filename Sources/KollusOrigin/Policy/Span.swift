/// A span of time written `30s`, `10m`, `72h`, `7d` or `1.5s`, or as a bare number of seconds; at most 100
/// years.
struct Span: Equatable, Sendable {
  let milliseconds: Int64

  /// Takes a sign before the number only where a time before now makes sense.
  init?(_ text: String, signed: Bool = false) {
    let signs: [Character: Int64] = signed ? ["-": -1, "+": 1] : [:]
    let sign = text.first.flatMap { signs[$0] }
    let unsigned = sign == nil ? text[...] : text.dropFirst()
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    let unit = unsigned.last.flatMap { units[$0] }
    let number = unit == nil ? unsigned : unsigned.dropLast()
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let fraction = parts.count == 2 ? parts[1] : "0"
    // Ten digits are more than 100 years of seconds, and no product of theirs overflows.
    guard let whole = digits(parts[0]), parts[0].utf8.count <= 10, (1...3).contains(fraction.utf8.count),
      let thousandths = digits(fraction + String(repeating: "0", count: 3 - fraction.utf8.count)),
      case let length = (whole * 1_000 + thousandths) * (unit ?? 1), length <= 100 * 366 * 86_400_000
    else { return nil }
    milliseconds = length * (sign ?? 1)
  }

  /// Whole seconds, the part of one left out.
  var seconds: Int64 { milliseconds / 1_000 }

  var duration: Duration { .milliseconds(milliseconds) }
}
