import CCrypto

/// What libcrypto would otherwise look up again for every message.
///
/// Fetched on first use, never changed, never freed, so all threads may share it.
enum Algorithms {
  nonisolated(unsafe) static let sha256 = unsafe fetched(EVP_MD_fetch(nil, "SHA256", nil))
  nonisolated(unsafe) static let aes256GCM = unsafe fetched(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))

  private static func fetched(_ algorithm: OpaquePointer?) -> OpaquePointer {
    guard let algorithm = unsafe algorithm else { preconditionFailure("libcrypto lacks an algorithm") }
    return unsafe algorithm
  }
}
