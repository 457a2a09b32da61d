import CurlKit

/// What may be asked of which address.
struct HTTPPolicy: Sendable {
  /// Whether plain http may go to other machines than this one.
  var allowsPlainHTTP: Bool

  /// Throws when `address` may not be called.
  func check(_ address: WebAddress, for what: String) throws(KollusError) {
    guard address.scheme == "https" || allowsPlainHTTP || address.isLoopback else {
      throw KollusError(
        .refused, code: KollusCode.urlNotUsable,
        "\(what) uses plain http to another machine: \(address.display)",
        hint: "use https, or set allowPlainHTTP to true in the configuration")
    }
  }

  /// Where a redirect answer leads, or `nil` when it leads nowhere that may be followed.
  func target(of head: ResponseHead, from address: WebAddress) -> WebAddress? {
    guard [301, 302, 303, 307, 308].contains(head.status), let location = head["location"],
      let target = WebAddress(location, relativeTo: address),
      !(address.scheme == "https" && target.scheme == "http"), (try? check(target, for: "a redirect")) != nil
    else { return nil }
    return target
  }

  static let redirectLimit = 5
}

/// `Retry-After` (RFC 9110 §10.2.3) as Unix seconds.
enum RetryAfter {
  /// `nil` when the header is absent or means nothing.
  static func time(_ head: ResponseHead, now: Double) -> Double? {
    guard let text = head["retry-after"] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      return now + Double(min(Int64(text) ?? .max, 1 << 40))
    }
    return HTTPDate.seconds(text).map(Double.init)
  }
}
