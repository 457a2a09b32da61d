/// One HTTP exchange to perform: redirects are never followed, the caller sees them as they are.
package struct Request: Sendable {
  package enum Method: Sendable, Equatable {
    case get
    case post(body: [UInt8], contentType: String)
  }

  package var address: WebAddress
  package var method = Method.get
  /// Further header lines, `Name: value`, without control characters.
  package var headers: [String] = []
  package var options: TransferOptions
  /// Bytes libcurl asks of the socket at once; a large buffer pays for large bodies only.
  package var bufferSize = 64 << 10

  package init(_ address: WebAddress, options: TransferOptions) {
    self.address = address
    self.options = options
  }
}

/// What holds for every transfer of a run.
package struct TransferOptions: Sendable, Equatable {
  /// Longest wait for a connection, and longest interval with fewer than `stallBytes` received.
  package var timeout: Duration = .seconds(30)
  /// Fewest bytes of a live transfer in one `timeout`.
  package var stallBytes = 1_024
  /// PEM file of the certificate authorities to trust, or `nil` for the system's.
  package var caFile: String?
  /// Proxy URL, or `nil` for what the environment says; loopback is never proxied.
  package var proxy: String?
  package var userAgent = "kollus"

  package init() {}
}

/// Status line and headers of a final answer.
package struct ResponseHead: Sendable, Equatable {
  package let status: Int
  package let headers: [(name: String, value: String)]

  package init(status: Int, headers: [(name: String, value: String)]) {
    self.status = status
    self.headers = headers
  }

  /// The first value of the header `name`, compared without regard to case.
  package subscript(_ name: String) -> String? {
    let wanted = name.lowercased()
    return headers.first { $0.name == wanted }?.value
  }

  package static func == (one: ResponseHead, other: ResponseHead) -> Bool {
    one.status == other.status && one.headers.elementsEqual(other.headers) { $0 == $1 }
  }
}

/// A whole answer held in memory.
package struct Response: Sendable {
  package let head: ResponseHead
  package let body: [UInt8]
}

/// What a receiver says to the bytes it is shown.
package enum Reception: Sendable {
  case taken
  /// Not now: the same bytes come again once `canResume` says so.
  case later
  /// Never: the transfer ends with `CurlError.refusedByReceiver`.
  case refused
}

/// Takes one answer's body; called on the engine's thread only, and must not block.
package protocol BodyReceiver: AnyObject, Sendable {
  /// The final answer's head, before its first byte; `false` ends the transfer.
  func begin(_ head: ResponseHead) -> Bool
  /// The next bytes, valid during the call only.
  func receive(_ bytes: RawSpan) -> Reception
  /// Asked after `later`; once `false`, the receiver sees to it that the engine is woken.
  var canResume: Bool { get }
}
