/// One request as ``ScriptedServer`` received it.
package struct ServedRequest: Sendable {
  /// What a `Range` header asks for; sets of several ranges are not told apart from none.
  package enum ByteRange: Sendable, Equatable {
    case from(Int)
    case between(Int, Int)
    case last(Int)

    /// The bytes meant in an object of `size` bytes, or nil where the range cannot be satisfied.
    package func resolved(in size: Int) -> Range<Int>? {
      switch self {
      case .from(let first): first < size ? first..<size : nil
      case .between(let first, let last): first < size && first <= last ? first..<min(last + 1, size) : nil
      case .last(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
      }
    }
  }

  package let method: String
  /// Path and query as they came, nothing unescaped.
  package let target: String
  /// Names in lower case; the last of two with one name wins.
  package private(set) var headers: [String: String]
  package let body: [UInt8]
  /// How many requests for the same path came before this one.
  package internal(set) var earlier = 0

  /// The target without its query, still escaped.
  package var path: String { String(target.prefix { $0 != "?" }) }

  package var range: ByteRange? {
    guard let text = headers["range"], text.hasPrefix("bytes="), !text.contains(",") else { return nil }
    let ends = text.dropFirst("bytes=".count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?): return .between(first, last)
    case (let first?, nil): return ends[1].isEmpty ? .from(first) : nil
    case (nil, let count?): return ends[0].isEmpty ? .last(count) : nil
    case (nil, nil): return nil
    }
  }

  /// The same request as if it lacked a header, given in lower case.
  package func without(_ header: String) -> Self {
    var request = self
    request.headers[header] = nil
    return request
  }

  /// Parses a request head without its final empty line; nil when it is none.
  init?(head: String, body: [UInt8]) {
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    method = String(words[0])
    target = String(words[1])
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      headers[line[..<colon].lowercased()] = String(value)
    }
    self.headers = headers
    self.body = body
  }
}
