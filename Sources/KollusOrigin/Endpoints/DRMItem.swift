import JSONKit
import ServerKit

/// One item that the DRM callback is asked about.
struct DRMItem: Sendable {
  /// 1 before a download, 2 after it, 3 before a play or for a renewal.
  let kind: Int64
  let mediaContentKey: String
  let sessionKey: JSON?
  let startAt: JSON?
  /// Whether it says `content_expired` or `reset_req` 1.
  let asksForReset: Bool
  /// The whole item.
  let json: JSON

  init(_ json: JSON) throws(JSONError) {
    guard json.kind == .object else { throw json.failure("expected an object") }
    guard let kind = try json.member("kind") else { throw json.failure("kind is missing") }
    // Kollus's own clients send a number; servers take a numeric string as well.
    guard let number = kind.integer ?? kind.string.flatMap({ digits($0[...]) }), (1...3).contains(number)
    else {
      throw kind.failure("expected 1, 2 or 3")
    }
    guard let key = try json.string("media_content_key"), !key.isEmpty else {
      throw json.failure("media_content_key is missing")
    }
    (self.kind, mediaContentKey, self.json) = (number, key, json)
    sessionKey = try json.member("session_key")
    startAt = try json.member("start_at")
    let isExpired = try Self.isSet("content_expired", in: json)
    let isRenewal = try Self.isSet("reset_req", in: json)
    asksForReset = isExpired || isRenewal
  }

  private static func isSet(_ name: String, in json: JSON) throws(JSONError) -> Bool {
    guard let value = try json.member(name) else { return false }
    return value.integer == 1 || value.string == "1"
  }
}

extension DRMItem {
  /// The largest body read, in bytes: a thousand items with all they can say.
  static let bodyLimit = 4 << 20
  private static let itemLimit = 1_000

  /// Reads the items of a request; what is no such request is refused with 400.
  static func all(in request: Request) throws(Refusal) -> [DRMItem] {
    guard request.body.count <= bodyLimit else { throw refusal("the body has more than 4 MiB") }
    let type = request.headers["Content-Type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
    guard type == "application/x-www-form-urlencoded" else {
      throw refusal("Content-Type: expected application/x-www-form-urlencoded")
    }
    guard let form = String(validating: request.body, as: UTF8.self) else {
      throw refusal("the body is no form: not UTF-8")
    }
    let fields = PercentCoding.fields(of: form).filter { $0.name == "items" }
    guard let field = fields.first else { throw refusal("the form has no field items that can be decoded") }
    guard fields.count == 1 else { throw refusal("items: appears twice") }
    do {
      return try items(JSON(parsing: field.value, limits: JSON.Limits(bytes: bodyLimit, values: 100_000)))
    } catch {
      throw refusal("items\(error.path.first == "[" ? "" : ": ")\(error)")
    }
  }

  private static func items(_ json: JSON) throws(JSONError) -> [DRMItem] {
    guard json.kind == .array else { throw json.failure("expected a JSON array") }
    guard json.count > 0 else { throw json.failure("expected an item at least") }
    guard json.count <= itemLimit else { throw json.failure("more than 1,000 items") }
    var items: [DRMItem] = []
    items.reserveCapacity(json.count)
    for element in json.elements { items.append(try DRMItem(element)) }
    return items
  }

  private static func refusal(_ message: String) -> Refusal {
    Refusal(response: Response(400, message: message))
  }
}
