/// What a ``ScriptedServer`` answers, and how badly it does so.
package struct Answer: Sendable {
  /// How the receiver learns where the body ends.
  package enum Framing: Sendable {
    /// `Content-Length` as it is.
    case length
    /// `Content-Length` with this number, whatever is sent.
    case lying(Int)
    case chunked
    /// Only the end of the connection ends the body.
    case untilClose
  }

  package var status: Int
  package var headers: [(name: String, value: String)] = []
  package var body: ArraySlice<UInt8> = []
  package var framing = Framing.length
  /// Time before the status line.
  package var delay = Duration.zero
  /// Body bytes after which the connection is cut.
  package var cutAfter: Int?
  /// Body bytes after which nothing more comes, and the connection stays open.
  package var stallAfter: Int?
  package var stallLimit = Duration.seconds(60)
  /// Body bytes a second of this one answer.
  package var bytesPerSecond: Int?
  /// Closes the connection when the answer is complete.
  package var closes = false

  package init(_ status: Int, _ body: ArraySlice<UInt8> = [], type: String? = nil) {
    self.status = status
    self.body = body
    if let type { headers.append(("Content-Type", type)) }
  }

  package init(_ status: Int, text: String, type: String = "text/plain") {
    self.init(status, Array(text.utf8)[...], type: type)
  }

  package func with(_ name: String, _ value: String?) -> Self {
    changed { answer in
      answer.headers.removeAll { $0.name.lowercased() == name.lowercased() }
      if let value { answer.headers.append((name, value)) }
    }
  }

  package func framed(_ framing: Framing) -> Self { changed { $0.framing = framing } }

  package func cut(after count: Int) -> Self { changed { $0.cutAfter = count } }

  package func stalled(after count: Int) -> Self { changed { $0.stallAfter = count } }

  package func delayed(by delay: Duration) -> Self { changed { $0.delay = delay } }

  package func throttled(to bytesPerSecond: Int) -> Self { changed { $0.bytesPerSecond = bytesPerSecond } }

  package func closing() -> Self { changed { $0.closes = true } }

  package func retryAfter(_ value: String) -> Self { with("Retry-After", value) }

  /// The head with its final empty line.
  var head: String {
    var lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "Scripted")"]
    lines += headers.map { "\($0.name): \($0.value)" }
    switch framing {
    case .length: if status != 304 { lines.append("Content-Length: \(body.count)") }
    case .lying(let count): lines.append("Content-Length: \(count)")
    case .chunked: lines.append("Transfer-Encoding: chunked")
    case .untilClose: break
    }
    if endsConnection { lines.append("Connection: close") }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// True when no second request may follow, as far as the answer itself says so.
  var endsConnection: Bool {
    if case .untilClose = framing { return true }
    return closes
  }

  private static let reasons = [
    200: "OK", 206: "Partial Content", 302: "Found", 403: "Forbidden", 404: "Not Found",
    416: "Range Not Satisfiable", 429: "Too Many Requests", 503: "Service Unavailable",
  ]

  private func changed(_ change: (inout Self) -> Void) -> Self {
    var answer = self
    change(&answer)
    return answer
  }
}
