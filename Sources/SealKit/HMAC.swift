import CCrypto

/// HMAC-SHA-256 (RFC 2104).
package enum HMAC {
  package static func sha256(_ message: [UInt8], key: SymmetricKey) -> Digest {
    unsafe Digest(filledBy: { unsafe write(message.span.bytes, key: key, to: $0) })
  }

  /// Whether this is the code of a message; takes the same time wherever they differ.
  package static func isValid(_ code: [UInt8], for message: [UInt8], key: SymmetricKey) -> Bool {
    let expected = sha256(message, key: key).bytes
    return unsafe code.count == expected.count && CRYPTO_memcmp(code, expected, expected.count) == 0
  }

  /// Writes the 32 bytes of the code.
  @unsafe static func write(_ message: RawSpan, key: SymmetricKey, to code: UnsafeMutablePointer<UInt8>) {
    key.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        unsafe message.withUnsafeBytes { message in
          let written = unsafe EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count,
            message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, code, Digest.byteCount,
            nil)
          unsafe precondition(written != nil, "libcrypto failed")
        }
      }
    }
  }
}
