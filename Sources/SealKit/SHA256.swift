import CCrypto

/// SHA-256 over a message that arrives in parts.
///
/// Sendable: the value is the only owner of its context, and every use of it is exclusive.
@safe package struct SHA256: ~Copyable, @unchecked Sendable {
  private let context: OpaquePointer

  package init() {
    guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
    unsafe self.context = context
    begin()
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { buffer in
      let result = unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
      precondition(result == 1, "libcrypto failed")
    }
  }

  /// The digest of everything since the last call, after which a new message may begin.
  package mutating func finish() -> Digest {
    unsafe Digest(filledBy: { unsafe finish(to: $0) })
  }

  /// Writes the 32 bytes of the digest of everything since the last call, after which a new message may begin.
  @unsafe mutating func finish(to start: UnsafeMutablePointer<UInt8>) {
    let result = unsafe EVP_DigestFinal_ex(context, start, nil)
    precondition(result == 1, "libcrypto failed")
    begin()
  }

  package static func hash(_ bytes: RawSpan) -> Digest {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe Digest(filledBy: { start in
        let result = unsafe EVP_Digest(buffer.baseAddress, buffer.count, start, nil, Algorithms.sha256, nil)
        precondition(result == 1, "libcrypto failed")
      })
    }
  }

  package static func hash(_ bytes: [UInt8]) -> Digest { unsafe hash(bytes.span.bytes) }

  private func begin() {
    let result = unsafe EVP_DigestInit_ex2(context, Algorithms.sha256, nil)
    precondition(result == 1, "libcrypto failed")
  }
}

extension Digest {
  /// Takes the 32 bytes that a libcrypto function writes.
  init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
      if let start = buffer.baseAddress { unsafe fill(start) }
      count = Self.byteCount
    }
    guard let digest = Digest(bytes: bytes) else { preconditionFailure("a digest has 32 bytes") }
    self = digest
  }
}
