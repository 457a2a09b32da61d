import ArgumentKit
import JSONKit
import KollusCore
import SystemKit
import TerminalKit

/// `kollus lms list`: the reports that are stored.
struct LMSListCommand: Command {
  static let all = Input<Bool>.flag("all", help: "Receipts of the last month too.")
  static let states = Input<[String]>.options(
    "state", nil, "STATE",
    help: "Only this state: \(Report.State.allCases.map(\.rawValue).joined(separator: ", ")).")
  static let key = Input<String?>.option("mck", nil, "KEY", help: "Only reports of this content.")
  static let limit = Input<Int?>.option("limit", nil, "N", help: "Only the N oldest.")
  static let spec = CommandSpec(
    "lms list", "List stored reports of viewing.",
    inputs: [all.declaration, states.declaration, key.declaration, limit.declaration],
    examples: ["kollus lms list", "kollus lms list --state aside --limit 20 --json"])

  var selection = Library.ReportSelection()

  init(_ given: ParsedArguments) throws(UsageError) {
    selection.mediaContentKey = try given(Self.key)
    selection.limit = try given(Self.limit)
    selection.withForms = false
    if let limit = selection.limit, limit < 1 { throw UsageError("--limit must be at least 1") }
    if try given(Self.all) { selection.states = Set(Report.State.allCases) }
    for word in try given(Self.states) {
      guard let state = Report.State(rawValue: word) else {
        throw UsageError(
          "'\(word)' is not a state",
          hint: "states are \(Report.State.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      selection.states = (selection.states ?? []).union([state])
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    // A play that was killed has a report to come.
    try await library.recoverViewings()
    if session.common.json {
      let array = JSONArrayPrinter(session)
      try await library.forEachReport(selection) { report in array.append { report.write(to: &$0) } }
      array.end()
      return ExitStatus.done
    }
    let table = TablePrinter(Self.table, session)
    try await library.forEachReport(selection) { report in
      table.append([
        "\(report.id)", report.state.rawValue, WallClock.text(report.startAt), report.playStatus,
        report.mediaContentKey, report.clientUserID, report.failure?.message ?? "",
      ])
    }
    table.end()
    session.say(try await Self.summary(library))
    return ExitStatus.done
  }

  private static let table = Table([
    .init("ID", .right), .init("STATE", .left), .init("STARTED", .left), .init("WHAT", .left),
    .init("KEY", .left, minimumWidth: 8, canShrink: true),
    .init("USER", .left, minimumWidth: 6, canShrink: true),
    .init("WHY", .left, minimumWidth: 10, canShrink: true),
  ])

  /// How many wait, and how long the oldest has.
  private static func summary(_ library: Library) async throws -> String {
    let backlog = try await library.backlog()
    guard let oldest = backlog.oldest else { return "nothing waits to be sent, \(backlog.aside) set aside" }
    let age = DurationText(seconds: Int64(library.now()) - oldest)
    return "\(backlog.pending) wait to be sent, the oldest for \(age); \(backlog.aside) set aside"
  }
}
