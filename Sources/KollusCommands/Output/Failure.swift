import JSONKit
import KollusCore
import TerminalKit

/// How a failure is shown.
enum Failure {
  /// Any error as one that can be shown.
  static func of(_ error: any Error) -> KollusError {
    if let error = error as? KollusError { return error }
    if error is CancellationError {
      return KollusError(
        .interrupted, code: KollusCode.cancelled, "interrupted", hint: "run the same command again to go on")
    }
    return KollusError(.internalFailure, "unexpected failure: \(error)")
  }

  /// Lines for people: the item, what failed, the code, the way out.
  static func text(_ error: KollusError) -> String {
    let item = error.mediaContentKey.map { "\(shortened($0).terminalSafe): " } ?? ""
    let code = error.code == 0 ? "" : " (\(error.code))"
    let hint = error.hint.map { "hint: \($0.withoutTokens.terminalSafe)\n" } ?? ""
    return "error: \(item)\(error.message.withoutTokens.terminalSafe)\(code)\n\(hint)"
  }

  /// A key of any length, short enough for a message.
  private static func shortened(_ key: String) -> String {
    let key = key.withoutTokens
    return key.unicodeScalars.count <= 200 ? key : "\(key.prefix(200))…"
  }

  /// One JSON object.
  static func json(_ error: KollusError, status: Int32) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("error")
    write(error, to: &writer)
    writer.member("status", Int(status))
    writer.member("mediaContentKey", error.mediaContentKey?.withoutTokens)
    writer.endObject()
    return writer.text
  }

  /// `{"code":…,"message":…,"hint":…}`, the form of every `error` member.
  static func write(_ error: KollusError, to writer: inout JSONWriter) { error.write(to: &writer) }
}
