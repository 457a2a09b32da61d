import ServerKit

extension ResponseControls {
  /// Makes a response of what would be sent without any control, at a time in Unix seconds.
  func response(to request: Request, body: [UInt8], type: String, now: Int64) -> Response {
    guard isDropped != true else { return Response.dropped }
    let body = self.body.map { Array($0.utf8) } ?? body
    let type = contentType ?? type
    var response: Response
    if size == nil, cut == nil, stall == nil {
      response = Response(status: 200, headers: ["Content-Type": type], body: body)
    } else {
      let source = BadBody(body, size: size, cut: cut, stall: stall?.duration, request: request)
      response = Response(media: Media(source, type: type, entityTag: nil))
    }
    response.status = statusSent
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Retry-After"] = retryAfter
    response.headers["Location"] = location
    response.headers["Date"] = date.map { HTTPDate.text(seconds: now + $0.seconds) }
    return response
  }
}
