/// A number of bytes as people write it: `512K`, `10M`, `2G`, `1.5G`, or a bare number.
///
/// The units are powers of 1,024. Range 0 to 2⁶⁰.
package struct ByteSize: LosslessStringConvertible, Sendable, Equatable {
  package let bytes: Int64

  package init(bytes: Int64) { self.bytes = bytes }

  package init?(_ text: String) {
    let units: [Character: Int] = ["K": 10, "k": 10, "M": 20, "m": 20, "G": 30, "g": 30, "T": 40, "t": 40]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard let value = Decimal(digits), let bytes = value.scaled(by: 1 << (unit ?? 0)), bytes <= 1 << 60 else {
      return nil
    }
    self.bytes = bytes
  }

  package var description: String {
    for (unit, shift) in [("T", 40), ("G", 30), ("M", 20), ("K", 10)]
    where bytes != 0 && bytes % (1 << shift) == 0 {
      return "\(bytes >> shift)\(unit)"
    }
    return "\(bytes)"
  }
}

/// A span of time as people write it: `30s`, `10m`, `72h`, `7d`, `1.5s`, or a bare number of seconds.
///
/// Range 0 to 100 years.
package struct TimeSpan: LosslessStringConvertible, Sendable, Equatable {
  package let milliseconds: Int64

  package init(seconds: Int64) { milliseconds = seconds * 1_000 }

  package init?(_ text: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard let value = Decimal(digits), let milliseconds = value.scaled(by: (unit ?? 1) * 1_000),
      milliseconds <= 100 * 366 * 86_400_000
    else { return nil }
    self.milliseconds = milliseconds
  }

  package var duration: Duration { .milliseconds(milliseconds) }

  package var description: String {
    for (unit, length) in [("d", Int64(86_400_000)), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
    where milliseconds != 0 && milliseconds % length == 0 {
      return "\(milliseconds / length)\(unit)"
    }
    return milliseconds == 0 ? "0s" : "\(Double(milliseconds) / 1_000)s"
  }
}

/// Digits with at most three after a point, read exactly.
private struct Decimal {
  private let thousandths: Int64

  init?(_ text: Substring) {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard !parts[0].isEmpty, parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
      let whole = Int64(parts[0]), parts.count == 1 || (1...3).contains(parts[1].count),
      let fraction = Int64(
        (parts.count == 1 ? "" : parts[1])
          + String(repeating: "0", count: 3 - (parts.count == 1 ? 0 : parts[1].count)))
    else { return nil }
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000)
    guard !overflow, scaled <= .max - fraction else { return nil }
    thousandths = scaled + fraction
  }

  func scaled(by factor: Int64) -> Int64? {
    let (whole, overflow) = (thousandths / 1_000).multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    // Below a thousand thousandths, so this cannot overflow for any unit in use.
    let (sum, isTooLarge) = whole.addingReportingOverflow(thousandths % 1_000 * factor / 1_000)
    return isTooLarge ? nil : sum
  }
}
