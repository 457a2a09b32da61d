import CCurl

/// An absolute http or https URL, parsed by the library that will use it.
package struct WebAddress: Hashable, Sendable {
  /// The URL as it is sent, percent-encoded.
  package let text: String
  /// `http` or `https`.
  package let scheme: String
  /// Lower case; an IPv6 address stands in brackets.
  package let host: String
  /// The port of the URL, or the scheme's own.
  package let port: Int
  package let path: String
  /// The part after `?`, as written.
  package let query: String?

  /// Parses `text`, a reference relative to `base` when that is given.
  ///
  /// `nil` for another scheme, a user or password in the URL, or anything libcurl does not accept.
  package init?(_ text: String, relativeTo base: WebAddress? = nil) {
    guard !text.isEmpty, text.utf8.count <= 8_192, !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }),
      let parts = unsafe kollus_curl_url()
    else { return nil }
    defer { unsafe kollus_curl_url_cleanup(parts) }
    // Without a base, a scheme is required: libcurl would read "name/x" as a host.
    if let base {
      guard unsafe kollus_curl_url_set(parts, CURLUPART_URL, base.text, 0) == CURLUE_OK else { return nil }
    }
    let flags = UInt32(CURLU_DISALLOW_USER | CURLU_URLENCODE)
    guard unsafe kollus_curl_url_set(parts, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
    func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard unsafe kollus_curl_url_get(parts, part, &value, UInt32(flags)) == CURLUE_OK,
        let value = unsafe value
      else {
        return nil
      }
      defer { unsafe kollus_curl_free(value) }
      return unsafe String(cString: value)
    }
    _ = unsafe kollus_curl_url_set(parts, CURLUPART_FRAGMENT, nil, 0)
    guard let scheme = part(CURLUPART_SCHEME)?.lowercased(), scheme == "http" || scheme == "https",
      let host = part(CURLUPART_HOST)?.lowercased(), !host.isEmpty,
      let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap(Int.init), let whole = part(CURLUPART_URL)
    else { return nil }
    (self.text, self.scheme, self.host, self.port) = (whole, scheme, host, port)
    path = part(CURLUPART_PATH) ?? "/"
    query = part(CURLUPART_QUERY)
  }

  /// Whether the host is this machine, named by `localhost` or a loopback address.
  package var isLoopback: Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }

  /// The URL for messages: what follows `?` may be a token and is cut.
  package var display: String {
    guard query != nil, let mark = text.firstIndex(of: "?") else { return text }
    return text[..<mark] + "?…"
  }

  /// One path segment, with everything but unreserved characters percent-encoded.
  package static func encode(_ segment: String) -> String {
    if segment == "." || segment == ".." { return segment.utf8.map { _ in "%2E" }.joined() }
    return String(decoding: encode(Array(segment.utf8)), as: UTF8.self)
  }

  /// Bytes of a form or a path, with everything but unreserved characters percent-encoded.
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count + bytes.count / 2)
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"),
        UInt8(ascii: "."):
        encoded.append(byte)
      default:
        encoded.append(UInt8(ascii: "%"))
        encoded.append(digit(byte >> 4))
        encoded.append(digit(byte & 15))
      }
    }
    return encoded
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
