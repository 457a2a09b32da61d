import ServerKit
import SystemKit

/// One line for each exchange, safe to print and without tokens.
enum AccessLog {
  private static let secrets: Set<String> = ["jwt"]

  /// The line for an answer sent at a time in Unix seconds.
  static func line(_ request: Request, status: Int, at seconds: Int64) -> String {
    var target =
      PercentCoding.decode(request.path).map { String(decoding: $0, as: UTF8.self) } ?? request.path
    let fields = request.queryFields.map { name, value in
      secrets.contains(name.lowercased()) ? "\(name)=…" : "\(name)=\(value)"
    }
    if !fields.isEmpty { target += "?" + fields.joined(separator: "&") }
    return "\(WallClock.text(seconds)) \(request.method.printable) \(target.printable) \(status)"
  }
}
