import JSONKit
import KollusCore
import TerminalKit

/// An event that was kept, as a line for people.
struct EventText {
  private let json: JSON

  init(_ json: JSON) { self.json = json }

  /// When it happened, `2026-01-01T00:00:00Z`.
  var time: String { text("at") }

  /// Whether a person may have to act on it.
  var needsAttention: Bool {
    error != nil || [Note.damaged, .missing, .warning].contains { $0.rawValue == text("note") }
  }

  /// What happened, to which content.
  var line: String {
    let request = text("media_content_key", in: member("request"))
    let key = request.isEmpty ? text("mediaContentKey", in: result) : request
    let title = text("title")
    let item = key.isEmpty ? "" : title.isEmpty ? "\(key): " : "\(key) (\(title)): "
    return "\(item)\(what)".terminalSafe
  }

  private var what: String {
    if let error { return "error: \(text("message", in: error)) (\(number("code", in: error)))" }
    switch text("event") {
    case "downloadContent": return "downloaded, \(ByteCountText(number("fileSize")))"
    case "drmUpdate": return "renewed (\(number("cur")) of \(number("count")))"
    case "lmsData": return "a report was sent"
    case "sendCompleteStoredLms": return "\(number("successCount")) reports sent, \(number("failCount")) not"
    case "note": return "\(text("note")): \(text("message"))"
    case let other: return other  // Of a later version.
    }
  }

  private var result: JSON? { member("resultJson") }
  private var error: JSON? { (try? (result ?? json).object("error")) ?? nil }

  // What is absent, or of another kind in a later version, is as good as empty.
  private func member(_ name: String) -> JSON? { (try? json.object(name)) ?? nil }
  private func text(_ name: String, in json: JSON? = nil) -> String {
    ((try? (json ?? self.json).string(name)) ?? nil) ?? ""
  }
  private func number(_ name: String, in json: JSON? = nil) -> Int64 {
    ((try? (json ?? self.json).integer(name)) ?? nil) ?? 0
  }
}
