/// 32 bytes of SHA-256 or HMAC-SHA-256, held inline.
///
/// `==` is for integrity, not for secrets: codes are compared by ``HMAC/isValid(_:for:key:)``.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = 32

  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  /// `nil` unless there are 32 bytes.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    for byte in bytes {
      // Shifts all 256 bits left by one byte, as one big-endian number.
      words.0 = words.0 << 8 | words.1 >> 56
      words.1 = words.1 << 8 | words.2 >> 56
      words.2 = words.2 << 8 | words.3 >> 56
      words.3 = words.3 << 8 | UInt64(byte)
    }
    (first, second, third, fourth) = words
  }

  /// `nil` unless there are 64 hexadecimal digits of either case.
  package init?(hex: String) {
    guard let bytes = Hex.decode(hex) else { return nil }
    self.init(bytes: bytes)
  }

  /// `nil` unless this is base64 of 32 bytes.
  package init?(base64: String) {
    guard let bytes = Base64.decode(base64) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] {
    [first, second, third, fourth].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
  }

  /// 64 digits in lower case.
  package var hex: String { Hex.encode(bytes) }

  package var base64: String { Base64.encode(bytes) }

  package var description: String { hex }
}
