import JSONKit
import KollusCore
import TerminalKit

/// What became of the contents of a `download` or a `watch`.
struct DownloadReport {
  private let outcomes: [DownloadOutcome]
  private let isDryRun: Bool
  private let library: Library
  private let ledger: TimeLedger?

  init(_ outcomes: [DownloadOutcome], isDryRun: Bool = false, _ library: Library) async throws {
    (self.outcomes, self.isDryRun, self.library) = (outcomes, isDryRun, library)
    ledger = try await library.ledger()
  }

  private var failures: [KollusError] {
    outcomes.compactMap { if case .failure(let error) = $0.result { error } else { nil } }
  }

  /// The exit status of them all.
  var status: Int32 { ExitStatus.of(batch: failures, of: outcomes.count) }

  /// Prints what the events did not tell.
  func show(_ session: Session) {
    if session.common.json {
      session.write(json: json)
      // A failure is one JSON object on the other stream as well, so that it is never overlooked.
      for error in failures { session.tell(error) }
    } else if isDryRun {
      showPlan(session)
    } else if outcomes.count > 1 {
      session.say("\(outcomes.count - failures.count) of \(outcomes.count) downloaded")
    }
  }

  private func showPlan(_ session: Session) {
    for outcome in outcomes {
      switch outcome.result {
      case .failure(let error): session.tell(error)
      case .success(let content):
        let what = content.isDownloaded ? "is here" : "would fetch \(ByteCountText(outcome.pending))"
        session.say("\(content.mediaContentKey.terminalSafe) (\(content.title.terminalSafe)): \(what)")
      }
    }
    let sum = outcomes.reduce(Int64(0)) { $0.addingReportingOverflow($1.pending).partialValue }
    session.say("in all \(ByteCountText(sum))")
  }

  private var json: String {
    var writer = JSONWriter()
    writer.beginArray()
    for outcome in outcomes {
      writer.beginObject()
      writer.member("mediaContentKey", outcome.mediaContentKey)
      switch outcome.result {
      case .success(let content):
        writer.member("downloaded", content.isDownloaded)
        if isDryRun { writer.member("pendingSize", outcome.pending) }
        writer.name("content")
        content.write(
          to: &writer, mediaPath: library.home.mediaPath,
          licence: library.licenceVerdict(content, ledger: ledger))
        writer.member(error: nil)
      case .failure(let error):
        // A completion that was not accepted leaves the content here, and its licence expired.
        writer.member("downloaded", error.code == Int(Licence.Cause.completion.rawValue))
        writer.name("content")
        writer.null()
        writer.member(error: error)
      }
      writer.endObject()
    }
    writer.endArray()
    return writer.text
  }
}
