import ArgumentKit
import KollusCore

/// `kollus watch`: the progress of downloads that other processes run.
struct WatchCommand: Command {
  static let keys = Input<[String]>.positionals(
    "KEY", minimum: 0, help: "Media content keys; none means all that are downloaded now.")
  static let spec = CommandSpec(
    "watch", "Show the progress of downloads that other processes run.",
    discussion: """
      Ends when they do, with the status that 'download' would have. Without KEY, contents that begin meanwhile are shown as well, and it ends when \
      nothing has been downloaded for a second. A content that nobody downloads has its outcome then: 0 when it is ready, its failure's \
      status when it has failed, 130 when it was cancelled, otherwise 75.
      """,
    inputs: [keys.declaration], examples: ["kollus watch", "kollus watch AbCd1234 --events jsonl"])

  var keys: [String]

  init(_ given: ParsedArguments) throws(UsageError) { keys = try given(Self.keys) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display()
    defer { display.close() }
    let watch = DownloadWatch(library, display.sink)
    let outcomes = keys.isEmpty ? try await watch.all() : await watch.outcomes(of: keys)
    display.close()
    if outcomes.isEmpty { session.say("nothing is downloaded now") }
    let report = try await DownloadReport(outcomes, library)
    report.show(session)
    return report.status
  }
}
