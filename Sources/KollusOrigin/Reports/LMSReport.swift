import JSONKit

/// What a viewing report says, as far as the origin looks into it.
struct LMSReport: Sendable {
  /// "" where nobody is named.
  let clientUserID: String
  let mediaContentKey: String
  /// When the session began, in Unix seconds by the clock of the device.
  let startAt: Int64
  /// The numbers of `content_info` that are there, by name.
  let measures: [String: Double]
  let blocks: WatchedBlocks?

  /// What ``measures`` may hold, in the order of the protocol.
  static let measureNames = [
    "duration", "last_play_at", "playtime", "real_playtime", "playtime_percent", "runtime", "showtime",
  ]

  /// Reads the object that `{JSON_DATA}` stands for; the error names the member that is wrong.
  init(_ json: JSON) throws(JSONError) {
    guard json.kind == .object else { throw json.failure("expected an object") }
    guard let user = try json.object("user_info") else { throw json.failure("user_info is missing") }
    clientUserID = try user.string("client_user_id") ?? ""
    guard let content = try json.object("content_info") else { throw json.failure("content_info is missing") }
    guard let key = try content.string("media_content_key"), !key.isEmpty else {
      throw content.failure("media_content_key is missing")
    }
    mediaContentKey = key
    guard let start = try content.present("start_at") else { throw content.failure("start_at is missing") }
    guard let seconds = Int64(exactly: try start.amount()) else {
      throw start.failure("expected Unix seconds")
    }
    startAt = seconds
    var measures: [String: Double] = [:]
    for name in Self.measureNames { measures[name] = try content.present(name)?.amount() }
    self.measures = measures
    blocks = try json.object("block_info").map(WatchedBlocks.init)
    // Kept as it is, and nothing else may be called that.
    _ = try json.object("uservalues")
  }
}

extension JSON {
  /// The member of an object; absent and `null` are `nil`.
  fileprivate func present(_ name: String) throws(JSONError) -> JSON? {
    guard let value = try member(name), !value.isNull else { return nil }
    return value
  }

  /// A number from 0 on, or a string that holds one: clients send either.
  func amount() throws(JSONError) -> Double {
    guard let amount = number ?? string.flatMap(Self.number(written:)), amount.isFinite, amount >= 0 else {
      throw failure("expected a number from 0 on")
    }
    return amount
  }

  private static func number(written text: String) -> Double? {
    // `Double` would also take hexadecimal digits and words.
    text.utf8.allSatisfy { "0123456789.eE+-".utf8.contains($0) } ? Double(text) : nil
  }
}

extension JSONWriter {
  /// A number as it is usually written: without a fraction where there is none.
  mutating func amount(_ value: Double) {
    if let whole = Int64(exactly: value) { self.value(whole) } else { self.value(value) }
  }
}
