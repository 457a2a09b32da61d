/// One request as it came, its body complete.
package struct Request: Sendable {
  package let method: String
  /// The path as sent, with its percent-escapes; it begins with a slash and holds no control characters.
  package let path: String
  /// What follows the first `?`, undecoded; nil without one.
  package let query: String?
  /// The header fields; a value that is no UTF-8 is repaired.
  package internal(set) var headers: Headers = [:]
  /// The whole body, chunks put together, within the configured limit.
  package internal(set) var body: [UInt8] = []
  private let stopSignal: StopSignal

  /// Splits the target; one that is no path, or holds control characters or bytes that are not UTF-8, is
  /// refused.
  init?(method: String, target: String, stopSignal: StopSignal) {
    guard target.utf8.first == UInt8(ascii: "/"), !target.unicodeScalars.contains(where: Self.isForbidden)
    else {
      return nil
    }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.method = method
    path = String(parts[0])
    query = parts.count > 1 ? String(parts[1]) : nil
    self.stopSignal = stopSignal
  }

  /// What stands in for a request that could not be read, so that an observer sees the refusal.
  init(unreadableWithMethod method: String, stopSignal: StopSignal) {
    self.method = method
    path = "-"
    query = nil
    self.stopSignal = stopSignal
  }

  /// The fields of the query, decoded as a form is (`+` is a space); a field without `=` has an empty value.
  ///
  /// Fields with a broken escape or bytes that are not UTF-8 are left out.
  package var queryFields: [(name: String, value: String)] { PercentCoding.fields(of: query ?? "") }

  /// Blocks this handler so long; false when the server is stopping and the answer no longer matters.
  package func pause(for duration: Duration) -> Bool { stopSignal.pause(for: duration) }

  // U+FFFD is what bytes that are no UTF-8 turn into.
  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value <= 0x20 || (0x7f...0x9f).contains(scalar.value) || scalar == "\u{fffd}"
  }
}
