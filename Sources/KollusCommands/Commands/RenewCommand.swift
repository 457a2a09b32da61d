import ArgumentKit
import JSONKit
import KollusCore
import Synchronization
import TerminalKit

/// `kollus renew`: licences anew, one or all.
struct RenewCommand: Command {
  static let keys = Input<[String]>.positionals(
    "KEY", minimum: 0, help: "Media content keys; none means those that are expired or soon to be.")
  static let all = Input<Bool>.flag("all", help: "Everything that is downloaded under a licence.")
  static let onlyFailed = Input<Bool>.flag("only-failed", help: "Those whose last renewal failed.")
  static let within = Input<String?>.option(
    "within", nil, "TIME", help: "How soon an expiry must be to be renewed now; 72h unless configured.")
  static let splay = Input<TimeSpan?>.option(
    "splay", nil, "TIME",
    help: "Begin at a random moment within TIME, so that many machines do not call at once.")
  static let dryRun = Input<Bool>.flag(
    "dry-run", "n", help: "Say what would be renewed, and why; send nothing.")

  static let spec = CommandSpec(
    "renew", "Renew licences by the DRM callback.",
    discussion: """
      Soon to expire means: a date within --within, one play left or none, or less play time than one showing takes. \
      What could not be renewed is told content by content; the same command then asks only for what is left. Other \
      processes that renew are waited for, and what they renew counts as done.
      """,
    inputs: [
      keys.declaration, all.declaration, onlyFailed.declaration, within.declaration, splay.declaration,
      dryRun.declaration,
    ],
    examples: [
      "kollus renew", "kollus renew AbCd1234", "kollus renew --all --splay 30m --quiet",
      "kollus renew --dry-run",
    ])

  var scope: RenewalScope
  var flags: [(name: String, value: String?)]
  var splay: TimeSpan?
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    let keys = try given(Self.keys)
    let chosen = [!keys.isEmpty, try given(Self.all), try given(Self.onlyFailed)]
    guard chosen.count(where: { $0 }) <= 1 else {
      throw UsageError("KEY, --all and --only-failed exclude each other", hint: "give one of them, or none")
    }
    scope = chosen[0] ? .named(keys) : chosen[1] ? .all : chosen[2] ? .failed : .due
    flags = [("renewWithin", try given(Self.within))]
    splay = try given(Self.splay)
    isDryRun = try given(Self.dryRun)
  }

  func run(_ session: Session) async throws -> Int32 {
    let settings = try session.settings(flags)
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    if case .named(let keys) = scope {
      try await library.tidy(display.sink, only: keys)
    } else {
      try await library.tidy(display.sink)
    }
    let renewer = try Renewer(library: library, settings: settings, sink: display.sink)
    defer { renewer.close() }
    if isDryRun { return try await rehearse(renewer, session) }
    if let splay, splay.milliseconds > 0 {
      try await Task.sleep(for: .milliseconds(Int64.random(in: 0..<splay.milliseconds)))
    }
    let results = RenewalResults(session)
    var scope = scope
    if case .named(let keys) = scope {
      scope = .named(try await Self.sift(keys, library, session, display.sink, results))
    }
    if scope != .named([]) {
      do {
        try await renewer.run(scope) { results.add($0) }
      } catch {
        // What was done is told, then why it ended.
        results.end(isWhole: false)
        throw error
      }
    }
    display.close()
    return results.end()
  }

  /// The keys that can be renewed; the others have their result at once.
  private static func sift(
    _ keys: [String], _ library: Library, _ session: Session, _ sink: any EventSink, _ results: RenewalResults
  ) async throws -> [String] {
    var seen: Set<ExactText> = []
    var wanted: [String] = []
    for key in keys where seen.insert(ExactText(key)).inserted {
      do {
        let content = try await session.content(key, in: library)
        guard library.needsLicence(content) else {
          sink.emit(.note(.skipped, mediaContentKey: key, message: "it needs no licence"))
          results.add(RenewalOutcome(mediaContentKey: key, error: nil))
          continue
        }
        guard content.isDownloaded || content.isDamaged else {
          throw KollusError(
            .badData, code: KollusCode.notComplete,
            "the content is not downloaded (\(content.state.rawValue))",
            hint: "download it first", mediaContentKey: key)
        }
        wanted.append(key)
      } catch {
        let error = Failure.of(error).of(key)
        sink.emit(.drmUpdate(cur: 0, count: keys.count, mediaContentKey: key, error: error))
        results.add(RenewalOutcome(mediaContentKey: key, error: error))
      }
    }
    return wanted
  }

  private func rehearse(_ renewer: Renewer, _ session: Session) async throws -> Int32 {
    let array = session.common.json ? JSONArrayPrinter(session) : nil
    let count = Mutex(0)
    try await renewer.plan(scope) { candidate in
      count.withLock { $0 += 1 }
      guard let array else {
        session.say(
          "\(candidate.mediaContentKey.terminalSafe): would be renewed, \(candidate.reason.terminalSafe)")
        return
      }
      array.append { writer in
        writer.beginObject()
        writer.member("mediaContentKey", candidate.mediaContentKey)
        writer.member("title", candidate.title)
        writer.member("reason", candidate.reason)
        writer.endObject()
      }
    }
    array?.end()
    let number = count.withLock { $0 }
    session.say("\(number) would be renewed")
    return ExitStatus.done
  }
}

/// Prints the results of a renewal of any size as they come, and counts them.
private final class RenewalResults: Sendable {
  private let session: Session
  private let array: JSONArrayPrinter?
  private let state = Mutex((tally: BatchTally(), renewed: 0))

  init(_ session: Session) {
    self.session = session
    array = session.common.json ? JSONArrayPrinter(session) : nil
  }

  func add(_ outcome: RenewalOutcome) {
    // One that needs no licence is left out: neither renewed nor failed.
    let isRenewed = outcome.error == nil && outcome.licence != nil
    state.withLock { state in
      state.tally.count += 1
      if isRenewed { state.renewed += 1 }
      if let error = outcome.error { state.tally.add(error) }
    }
    guard let array else { return }
    array.append { writer in
      writer.beginObject()
      writer.member("mediaContentKey", outcome.mediaContentKey)
      writer.member("renewed", isRenewed)
      writer.name("error")
      if let error = outcome.error { Failure.write(error, to: &writer) } else { writer.null() }
      writer.endObject()
    }
    if let error = outcome.error { session.tell(error) }
  }

  /// Ends the document, says how many of how many, and returns the exit status.
  @discardableResult
  func end(isWhole: Bool = true) -> Int32 {
    array?.end()
    let (tally, renewed) = state.withLock { $0 }
    if tally.count == 0 {
      if isWhole { session.say("nothing to renew") }
    } else if tally.count > 1 {
      session.say("\(renewed) of \(tally.count) renewed")
    }
    return tally.status
  }
}
