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
    var response = controls.response(
      to: request, body: Array(token(answers).utf8), type: "text/plain", now: now)
    response.headers["X-Kollus-UserKey"] = userKey
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
