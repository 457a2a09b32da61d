/// Small secrets in one piece: nonce, sealed bytes and tag in a row.
package enum SealedBox {
  private static let overhead = Cipher.nonceByteCount + Cipher.tagByteCount

  /// Seals under a fresh random nonce.
  ///
  /// - Parameters:
  ///   - plain: What to hide.
  ///   - key: 32 bytes.
  ///   - associated: What is protected from change with it but not hidden and not part of the box.
  /// - Returns: 28 bytes more than `plain` has.
  /// - Throws: `invalidInput` for a key of another size.
  package static func seal(
    _ plain: [UInt8], with key: SymmetricKey, authenticating associated: [UInt8] = []
  ) throws(SealError) -> [UInt8] {
    var cipher = try Cipher(key: key)
    let nonce = try SecureRandom.bytes(Cipher.nonceByteCount)
    // One allocation: a box may hold megabytes.
    var box: [UInt8] = []
    box.reserveCapacity(plain.count + overhead)
    box += nonce
    box += plain
    // The closure of the standard library cannot throw a typed error, so the result is carried out.
    let sealing = unsafe box.withUnsafeMutableBytes { raw -> Result<[UInt8], SealError> in
      let text = unsafe UnsafeMutableRawBufferPointer(rebasing: raw[Cipher.nonceByteCount...])
      var bytes = unsafe MutableRawSpan(_unsafeBytes: text)
      do throws(SealError) {
        return .success(try cipher.seal(&bytes, nonce: nonce, authenticating: associated))
      } catch {
        return .failure(error)
      }
    }
    box += try sealing.get()
    return box
  }

  /// Opens what `seal` returned.
  ///
  /// - Throws: `authenticationFailed` when the box, the key or what was authenticated with it is another one;
  ///   `invalidInput` when it is too short to be a box.
  package static func open(
    _ box: [UInt8], with key: SymmetricKey, authenticating associated: [UInt8] = []
  ) throws(SealError) -> [UInt8] {
    guard box.count >= overhead else { throw .invalid("a sealed box has at least \(overhead) bytes") }
    var cipher = try Cipher(key: key)
    var plain = Array(box[Cipher.nonceByteCount..<box.count - Cipher.tagByteCount])
    var span = plain.mutableSpan
    var bytes = unsafe span.mutableBytes
    try cipher.open(
      &bytes, nonce: Array(box.prefix(Cipher.nonceByteCount)), tag: Array(box.suffix(Cipher.tagByteCount)),
      authenticating: associated)
    return plain
  }
}
