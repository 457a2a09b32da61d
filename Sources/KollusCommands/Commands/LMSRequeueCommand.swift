import ArgumentKit
import JSONKit
import KollusCore

/// `kollus lms requeue`: sends again what was set aside.
struct LMSRequeueCommand: Command {
  static let ids = Input<[Int64]>.positionals("ID", minimum: 0, help: "Numbers of reports.")
  static let all = Input<Bool>.flag("all", help: "Everything that is set aside.")
  static let spec = CommandSpec(
    "lms requeue", "Put reports that were set aside back among those to be sent.",
    inputs: [ids.declaration, all.declaration],
    examples: ["kollus lms requeue 17", "kollus lms requeue --all"])

  var ids: [Int64]
  var all: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    ids = try given(Self.ids)
    all = try given(Self.all)
    guard all != !ids.isEmpty else {
      throw UsageError(
        all ? "--all and an ID exclude each other" : "missing ID", hint: "name reports, or give --all")
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let wanted = try await LMSReports.ids(ids, all: all ? [.aside] : nil, in: library)
    let count = try await library.requeue(wanted)
    LMSReports.show("requeued", count, of: wanted.count, session)
    // What was sent or superseded is not sent again.
    return count == wanted.count ? ExitStatus.done : ExitStatus.partly
  }
}
