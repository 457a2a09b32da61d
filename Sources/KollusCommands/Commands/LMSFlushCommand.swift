import ArgumentKit
import JSONKit
import KollusCore
import SystemKit
import TerminalKit

/// `kollus lms-flush`: sends the stored reports of viewing.
struct LMSFlushCommand: Command {
  static let limit = Input<Int?>.option("limit", nil, "N", help: "Send at most N reports.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say what would be sent; send nothing.")
  static let spec = CommandSpec(
    "lms-flush", "Send stored reports of viewing to the LMS callback.",
    discussion: """
      Reports of one play go in their order, plays in parallel. What cannot be sent waits, what a receiver refuses is set aside; \
      'kollus lms list' shows both. A server's Retry-After is obeyed. With --quiet nothing is said when there is nothing to do, or \
      when the network is merely down: fit for cron.
      """,
    inputs: [limit.declaration, dryRun.declaration],
    examples: ["kollus lms-flush", "kollus lms-flush --quiet", "kollus lms-flush --limit 100 --json"])

  var limit: Int?
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    limit = try given(Self.limit)
    isDryRun = try given(Self.dryRun)
    if let limit, limit < 1 { throw UsageError("--limit must be at least 1") }
  }

  func run(_ session: Session) async throws -> Int32 {
    let settings = try session.settings()
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    if isDryRun {
      try await library.recoverViewings()
      let count = min(try await library.sendableReports(at: Int64(library.now())), limit ?? .max)
      if session.common.json {
        session.write(json: Self.json(pending: count))
      } else {
        session.say("\(count) reports would be sent")
      }
      return ExitStatus.done
    }
    let sender = try ReportSender(library: library, settings: settings, sink: display.sink)
    defer { sender.close() }
    let tally = try await sender.flush(limit: limit, obeysBackoff: false)
    if tally.successCount + tally.failCount > 0 || !session.common.quiet {
      display.sink.emit(
        .sendCompleteStoredLms(successCount: tally.successCount, failCount: tally.failCount))
    }
    display.close()
    if session.common.json { session.write(json: Self.json(tally)) }
    let holds = try await library.holds(at: Int64(library.now()))
    if tally.successCount + tally.failCount == 0, let first = holds.values.min() {
      session.tell(
        KollusError(
          .tryLater, "reports wait: their server asked not to be called before \(WallClock.text(first))",
          hint: "run the same command again after that"))
      return ExitStatus.of(.tryLater)
    }
    // What is held back for a server is not done.
    if tally.failCount == 0, !holds.isEmpty { return ExitStatus.partly }
    return Self.status(tally)
  }

  private static func status(_ tally: ReportSender.Tally) -> Int32 {
    if tally.failCount == 0 { return ExitStatus.done }
    if tally.successCount > 0 { return ExitStatus.partly }
    return ExitStatus.of(tally.hasRefusals ? .refused : .tryLater)
  }

  private static func json(_ tally: ReportSender.Tally) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("successCount", tally.successCount)
    writer.member("failCount", tally.failCount)
    writer.endObject()
    return writer.text
  }

  private static func json(pending: Int) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("pending", pending)
    writer.endObject()
    return writer.text
  }
}
