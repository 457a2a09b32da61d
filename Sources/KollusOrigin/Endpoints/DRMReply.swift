import JSONKit
import SealKit
import ServerKit

/// Makes one response to the DRM callback of answers, as well or as badly as the policy wants it.
struct DRMReply {
  let signer: PolicySource.Signer
  let controls: ResponseControls
  /// Unix seconds.
  let now: Int64

  func response(to request: Request, answers: [String]) -> Response {
    guard controls.isDropped != true else { return Response.dropped }
    let body = Array((controls.body ?? token(answers)).utf8)
    let type = controls.contentType ?? "text/plain"
    var response: Response
    if controls.size == nil, controls.cut == nil, controls.stall == nil {
      response = Response(status: 200, headers: ["Content-Type": type], body: body)
    } else {
      let source = BadBody(
        body, size: controls.size, cut: controls.cut, stall: controls.stall?.duration, request: request)
      response = Response(media: Media(source, type: type, entityTag: nil))
    }
    response.status = controls.status ?? (controls.location == nil ? 200 : 302)
    response.headers["X-Kollus-UserKey"] = userKey
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Retry-After"] = controls.retryAfter
    response.headers["Location"] = controls.location
    response.headers["Date"] = controls.date.map { HTTPDate.text(seconds: now + $0.seconds) }
    return response
  }

  private var userKey: String? {
    switch controls.userKey {
    case nil: signer.customKey
    case .named(let name): name
    case .missing: nil
    }
  }

  private func token(_ answers: [String]) -> String {
    let payload = controls.payload ?? payload(answers)
    switch controls.signature ?? .good {
    case .good: return JSONWebToken.signed(payload: payload, key: signer.key)
    case .wrongKey: return JSONWebToken.signed(payload: payload, key: signer.key.derived("wrong key"))
    case .none:
      return "\(Base64.encodeURL(#"{"alg":"none","typ":"JWT"}"#.utf8)).\(Base64.encodeURL(payload.utf8))."
    }
  }

  private func payload(_ answers: [String]) -> String {
    var writer = JSONWriter(reserving: answers.reduce(16) { $0 + $1.utf8.count + 1 })
    writer.beginObject()
    writer.name("data")
    if controls.isBare == true {
      writer.raw(answers.first ?? "null")
    } else {
      writer.beginArray()
      for answer in answers { writer.raw(answer) }
      writer.endArray()
    }
    writer.endObject()
    return writer.text
  }
}
