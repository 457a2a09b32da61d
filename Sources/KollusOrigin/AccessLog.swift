import JSONKit
import ServerKit
import SystemKit

/// One line for each exchange, and one for each item of a DRM request, safe to print and without tokens.
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
    let outcome = status == 0 ? "dropped" : "\(status)"
    return "\(WallClock.text(seconds)) \(request.method.printable) \(target.printable) \(outcome)"
  }

  /// The line for one item: what was asked, what was answered, and the controls that changed the response.
  static func note(_ item: DRMItem, _ answers: [String], _ controls: ResponseControls) -> String {
    let answer = controls.sendsAnswers && !answers.isEmpty ? answers.joined(separator: " ") : "no answer"
    let cause = controls.names.isEmpty ? "" : " by " + controls.names.joined(separator: " ")
    let question = "kind \(item.kind) \(item.mediaContentKey) \(item.json.rawText)"
    return "  \(question.printable) -> \(answer.printable)\(cause)"
  }
}
