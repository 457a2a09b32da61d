import CCrypto

/// Random bytes that nobody can foretell.
package enum SecureRandom {
  package static func bytes(_ count: Int) throws(SealError) -> [UInt8] {
    guard count >= 0, let length = Int32(exactly: count) else {
      throw .invalid("cannot make \(count) random bytes")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    let result = unsafe RAND_bytes(&bytes, length)
    try SealError.check(result, "RAND_bytes")
    return bytes
  }
}
