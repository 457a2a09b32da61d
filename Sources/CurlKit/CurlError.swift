import CCurl

/// A transfer that libcurl could not finish.
package struct CurlError: Error, Equatable, Sendable, CustomStringConvertible {
  /// libcurl's result code, such as 7 for a refused connection.
  package let code: Int
  package let message: String

  package init(code: Int, message: String) {
    self.code = code
    self.message = message
  }

  init(_ result: CURLcode, detail: String = "") {
    code = Int(result.rawValue)
    message = detail.isEmpty ? unsafe String(cString: kollus_curl_easy_strerror(result)) : detail
  }

  package static let timedOut = Int(CURLE_OPERATION_TIMEDOUT.rawValue)
  package static let partialFile = Int(CURLE_PARTIAL_FILE.rawValue)
  /// The receiver would not take the response.
  package static let refusedByReceiver = Int(CURLE_WRITE_ERROR.rawValue)

  /// Whether the file of trusted authorities could not be used.
  package var isAuthorityFileFailure: Bool { code == Int(CURLE_SSL_CACERT_BADFILE.rawValue) }

  /// Whether the server's certificate was at fault: trying again does not help, unlike a handshake cut short.
  package var isTrustFailure: Bool {
    [
      CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
    ].contains { Int($0.rawValue) == code }
  }

  package var description: String { message }
}
