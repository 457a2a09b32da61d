import JSONKit

/// What the DRM callback answers, entries by content and kind, and what happens to viewing reports.
struct Policy: Sendable {
  /// The entries of each kind, which successive requests get in turn.
  private typealias Rules = [Int64: [PolicyEntry]]

  private static let kindNames = ["kind1", "kind2", "kind3"]

  /// The custom key that signs; nil leaves the choice to the keys there are.
  let customKey: String?
  /// By the bytes of the key: texts that mean the same are not the same key.
  private let contents: [[UInt8]: Rules]
  /// For the rest; every kind is there.
  private let rest: Rules
  /// For reports about the rest.
  private let lms: [LMSEntry]
  private let lmsByContent: [[UInt8]: [LMSEntry]]

  /// The policy of ``example``.
  init() throws(JSONError) {
    try self.init(parsing: Array(Self.example.utf8), rest: [:])
  }

  /// Reads a policy; what it says nothing about is as in ``example``.
  ///
  /// The error names the member that is wrong.
  init(parsing bytes: [UInt8]) throws(JSONError) {
    try self.init(parsing: bytes, rest: Policy().rest)
  }

  private init(parsing bytes: [UInt8], rest: Rules) throws(JSONError) {
    let json = try JSON(parsing: bytes)
    try json.allowOnly(["customKey", "default", "contents", "lms"])
    customKey = try json.string("customKey")
    let own = try json.object("default").map { json throws(JSONError) in
      try json.allowOnly(Self.kindNames)
      return try Self.rules(json)
    }
    self.rest = rest.merging(own ?? [:]) { $1 }
    lms = try Self.entries("lms", in: json, LMSEntry.init) ?? [LMSEntry()]
    var contents: [[UInt8]: Rules] = [:]
    var lmsByContent: [[UInt8]: [LMSEntry]] = [:]
    if let objects = try json.object("contents")?.members {
      for (key, value) in objects {
        try value.allowOnly(Self.kindNames + ["lms"])
        guard contents.updateValue(try Self.rules(value), forKey: Array(key.utf8)) == nil else {
          throw value.failure("appears twice")
        }
        lmsByContent[Array(key.utf8)] = try Self.entries("lms", in: value, LMSEntry.init)
      }
    }
    (self.contents, self.lmsByContent) = (contents, lmsByContent)
  }

  /// The entries that requests for a content get in turn, one at least.
  func entries(for key: [UInt8], kind: Int64) -> [PolicyEntry] { contents[key]?[kind] ?? rest[kind] ?? [] }

  /// The entries that reports about a content get in turn, one at least, and whether they are for that content
  /// alone.
  func lmsEntries(for key: [UInt8]) -> (entries: [LMSEntry], areOwn: Bool) {
    lmsByContent[key].map { ($0, true) } ?? (lms, false)
  }

  private static func rules(_ json: JSON) throws(JSONError) -> Rules {
    var rules: Rules = [:]
    for (kind, name) in zip(Int64(1)..., kindNames) {
      rules[kind] = try entries(name, in: json, PolicyEntry.init)
    }
    return rules
  }

  /// The entry, or array of entries, that a member holds.
  private static func entries<Entry>(
    _ name: String, in json: JSON, _ read: (JSON) throws(JSONError) -> Entry
  ) throws(JSONError) -> [Entry]? {
    guard let value = try json.member(name) else { return nil }
    guard value.kind == .array else { return [try read(value)] }
    var entries: [Entry] = []
    for element in value.elements { entries.append(try read(element)) }
    guard !entries.isEmpty else { throw value.failure("expected an entry at least") }
    return entries
  }
}

extension JSON {
  /// Refuses a member of another name, which is a slip of the pen.
  fileprivate func allowOnly(_ names: [String]) throws(JSONError) {
    guard kind == .object else { throw failure("expected an object") }
    for (name, value) in members where !names.contains(name) {
      throw value.failure("no such member; there are \(names.joined(separator: ", "))")
    }
  }
}
