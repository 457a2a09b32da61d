extension ScriptedServer {
  /// Serves one object as a good server does: GET and HEAD, single ranges, `If-Range`, 416.
  package static func object(
    _ bytes: [UInt8], etag: String? = "\"v1\"", type: String = "video/mp4", lastModified: String? = nil
  ) -> Handler {
    { request in
      guard request.method == "GET" || request.method == "HEAD" else { return Answer(405) }
      let whole = Answer(200, bytes[...], type: type).with("Accept-Ranges", "bytes")
        .with("ETag", etag).with("Last-Modified", lastModified)
      let condition = request.headers["if-range"]
      let isCurrent =
        condition.map { value in
          // A weak validator never matches here.
          value == lastModified || value == etag && !value.hasPrefix("W/")
        } ?? true
      guard let range = request.range, isCurrent else { return whole }
      guard let wanted = range.resolved(in: bytes.count) else {
        return Answer(416).with("Content-Range", "bytes */\(bytes.count)").with("ETag", etag)
      }
      return whole.part(wanted, of: bytes.count)
    }
  }
}

extension Answer {
  /// The 206 for `range` of this whole answer; `total` and `claiming` make it lie.
  package func part(_ range: Range<Int>, of total: Int, claiming claimed: Range<Int>? = nil) -> Self {
    var part = self
    let start = body.startIndex
    part.status = 206
    part.body = body[(start + range.lowerBound)..<(start + range.upperBound)]
    let claimed = claimed ?? range
    return part.with(
      "Content-Range", "bytes \(claimed.lowerBound)-\(claimed.upperBound - 1)/\(total)")
  }
}
