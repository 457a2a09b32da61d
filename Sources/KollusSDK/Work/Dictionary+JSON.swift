import Foundation
import JSONKit

extension Dictionary where Key == AnyHashable, Value == Any {
  /// A JSON object as Foundation has it; `nil` when the text is none.
  init?(json text: String) {
    // What is no object has nothing to show.
    guard let json = try? JSON(parsing: text), json.kind == .object else { return nil }
    self = Self.object(json)
  }

  private static func object(_ json: JSON) -> [AnyHashable: Any] {
    var members: [AnyHashable: Any] = [:]
    for (name, value) in json.members { members[name] = any(value) }
    return members
  }

  private static func any(_ json: JSON) -> Any {
    switch json.kind {
    case .null: NSNull()
    case .bool: json.bool ?? false
    // A number too large for `Int` is kept as well as it can be.
    case .integer: json.integer.map { Int($0) } ?? json.number ?? 0
    case .number: json.number ?? 0
    case .string: json.string ?? ""
    case .array: json.elements.map { any($0) }
    case .object: object(json)
    }
  }
}
