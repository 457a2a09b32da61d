import CCrypto

/// AES-256-GCM (NIST SP 800-38D) for many messages under one key; used by one thread at a time.
///
/// A nonce must never be used twice for sealing with the same key: the caller sees to that.
/// Sendable: the value is the only owner of its contexts, and every use of them is exclusive.
@safe package struct Cipher: ~Copyable, @unchecked Sendable {
  package static let nonceByteCount = 12
  package static let tagByteCount = 16

  private let key: SymmetricKey
  // Made on first use, each with the key schedule set once: most users only seal or only open.
  private var sealer: OpaquePointer?
  private var opener: OpaquePointer?

  /// - Throws: `invalidInput` unless the key has 32 bytes.
  package init(key: SymmetricKey) throws(SealError) {
    guard key.byteCount == 32 else { throw .invalid("the key has \(key.byteCount) bytes instead of 32") }
    self.key = key
  }

  deinit {
    unsafe EVP_CIPHER_CTX_free(sealer)
    unsafe EVP_CIPHER_CTX_free(opener)
  }

  /// Encrypts bytes where they lie.
  ///
  /// - Parameters:
  ///   - bytes: The plain bytes, afterwards as many sealed ones; undefined after an error.
  ///   - nonce: 12 bytes.
  ///   - associated: What is protected from change with the bytes but not hidden.
  /// - Returns: The tag, 16 bytes.
  /// - Throws: `invalidInput` for a nonce of another size.
  package mutating func seal(
    _ bytes: inout MutableRawSpan, nonce: [UInt8], authenticating associated: [UInt8]
  ) throws(SealError) -> [UInt8] {
    let context = unsafe try Self.context(&sealer, key: key, isSealing: true)
    unsafe try Self.process(&bytes, nonce: nonce, authenticating: associated, in: context)
    var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
    var length: Int32 = 0
    try SealError.check(unsafe EVP_CipherFinal_ex(context, &tag, &length), "EVP_CipherFinal_ex")
    try unsafe Self.exchange(&tag, EVP_CTRL_AEAD_GET_TAG, in: context)
    return tag
  }

  /// Decrypts bytes where they lie.
  ///
  /// - Parameters:
  ///   - bytes: The sealed bytes, afterwards as many plain ones; zeros after an error.
  ///   - nonce: The 12 bytes they were sealed with.
  ///   - tag: The 16 bytes that sealing returned.
  ///   - associated: What was authenticated with them.
  /// - Throws: `authenticationFailed` when any of these, or the key, is not what it was.
  package mutating func open(
    _ bytes: inout MutableRawSpan, nonce: [UInt8], tag: [UInt8], authenticating associated: [UInt8]
  ) throws(SealError) {
    do throws(SealError) {
      guard tag.count == Self.tagByteCount else {
        throw SealError.invalid("the tag has \(tag.count) bytes instead of \(Self.tagByteCount)")
      }
      let context = unsafe try Self.context(&opener, key: key, isSealing: false)
      unsafe try Self.process(&bytes, nonce: nonce, authenticating: associated, in: context)
      var tag = tag
      try unsafe Self.exchange(&tag, EVP_CTRL_AEAD_SET_TAG, in: context)
      var length: Int32 = 0
      guard unsafe EVP_CipherFinal_ex(context, &tag, &length) == 1 else {
        ERR_clear_error()
        throw SealError(code: .authenticationFailed, message: "the sealed bytes do not match their tag")
      }
    } catch {
      unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
      throw error
    }
  }

  /// The context of one direction, made and keyed if this is its first use.
  private static func context(
    _ slot: inout OpaquePointer?, key: SymmetricKey, isSealing: Bool
  ) throws(SealError) -> OpaquePointer {
    if let context = unsafe slot { return unsafe context }
    guard let context = unsafe EVP_CIPHER_CTX_new() else {
      throw SealError(code: .libraryFailure, message: "EVP_CIPHER_CTX_new failed")
    }
    let result = key.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        let bytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe EVP_CipherInit_ex2(
          context, Algorithms.aes256GCM, bytes, nil, isSealing ? 1 : 0, nil)
      }
    }
    guard result == 1 else {
      unsafe EVP_CIPHER_CTX_free(context)
      ERR_clear_error()
      throw SealError(code: .libraryFailure, message: "EVP_CipherInit_ex2 failed")
    }
    unsafe slot = context
    return unsafe context
  }

  /// Begins a message and passes all of it through, in the direction of the context.
  private static func process(
    _ bytes: inout MutableRawSpan, nonce: [UInt8], authenticating associated: [UInt8],
    in context: OpaquePointer
  ) throws(SealError) {
    guard nonce.count == nonceByteCount else {
      throw .invalid("the nonce has \(nonce.count) bytes instead of \(nonceByteCount)")
    }
    guard let associatedCount = Int32(exactly: associated.count) else {
      throw .invalid("too many bytes to authenticate")
    }
    // The direction, -1, stays what it is.
    try SealError.check(
      unsafe EVP_CipherInit_ex2(context, nil, nil, nonce, -1, nil), "EVP_CipherInit_ex2")
    var length: Int32 = 0
    if associatedCount > 0 {
      let result = unsafe EVP_CipherUpdate(context, nil, &length, associated, associatedCount)
      try SealError.check(result, "EVP_CipherUpdate")
    }
    // libcrypto counts in 32 bits.
    let limit = 1 << 30
    for offset in stride(from: 0, to: bytes.byteCount, by: limit) {
      let result = unsafe bytes.withUnsafeMutableBytes { buffer in
        let start = unsafe buffer.baseAddress?.advanced(by: offset).assumingMemoryBound(to: UInt8.self)
        return unsafe EVP_CipherUpdate(
          context, start, &length, start, Int32(min(limit, buffer.count - offset)))
      }
      try SealError.check(result, "EVP_CipherUpdate")
    }
  }

  /// Reads or writes the tag of the message in a context.
  private static func exchange(
    _ tag: inout [UInt8], _ request: Int32, in context: OpaquePointer
  ) throws(SealError) {
    let result = unsafe EVP_CIPHER_CTX_ctrl(context, request, Int32(tagByteCount), &tag)
    try SealError.check(result, "EVP_CIPHER_CTX_ctrl")
  }
}
