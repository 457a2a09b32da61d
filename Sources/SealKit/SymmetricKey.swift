import CCrypto

/// Secret bytes, wiped when nobody holds them any longer, and never printed.
///
/// Sendable: the bytes are written before `init` returns and only read afterwards.
@safe package final class SymmetricKey: @unchecked Sendable {
  // Allocated even when empty: libcrypto takes a null key for a missing one.
  private let storage: UnsafeMutablePointer<UInt8>
  package let byteCount: Int

  /// Copies the bytes; wiping the array is left to the caller.
  package convenience init(bytes: [UInt8]) {
    self.init(byteCount: bytes.count)
    unsafe storage.update(from: bytes, count: bytes.count)
  }

  private init(byteCount: Int) {
    self.byteCount = byteCount
    unsafe storage = .allocate(capacity: max(byteCount, 1))
    unsafe storage.initialize(repeating: 0, count: max(byteCount, 1))
  }

  deinit {
    unsafe OPENSSL_cleanse(storage, byteCount)
    unsafe storage.deallocate()
  }

  /// 32 bytes from the generator that libcrypto keeps for secrets.
  package static func random() throws(SealError) -> SymmetricKey {
    let key = SymmetricKey(byteCount: 32)
    try SealError.check(unsafe RAND_priv_bytes(key.storage, 32), "RAND_priv_bytes")
    return key
  }

  /// Lends the bytes for the length of a call.
  package func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(unsafe UnsafeRawBufferPointer(start: storage, count: byteCount).bytes)
  }

  /// Another key of 32 bytes for the purpose that `info` names: HKDF-SHA-256 (RFC 5869) without salt.
  package func derived(_ info: String) -> SymmetricKey {
    let extracted = SymmetricKey(byteCount: Digest.byteCount)
    withBytes { unsafe HMAC.write($0, key: SymmetricKey(byteCount: 0), to: extracted.storage) }
    // One block is all that 32 bytes take, and 1 is its number.
    let block = Array(info.utf8) + [1]
    let expanded = SymmetricKey(byteCount: Digest.byteCount)
    unsafe HMAC.write(block.span.bytes, key: extracted, to: expanded.storage)
    return expanded
  }
}

extension SymmetricKey: CustomStringConvertible, CustomReflectable {
  package var description: String { "SymmetricKey" }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
