/// Bytes as base64 (RFC 4648).
package enum Base64 {
  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The standard alphabet with padding.
  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text = encode(bytes, with: standard)
    while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The URL alphabet without padding.
  package static func encodeURL(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: encode(bytes, with: url), as: UTF8.self)
  }

  /// Reads either alphabet, padded to full groups or not at all.
  ///
  /// `nil` for anything else: white space, padding of the wrong length, both alphabets in one text, or a last
  /// digit with bits that no byte uses (so no two texts of one alphabet and padding mean the same bytes).
  package static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// Reads a text given by its bytes, as `decode` does for a string.
  package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var digits = text
    if digits.count % 4 == 0 {
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var bitCount = 0
    var alphabets: Alphabets = [.standard, .url]
    for digit in digits {
      guard let (value, allowed) = value(of: digit) else { return nil }
      alphabets.formIntersection(allowed)
      bits = bits << 6 | value
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    let unused = bits & (1 << UInt32(bitCount) - 1)
    return bitCount < 6 && unused == 0 && !alphabets.isEmpty ? bytes : nil
  }

  private struct Alphabets: OptionSet {
    let rawValue: UInt8
    static let standard = Alphabets(rawValue: 1)
    static let url = Alphabets(rawValue: 2)
  }

  private static func value(of digit: UInt8) -> (UInt32, Alphabets)? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): (UInt32(digit - UInt8(ascii: "A")), [.standard, .url])
    case UInt8(ascii: "a")...UInt8(ascii: "z"): (UInt32(digit - UInt8(ascii: "a")) + 26, [.standard, .url])
    case UInt8(ascii: "0")...UInt8(ascii: "9"): (UInt32(digit - UInt8(ascii: "0")) + 52, [.standard, .url])
    case UInt8(ascii: "+"): (62, .standard)
    case UInt8(ascii: "/"): (63, .standard)
    case UInt8(ascii: "-"): (62, .url)
    case UInt8(ascii: "_"): (63, .url)
    default: nil
    }
  }

  private static func encode(_ bytes: some Collection<UInt8>, with alphabet: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var bits: UInt32 = 0
    var bitCount = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 6 {
        bitCount -= 6
        text.append(alphabet[Int(bits >> UInt32(bitCount) & 63)])
      }
    }
    if bitCount > 0 { text.append(alphabet[Int(bits << UInt32(6 - bitCount) & 63)]) }
    return text
  }
}
