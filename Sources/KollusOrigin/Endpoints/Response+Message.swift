import JSONKit
import ServerKit

extension Response {
  /// A refusal in the contract's form; the code is left out where Kollus has none.
  init(_ status: Int, code: KollusCode? = nil, message: String) {
    var writer = JSONWriter()
    writer.beginObject()
    if let code { writer.member("code", code.rawValue) }
    writer.member("message", message)
    writer.endObject()
    self.init(status: status, headers: Self.jsonHeaders, body: writer.bytes)
  }

  /// A refusal with the status that goes with its code.
  init(_ code: KollusCode, _ message: String) { self.init(code.status, code: code, message: message) }

  /// A document made for this request alone, not to be kept.
  init(json: [UInt8]) {
    self.init(status: 200, headers: Self.jsonHeaders, body: json)
  }

  private static let jsonHeaders: Headers = [
    "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
  ]
}
