import Glibc

/// Why a server could not start, or a file could not be served.
package struct ServerError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Sendable, Equatable {
    /// The address is no numeric IPv4 or IPv6 address, or the port is out of range.
    case badAddress
    /// Another process listens there.
    case addressInUse
    /// The system refused a call.
    case system
    /// The HTTP library did not start.
    case notStarted
    /// A file is shorter than when it was opened.
    case truncated
    /// A file has more bytes than the caller takes.
    case tooLarge
  }

  package let code: Code
  /// The system's error number, 0 when it had no part in it.
  package let number: Int32

  package init(_ code: Code, number: Int32 = 0) {
    self.code = code
    self.number = number
  }

  package var description: String {
    let reason =
      switch code {
      case .badAddress: "no numeric address and port"
      case .addressInUse: "the address is in use"
      case .system: "the system refused"
      case .notStarted: "the HTTP library did not start"
      case .truncated: "the file has become shorter"
      case .tooLarge: "the file is too large"
      }
    return number == 0 ? reason : unsafe "\(reason): \(String(cString: strerror(number)))"
  }
}
