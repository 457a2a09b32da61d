import CurlKit

/// What this is the version of: the program and the library are one product.
package enum Version {
  package static let current = "0.1.0"
  /// What is sent as `User-Agent`.
  package static let userAgent = TransferOptions().userAgent
}
