import ArgumentKit
import JSONKit
import KollusCore

/// `kollus lms drop`: forgets reports for good.
struct LMSDropCommand: Command {
  static let ids = Input<[Int64]>.positionals("ID", minimum: 0, help: "Numbers of reports.")
  static let aside = Input<Bool>.flag("aside", help: "Everything that is set aside.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say how many would be dropped; change nothing.")
  static let spec = CommandSpec(
    "lms drop", "Forget stored reports for good; what they say of viewing is lost.",
    inputs: [ids.declaration, aside.declaration, dryRun.declaration],
    examples: ["kollus lms export > reports.jsonl && kollus lms drop --aside"])

  var ids: [Int64]
  var aside: Bool
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    ids = try given(Self.ids)
    aside = try given(Self.aside)
    isDryRun = try given(Self.dryRun)
    guard aside != !ids.isEmpty else {
      throw UsageError(
        aside ? "--aside and an ID exclude each other" : "missing ID", hint: "name reports, or give --aside")
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let wanted = try await LMSReports.ids(ids, all: aside ? [.aside] : nil, in: library)
    let count = isDryRun ? wanted.count : try await library.drop(wanted)
    LMSReports.show(isDryRun ? "would be dropped" : "dropped", count, of: wanted.count, session)
    return ExitStatus.done
  }
}
