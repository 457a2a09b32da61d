package import Foundation
package import JSONKit
import SealKit

/// A customer's DRM callback on the loopback: it signs what a closure says of each item.
package final class DRMCallback: Sendable {
  /// What one item of a request gets: the members of its entry as JSON texts, over the echoed ones.
  package typealias Handler = @Sendable (Item) -> Entry

  /// One item as it was asked.
  package struct Item: Sendable {
    package let json: JSON
    /// How many items of the same kind and content came before.
    package let earlier: Int

    package var kind: Int { Int((try? json.integer("kind")) ?? 0) }
    package var mck: String { (try? json.string("media_content_key")) ?? "" }
    package func text(_ name: String) -> String? { (try? json.string(name)).flatMap { $0 } }
    package func number(_ name: String) -> Int? { (try? json.integer(name)).flatMap { $0 }.map(Int.init) }
  }

  package struct Entry: Sendable {
    /// JSON texts by name; `nil` leaves an echoed member out.
    package var members: [String: String?] = [:]
    /// Leaves the whole entry out.
    package var isMissing = false

    package init(_ members: [String: String?] = ["result": "1"]) { self.members = members }

    package static let missing: Entry = {
      var entry = Entry()
      entry.isMissing = true
      return entry
    }()

    /// New rights in full: kinds 1 and 3 alike.
    package static func granted(until date: Int? = nil, plays: Int? = nil, seconds: Int? = nil) -> Entry {
      var members = ["result": "1", "content_expire_reset": "1"]
      members["expiration_date"] = date.map(String.init)
      members["expiration_count"] = plays.map(String.init)
      members["expiration_playtime"] = seconds.map(String.init)
      return Entry(members)
    }
  }

  package static let customKey = "demo"
  package static let securityKey = "demo-security-key"

  package let server: ScriptedServer
  private let state: Protected<State>

  private struct State: Sendable {
    var handler: Handler
    /// An answer other than the signed one.
    var override: (@Sendable (ServedRequest, Answer) -> Answer)?
    var items: [Item] = []
    var counts: [String: Int] = [:]
  }

  package init(_ handler: @escaping Handler = { _ in Entry() }) throws {
    let state = Protected(State(handler: handler))
    self.state = state
    server = try ScriptedServer { request in Self.answer(to: request, state) }
  }

  package var url: String { "\(server.url)/cb/drm" }

  /// Every item so far, in the order of arrival.
  package var items: [Item] { state.withLock { $0.items } }

  package func items(of mck: String, kind: Int? = nil) -> [Item] {
    items.filter { $0.mck == mck && (kind == nil || $0.kind == kind) }
  }

  /// Answers by another closure from the next request on.
  package func answer(with handler: @escaping Handler) { state.withLock { $0.handler = handler } }

  /// Gives another answer than the signed one, which is shown to the closure.
  package func override(_ change: (@Sendable (ServedRequest, Answer) -> Answer)?) {
    state.withLock { $0.override = change }
  }

  /// Writes the file of the security key into `folder`; the settings that a tool needs to trust the callback.
  package static func settings(in folder: String = TemporaryDirectory.path) throws -> [String: String] {
    let path = "\(folder)/security.key"
    try Data("\(securityKey)\n".utf8).write(to: URL(fileURLWithPath: path))
    return ["keys": "{\"\(customKey)\":\(path.jsonQuoted)}"]
  }

  /// An answer whose token has this payload.
  package static func answer(payload: String, key: String = securityKey, customKey: String? = customKey)
    -> Answer
  {
    let token = JSONWebToken.signed(payload: payload, key: SymmetricKey(bytes: Array(key.utf8)))
    return Answer(200, text: token).with("X-Kollus-UserKey", customKey).with("Date", httpDate(Date()))
  }

  /// A time as HTTP headers have it.
  package static func httpDate(_ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: date)
  }

  private static func answer(to request: ServedRequest, _ state: Protected<State>) -> Answer {
    let form = String(decoding: request.body, as: UTF8.self)
    guard form.hasPrefix("items="), let text = String(form.dropFirst(6)).removingPercentEncoding,
      let json = try? JSON(parsing: text), json.kind == .array
    else { return Answer(400, text: "no items") }
    let (handler, override, items) = state.withLock { state in
      let items = json.elements.map { element in
        let name =
          "\((try? element.integer("kind")) ?? 0) \((try? element.string("media_content_key")) ?? "")"
        defer { state.counts[name, default: 0] += 1 }
        return Item(json: element, earlier: state.counts[name, default: 0])
      }
      state.items += items
      return (state.handler, state.override, items)
    }
    let entries = items.compactMap { item -> String? in
      let entry = handler(item)
      return entry.isMissing ? nil : Self.text(of: entry, to: item)
    }
    let answer = Self.answer(payload: "{\"data\":[\(entries.joined(separator: ","))]}")
    return override?(request, answer) ?? answer
  }

  private static func text(of entry: Entry, to item: Item) -> String {
    var members: [String: String?] = [:]
    for name in ["kind", "media_content_key", "session_key", "start_at"] {
      if let value = try? item.json.member(name) { members[name] = .some(value.rawText) }
    }
    members.merge(entry.members) { $1 }
    let texts = members.sorted { $0.key < $1.key }.compactMap { name, value in
      value.map { "\(name.jsonQuoted):\($0)" }
    }
    return "{\(texts.joined(separator: ","))}"
  }
}

extension OriginContent {
  /// The same content under a DRM callback.
  package func licensed(by callback: DRMCallback) -> Self {
    with { content in
      let text =
        "{\"channelKey\":\"chan77\",\"customKey\":\"demo\",\"drmCallback\":\(callback.url.jsonQuoted)}"
      content.members["channel"] = .some(text)
    }
  }
}
