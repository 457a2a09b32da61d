import JSONKit

/// What one item gets: members of the answer as they were written, and what is done to it.
struct PolicyEntry: Sendable {
  /// When an answer of kind 3 says `content_expire_reset` 1.
  enum Reset: String, CaseIterable, Sendable {
    /// When the item says `content_expired` or `reset_req` 1.
    case asked
    case always
    case never
  }

  /// What is done to the response that this answer is part of.
  private(set) var controls = ResponseControls()
  /// How often the answer stands in the response.
  private(set) var times = 1
  /// JSON of entries that nobody asked for, sent behind the answer.
  private(set) var extra: [String] = []
  private var reset = Reset.asked
  private var members: [(name: String, json: String)] = []
  /// Dates that are so far from now.
  private var dates: [(name: String, distance: Span)] = []
  /// Members that the answer does not get from the request: the policy gives them, or leaves them out.
  private var settled: Set<String> = []
  private var omitted: Set<String> = []

  /// Reads an object; the error names the member that is wrong.
  init(_ json: JSON) throws(JSONError) {
    guard json.kind == .object else { throw json.failure("expected an object") }
    var given: Set<String> = []
    for (name, value) in json.members {
      guard name.utf8.first == UInt8(ascii: "@") else {
        // Whatever it is: bad answers are what a policy is good for.
        members.append((name, value.rawText))
        continue
      }
      guard given.insert(name).inserted else { throw value.failure("appears twice") }
      var isKnown = try take(name, value)
      if !isKnown { isKnown = try controls.take(name, value) }
      guard isKnown else {
        let known = Self.ownNames + ResponseControls.allNames
        throw value.failure("no such control; there are \(known.joined(separator: ", "))")
      }
    }
    settled = omitted.union(members.map(\.name)).union(dates.map(\.name))
    members.removeAll { omitted.contains($0.name) }
    dates.removeAll { omitted.contains($0.name) }
  }

  /// Writes the answer to an item at a time in Unix seconds.
  func write(for item: DRMItem, now: Int64, to writer: inout JSONWriter) {
    writer.beginObject()
    if !settled.contains("kind") { writer.member("kind", item.kind) }
    if !settled.contains("media_content_key") { writer.member("media_content_key", item.mediaContentKey) }
    if item.kind == 3 {
      for (name, value) in [("session_key", item.sessionKey), ("start_at", item.startAt)] {
        guard let value, !settled.contains(name) else { continue }
        writer.name(name)
        writer.raw(value.rawText)
      }
    }
    for (name, json) in members {
      writer.name(name)
      writer.raw(json)
    }
    for (name, distance) in dates { writer.member(name, now + distance.seconds) }
    if resets(for: item), !settled.contains("content_expire_reset") {
      writer.member("content_expire_reset", 1)
    }
    writer.endObject()
  }

  private func resets(for item: DRMItem) -> Bool {
    switch reset {
    case .asked: item.kind == 3 && item.asksForReset
    case .always: true
    case .never: false
    }
  }

  private static let ownNames = [
    "@expiration_date", "@check_expiration_date", "@reset", "@omit", "@times", "@extra",
  ]

  private mutating func take(_ name: String, _ value: JSON) throws(JSONError) -> Bool {
    switch name {
    case "@expiration_date", "@check_expiration_date":
      dates.append((String(name.dropFirst()), try value.span(signed: true)))
    case "@reset": reset = try value.choice()
    case "@omit":
      guard value.kind == .array else { throw value.failure("expected an array of member names") }
      for element in value.elements { omitted.insert(try element.text()) }
    case "@times": times = try value.count(in: 0...1_000)
    case "@extra":
      guard value.kind == .array else { throw value.failure("expected an array of entries") }
      extra = value.elements.map(\.rawText)
    default: return false
    }
    return true
  }
}
