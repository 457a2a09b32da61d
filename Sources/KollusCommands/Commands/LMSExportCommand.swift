import ArgumentKit
import JSONKit
import KollusCore

/// `kollus lms export`: stored reports with what would be sent, one JSON object a line.
struct LMSExportCommand: Command {
  static let all = Input<Bool>.flag("all", help: "Receipts of the last month too.")
  static let spec = CommandSpec(
    "lms export", "Print stored reports with their forms, one JSON object a line.", inputs: [all.declaration],
    examples: ["kollus lms export > reports.jsonl"])

  var all: Bool

  init(_ given: ParsedArguments) throws(UsageError) { all = try given(Self.all) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    try await library.recoverViewings()
    var selection = Library.ReportSelection()
    if all { selection.states = Set(Report.State.allCases) }
    let array = session.common.json ? JSONArrayPrinter(session) : nil
    try await library.forEachReport(selection) { report in
      if let array {
        array.append { report.write(to: &$0, withBody: true) }
      } else {
        var writer = JSONWriter()
        report.write(to: &writer, withBody: true)
        session.write(writer.text + "\n")
      }
    }
    array?.end()
    return ExitStatus.done
  }
}
