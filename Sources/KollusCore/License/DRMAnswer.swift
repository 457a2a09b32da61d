import JSONKit

/// One entry of an answer of the DRM callback (PROTO §2.5), strictly read.
///
/// A member that is absent is `nil`, or false where that is its default. Members that the kind does not have
/// are not looked at.
package struct DRMAnswer: Sendable, Equatable {
  let kind: DRMItem.Kind
  let mediaContentKey: String
  /// Whether the server says yes; false as well when it says neither.
  let isAllowed: Bool
  /// The server's words for the user, in one line of at most 2,000 scalars; not safe to print.
  let message: String?
  /// Unix seconds.
  let expirationDate: Limit?
  /// Plays.
  let expirationCount: Limit?
  /// Seconds.
  let expirationPlayTime: Limit?
  /// Unix seconds.
  let checkExpirationDate: Limit?
  let playTimeType: PlayTimeType?
  /// Whether the user is asked before an expired content is renewed (`expiration_refresh_popup`).
  let asksBeforeRenewal: Bool?
  let vmCheck: Bool?
  /// Whether each play has to be asked for.
  let checkAbuse: Bool?
  let offlineBookmark: OfflineBookmark?
  /// `content_delete`.
  let isDelete: Bool
  /// `content_expired`.
  let isExpired: Bool
  /// `content_expire_reset`.
  let isReset: Bool
  let sessionKey: String?
  /// The whole entry as compact JSON, safe to print.
  package let text: String

  /// The last second of 2029 in UTC, beyond which no date may lie.
  private static let lastDate: Int64 = 1_893_455_999
  private static let messageLimit = 2_000

  /// Reads an entry for an item of `kind`; the entry's own `kind` is not looked at.
  init(_ json: JSON, kind: DRMItem.Kind) throws(JSONError) {
    let entry = Entry(json: json, kind: kind)
    let always: [DRMItem.Kind] = [.download, .complete, .play]
    let policy: [DRMItem.Kind] = [.download, .play]
    let fate: [DRMItem.Kind] = [.complete, .play]
    self.kind = kind
    guard let key = try json.string("media_content_key") else { throw json.missing("media_content_key") }
    mediaContentKey = key
    isDelete = try entry.flag("content_delete", fate) ?? false
    // Servers leave out what is 0 (PROTO §2.4): no word is no.
    isAllowed = try entry.flag("result", always) ?? false
    message = try json.string("message").flatMap(Self.line)
    expirationDate = try entry.limit("expiration_date", 1...Self.lastDate, policy)
    expirationCount = try entry.limit("expiration_count", 1...1_000, policy)
    expirationPlayTime = try entry.limit("expiration_playtime", 60...604_800, policy)
    checkExpirationDate = try entry.limit("check_expiration_date", 1...Self.lastDate, fate)
    playTimeType = try entry.integer("expiration_playtime_type", 0...1, policy).flatMap {
      PlayTimeType(rawValue: $0)
    }
    asksBeforeRenewal = try entry.flag("expiration_refresh_popup", policy)
    vmCheck = try entry.flag("vmcheck", policy)
    checkAbuse = try entry.flag("check_abuse", policy)
    offlineBookmark = try entry.bookmark("offline_bookmark", policy)
    isExpired = try entry.flag("content_expired", [.play]) ?? false
    isReset = try entry.flag("content_expire_reset", [.play]) ?? false
    sessionKey = kind == .play ? try json.string("session_key") : nil
    var writer = JSONWriter(reserving: json.rawText.utf8.count)
    writer.value(json)
    text = writer.text
  }

  private static func line(_ words: String) -> String? {
    let start = String(words.unicodeScalars.prefix(messageLimit))
    let line = start.split(whereSeparator: \.isNewline).joined(separator: " ")
    return line.contains { !$0.isWhitespace } ? line : nil
  }
}

/// An entry, read for one kind: a member of other kinds counts as absent.
///
/// Unlike the readers of JSONKit these take `null` for the wrong type it is: a limit that was meant must not
/// vanish.
private struct Entry {
  let json: JSON
  let kind: DRMItem.Kind

  func integer(
    _ name: String, _ range: ClosedRange<Int64>, _ kinds: [DRMItem.Kind]
  ) throws(JSONError) -> Int64? {
    guard let value = try member(name, kinds) else { return nil }
    guard !value.isNull else { throw value.failure("expected an integer, not null") }
    return try json.integer(name, in: range)
  }

  func flag(_ name: String, _ kinds: [DRMItem.Kind]) throws(JSONError) -> Bool? {
    try integer(name, 0...1, kinds).map { $0 == 1 }
  }

  /// A limit within a range, or 0 for none.
  func limit(
    _ name: String, _ range: ClosedRange<Int64>, _ kinds: [DRMItem.Kind]
  ) throws(JSONError) -> Limit? {
    guard let value = try member(name, kinds) else { return nil }
    if value.integer == 0 { return .unlimited }
    guard value.kind == .integer, let limit = value.integer, range.contains(limit) else {
      throw value.failure("expected 0 or an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return .value(limit)
  }

  func bookmark(_ name: String, _ kinds: [DRMItem.Kind]) throws(JSONError) -> OfflineBookmark? {
    guard let value = try member(name, kinds) else { return nil }
    let members = Entry(json: value, kind: kind)
    return OfflineBookmark(
      download: try members.integer("download", 0...2, kinds) ?? 0,
      isReadOnly: try members.flag("readonly", kinds) ?? false)
  }

  private func member(_ name: String, _ kinds: [DRMItem.Kind]) throws(JSONError) -> JSON? {
    kinds.contains(kind) ? try json.member(name) : nil
  }
}

extension JSON {
  fileprivate func missing(_ name: String) -> JSONError {
    JSONError(path: path.isEmpty ? name : "\(path).\(name)", reason: "missing")
  }
}

extension JSONWriter {
  /// Writes a value anew: without the white space it came with, and safe to print.
  fileprivate mutating func value(_ json: JSON) {
    switch json.kind {
    case .object:
      beginObject()
      for (name, member) in json.members {
        self.name(name)
        value(member)
      }
      endObject()
    case .array:
      beginArray()
      for element in json.elements { value(element) }
      endArray()
    case .string: value(json.string ?? "")
    case .null, .bool, .integer, .number: raw(json.rawText)
    }
  }
}
