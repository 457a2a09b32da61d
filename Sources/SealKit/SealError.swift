import CCrypto

/// Why something could not be sealed, opened or made random.
///
/// The message never holds a secret.
package struct SealError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// The bytes, the tag, the nonce or what is authenticated with them were changed, or the key is another
    /// one.
    case authenticationFailed
    /// The caller passed a key, nonce, tag or box of the wrong size.
    case invalidInput
    /// libcrypto refused; the message names the function.
    case libraryFailure
  }

  package let code: Code
  package let message: String

  package var description: String { message }

  static func invalid(_ message: String) -> SealError { SealError(code: .invalidInput, message: message) }

  /// Throws when a libcrypto function did not return 1.
  ///
  /// The thread's error queue is emptied: whoever uses libcrypto next on this thread, such as TLS, reads it
  /// too.
  static func check(_ result: Int32, _ function: StaticString) throws(SealError) {
    guard result != 1 else { return }
    ERR_clear_error()
    throw SealError(code: .libraryFailure, message: "\(function) failed")
  }
}
