import JSONKit

/// What the DRM callback answers: entries by content and kind.
struct Policy: Sendable {
  /// The entries of each kind, which successive requests get in turn.
  private typealias Rules = [Int64: [PolicyEntry]]

  /// The custom key that signs; nil leaves the choice to the keys there are.
  let customKey: String?
  /// By the bytes of the key: texts that mean the same are not the same key.
  private let contents: [[UInt8]: Rules]
  /// For the rest; every kind is there.
  private let rest: Rules

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
    try json.allowOnly(["customKey", "default", "contents"])
    customKey = try json.string("customKey")
    let own = try json.object("default").map(Self.rules) ?? [:]
    self.rest = rest.merging(own) { $1 }
    var contents: [[UInt8]: Rules] = [:]
    if let objects = try json.object("contents")?.members {
      for (key, value) in objects {
        guard contents.updateValue(try Self.rules(value), forKey: Array(key.utf8)) == nil else {
          throw value.failure("appears twice")
        }
      }
    }
    self.contents = contents
  }

  /// The entries that requests for a content get in turn, one at least.
  func entries(for key: [UInt8], kind: Int64) -> [PolicyEntry] { contents[key]?[kind] ?? rest[kind] ?? [] }

  private static func rules(_ json: JSON) throws(JSONError) -> Rules {
    guard json.kind == .object else { throw json.failure("expected an object") }
    try json.allowOnly(["kind1", "kind2", "kind3"])
    var rules: Rules = [:]
    for kind in Int64(1)...3 {
      guard let value = try json.member("kind\(kind)") else { continue }
      guard value.kind == .array else {
        rules[kind] = [try PolicyEntry(value)]
        continue
      }
      var entries: [PolicyEntry] = []
      for element in value.elements { entries.append(try PolicyEntry(element)) }
      guard !entries.isEmpty else { throw value.failure("expected an entry at least") }
      rules[kind] = entries
    }
    return rules
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
