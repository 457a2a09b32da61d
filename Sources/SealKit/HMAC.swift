import CCrypto

/// HMAC-SHA-256 (RFC 2104).
package enum HMAC {
  package static func sha256(_ message: [UInt8], key: SymmetricKey) -> Digest {
    unsafe Digest(filledBy: { unsafe write(message.span.bytes, key: key, to: $0) })
  }

  /// Whether this is the code of a message; takes the same time wherever they differ.
  package static func isValid(_ code: [UInt8], for message: [UInt8], key: SymmetricKey) -> Bool {
    guard code.count == Digest.byteCount else { return false }
    return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Digest.byteCount) { expected in
      guard let start = expected.baseAddress else { return false }
      unsafe write(message.span.bytes, key: key, to: start)
      return unsafe CRYPTO_memcmp(code, start, Digest.byteCount) == 0
    }
  }

  /// Writes the 32 bytes of the code.
  ///
  /// Two hashes are all there is to it, and libcrypto's own way there looks its parts up anew for every message,
  /// which a list of 100,000 licences feels.
  @unsafe static func write(_ message: RawSpan, key: SymmetricKey, to code: UnsafeMutablePointer<UInt8>) {
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: blockSize) { pad in
      unsafe pad.initialize(repeating: 0)
      defer { unsafe OPENSSL_cleanse(pad.baseAddress, blockSize) }
      unsafe fill(pad, with: key)
      var hash = SHA256()
      for index in pad.indices { unsafe pad[index] ^= 0x36 }
      unsafe hash.update(UnsafeRawBufferPointer(pad).bytes)
      hash.update(message)
      unsafe hash.finish(to: code)
      for index in pad.indices { unsafe pad[index] ^= 0x36 ^ 0x5c }
      unsafe hash.update(UnsafeRawBufferPointer(pad).bytes)
      unsafe hash.update(UnsafeRawBufferPointer(start: code, count: Digest.byteCount).bytes)
      unsafe hash.finish(to: code)
    }
  }

  /// Bytes that SHA-256 takes at once.
  private static let blockSize = 64

  /// A key longer than a block stands for its digest.
  private static func fill(_ pad: UnsafeMutableBufferPointer<UInt8>, with key: SymmetricKey) {
    key.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        if bytes.count <= blockSize {
          unsafe UnsafeMutableRawBufferPointer(pad).copyMemory(from: bytes)
        } else if let start = pad.baseAddress {
          var hash = SHA256()
          unsafe hash.update(bytes.bytes)
          unsafe hash.finish(to: start)
        }
      }
    }
  }
}
