import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import ServerKit
import Testing

/// The DRM callback of an origin in this process.
enum DRMStage {
  static let key = SymmetricKey(bytes: Array("demo-security-key".utf8))

  static var keys: String { TemporaryDirectory.path + "/keys.json" }
  static var policy: String { TemporaryDirectory.path + "/policy.json" }

  /// An origin with an empty folder, keys by name and a policy file.
  static func make(policy: String? = nil, keys names: String...) throws -> OriginStage {
    let stage = OriginStage()
    let folder = TemporaryDirectory.path
    try FileManager.default.createDirectory(atPath: stage.root, withIntermediateDirectories: true)
    try Data("demo-security-key\n".utf8).write(to: URL(fileURLWithPath: folder + "/demo.key"))
    let members = (names.isEmpty ? ["demo"] : names).map { #""\#($0)":"demo.key""# }
    try Data("{\(members.joined(separator: ","))}".utf8).write(to: URL(fileURLWithPath: keys))
    if let policy { try write(policy) }
    return stage
  }

  static func write(_ policy: String) throws {
    try Data(policy.utf8).write(to: URL(fileURLWithPath: Self.policy), options: .atomic)
  }

  /// A policy with one entry, or array of entries, for a kind of the content `k`.
  static func policy(_ entry: String, kind: Int = 1) -> String {
    #"{"contents":{"k":{"kind\#(kind)":\#(entry)}}}"#
  }

  static func form(_ items: String) -> [UInt8] { Array("items=\(PercentCoding.encode(items))".utf8) }

  static let formType = "Content-Type: application/x-www-form-urlencoded; charset=UTF-8"

  static func ask(_ items: String, port: Int) throws -> LoopbackClient.Answer {
    try LoopbackClient.fetch("/drm", port: port, method: "POST", headers: [formType], body: form(items))
  }

  /// An item of the content `k` as a request of one.
  static func item(_ kind: Int = 1, _ more: String = "") -> String {
    #"[{"kind":\#(kind),"media_content_key":"k"\#(more)}]"#
  }

  /// Whether two JSON texts mean the same, whatever the order of members.
  static func isSame(_ one: String, _ other: String) throws -> Bool {
    func object(_ text: String) throws -> NSObject? {
      try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) as? NSObject
    }
    return try #require(try object(one)).isEqual(try object(other))
  }
}

extension LoopbackClient.Answer {
  /// The claims of the token that is the body, its signature verified.
  var claims: JSON {
    get throws { try JSONWebToken(verifying: text, key: DRMStage.key).payload }
  }

  /// The raw JSON of each answer.
  var answers: [String] {
    get throws { try #require(try claims.array("data")).elements.map(\.rawText) }
  }
}
