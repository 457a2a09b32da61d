import JSONKit
import ServerKit
import SystemKit

/// One line for each exchange, each item of a DRM request and each report, safe to print and without tokens.
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
    let question = "kind \(item.kind) \(item.mediaContentKey) \(item.json.rawText)"
    return "  \(question.printable) -> \(answer.printable)\(cause(controls))"
  }

  /// The line for a report: of what and whom it is, what became of it, and all it says.
  static func note(_ submission: LMSSubmission, isStored: Bool, _ controls: ResponseControls) -> String {
    let report = submission.report
    let subject = "\(report.mediaContentKey) \(report.clientUserID) \(report.startAt)".printable
    let blocks = report.blocks.map { ": \($0.playedCount) of \($0.count) blocks" } ?? ""
    let outcome = (isStored ? "stored" : "not stored") + cause(controls)
    return "  report \(subject)\(blocks) -> \(outcome) \(submission.text)"
  }

  private static func cause(_ controls: ResponseControls) -> String {
    controls.names.isEmpty ? "" : " by " + controls.names.joined(separator: " ")
  }
}
