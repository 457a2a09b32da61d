import ArgumentKit
import JSONKit
import KollusCore
import Synchronization
import TerminalKit

/// `kollus play-check`: whether contents may be played now, and whether they will last a trip.
struct PlayCheckCommand: Command {
  static let keys = Input<[String]>.positionals("KEY", minimum: 1, help: "Media content keys.")
  static let renew = Input<Bool>.flag(
    "renew", help: "First renew those that do not play, where that can help.")
  static let deep = Input<Bool>.flag("deep", help: "Read and check every stored segment.")
  static let until = Input<Moment?>.option(
    "until", nil, "DATE",
    help: "Also say whether it will last till then: 2026-12-24, 2026-12-24T18:00, or 7d.")
  static let plays = Input<Int64?>.option("plays", nil, "N", help: "Also say whether N plays are left.")
  static let watch = Input<TimeSpan?>.option(
    "watch", nil, "TIME", help: "Also say whether so much play time is left, such as 2h.")

  static let spec = CommandSpec(
    "play-check", "Say whether contents may be played, and if not, why.",
    discussion: """
      The answer is that of the stored licence, the file and the clock, without the network unless --renew is given. Ends \
      with 0 when all may be played (and will last), with 77 when a licence refuses, with 66 for an unknown key, with 65 for \
      one that is damaged or not downloaded. A licence that wants the server to be asked before each play refuses unless --renew \
      has just asked. A date without a time means the end of that day; without a zone it is local.
      """,
    inputs: [
      keys.declaration, renew.declaration, deep.declaration, until.declaration, plays.declaration,
      watch.declaration,
    ],
    examples: [
      "kollus play-check AbCd1234", "kollus play-check AbCd1234 --renew --json",
      "kollus play-check AbCd1234 --until 2026-12-24 --plays 3 --watch 2h",
    ])

  var keys: [String]
  var renews: Bool
  var isDeep: Bool
  var until: Moment?
  var trip: Trip

  init(_ given: ParsedArguments) throws(UsageError) {
    keys = try given(Self.keys)
    renews = try given(Self.renew)
    isDeep = try given(Self.deep)
    until = try given(Self.until)
    trip = Trip(plays: try given(Self.plays), watch: try given(Self.watch).map { $0.milliseconds / 1_000 })
    if let plays = trip.plays, plays < 1 { throw UsageError("--plays must be at least 1") }
  }

  func run(_ session: Session) async throws -> Int32 {
    let settings = renews ? try session.settings() : Settings()
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    var trip = trip
    trip.until = until?.seconds(after: library.now())
    if let until = trip.until, Double(until) < library.now() {
      throw KollusError(.usage, "--until lies in the past", hint: "give a date to come")
    }
    try await library.tidy(display.sink, only: keys)
    var findings: [Finding] = []
    for key in keys {
      try Task.checkCancellation()
      findings.append(await check(key, trip, library, session, display.sink))
    }
    if renews { try await renew(&findings, trip, library, settings, session, display.sink) }
    display.close()
    show(findings, session, display.sink)
    return Self.status(findings)
  }

  // MARK: Checking

  /// What was found of one content.
  private struct Finding: Sendable {
    let key: String
    var content: Content?
    var verdict: Verdict?
    /// Why it will not last; `nil` when nothing was asked, or it does not play at all.
    var shortfalls: [Verdict.Reason]?
    /// Why it could not be judged.
    var error: KollusError?
    /// What came of a renewal that was asked for.
    var renewal: KollusError?
    var isRenewed = false

    var isGood: Bool { error == nil && verdict?.mayPlay ?? false && shortfalls?.isEmpty ?? true }
  }

  private func check(
    _ key: String, _ trip: Trip, _ library: Library, _ session: Session, _ sink: any EventSink,
    isAsked: Bool = false
  ) async -> Finding {
    var finding = Finding(key: key)
    do {
      let content = try await session.content(key, in: library)
      let verdict = try await library.judge(content, isDeep: isDeep, isAsked: isAsked, sink)
      // The look at the file may have changed what is known of it.
      finding.content = try await library.content(key) ?? content
      finding.verdict = verdict
      if verdict.mayPlay, !trip.isEmpty {
        finding.shortfalls = content.licence.map { trip.shortfalls(of: $0.licence) } ?? []
      }
    } catch {
      finding.error = Failure.of(error).of(key)
    }
    return finding
  }

  /// Renews what does not play, or will not last, where the server may help.
  private func renew(
    _ findings: inout [Finding], _ trip: Trip, _ library: Library, _ settings: Settings, _ session: Session,
    _ sink: any EventSink
  ) async throws {
    var wanted: [String] = []
    var seen: Set<ExactText> = []
    for finding in findings where seen.insert(ExactText(finding.key)).inserted {
      guard let verdict = finding.verdict, let content = finding.content,
        verdict.canBeRenewed || !(finding.shortfalls ?? []).isEmpty,
        try await isWanted(content, verdict, session, sink)
      else { continue }
      wanted.append(finding.key)
    }
    guard !wanted.isEmpty else { return }
    let outcomes = RenewalOutcomes()
    var refusal: KollusError?
    let renewer = try Renewer(library: library, settings: settings, sink: sink)
    defer { renewer.close() }
    do {
      try await renewer.run(.named(wanted)) { outcomes.add($0) }
    } catch let error as KollusError where error.kind != .interrupted {
      // The stored licence still has the last word.
      session.tell(error)
      refusal = error
    }
    for index in findings.indices where wanted.contains(where: findings[index].key.isExactly) {
      let key = findings[index].key
      let outcome = outcomes.of(key)
      // Without an outcome nobody was asked.
      let isRenewed = outcome != nil && outcome?.error == nil
      findings[index] = await check(key, trip, library, session, sink, isAsked: isRenewed)
      findings[index].renewal = outcome == nil ? refusal?.of(key) : outcome?.error
      findings[index].isRenewed = isRenewed
    }
  }

  /// Asks the person at the terminal where the licence wants that (`DRMExpireRefreshPopup`).
  private func isWanted(
    _ content: Content, _ verdict: Verdict, _ session: Session, _ sink: any EventSink
  ) async throws -> Bool {
    guard content.licence?.licence.asksBeforeRenewal ?? false else { return true }
    let key = content.mediaContentKey.terminalSafe
    let reason = verdict.reasons.first?.message ?? "it will not last"
    guard !session.common.json, !session.common.quiet,
      let answer = try await session.context.ask("\(key): \(reason.terminalSafe). Renew the licence? [Y/n] ")
    else {
      sink.emit(
        .note(
          .warning, mediaContentKey: content.mediaContentKey,
          message: "the licence wants a question before it is renewed; nobody is there to answer, going on"))
      return true
    }
    let words = ["", "y", "yes", "예", "네", "はい"]
    return words.contains(answer.lowercased().filter { !$0.isWhitespace })
  }

  // MARK: Telling

  private static func status(_ findings: [Finding]) -> Int32 {
    let statuses = findings.filter { !$0.isGood }.map { finding -> Int32 in
      if let error = finding.error { return ExitStatus.of(error.kind) }
      switch finding.verdict?.reasons.first?.name {
      case .notReady, .damaged: return ExitStatus.of(.badData)
      default: return ExitStatus.of(.licence)
      }
    }
    // What could not be judged at all weighs most, then 65 before 66 before 77.
    let known = [65, 66, 77].map(Int32.init)
    return statuses.first { !known.contains($0) } ?? statuses.min() ?? ExitStatus.done
  }

  private func show(_ findings: [Finding], _ session: Session, _ sink: any EventSink) {
    if session.common.json {
      var writer = JSONWriter()
      writer.beginArray()
      for finding in findings { write(finding, to: &writer) }
      writer.endArray()
      session.write(json: writer.text)
      for finding in findings { finding.error.map(session.tell) }
      return
    }
    for finding in findings {
      let key = finding.key.withoutTokens.terminalSafe
      if let error = finding.error {
        session.tell(error)
      } else if finding.isGood {
        let licence = finding.content?.licence.map { ": \($0.licence.summary)" } ?? ""
        session.say("\(key): may be played\(licence)")
        if session.common.events != nil, !session.common.json {
          sink.emit(.note(.verdict, mediaContentKey: finding.key, message: "may be played\(licence)"))
        }
      } else {
        let reasons = (finding.verdict?.reasons ?? []) + (finding.shortfalls ?? [])
        let what =
          finding.verdict?.mayPlay ?? false ? "may be played now, but will not last" : "may not be played"
        var lines = ["\(key): \(what)"] + reasons.map { "  \($0.message.terminalSafe) (\($0.code))" }
        if let hint = reasons.first?.hint { lines.append("  hint: \(hint)") }
        // A refusal is what a person must act on, so it is told with --quiet too.
        session.show(lines.joined(separator: "\n") + "\n")
        if session.common.events != nil, !session.common.json {
          sink.emit(
            .note(
              .verdict, mediaContentKey: finding.key,
              message: "\(what): \(reasons.map { "\($0.message) (\($0.code))" }.joined(separator: "; "))"))
        }
      }
    }
  }

  private func write(_ finding: Finding, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member(
      "mediaContentKey", finding.error?.kind == .unknownContent ? finding.key.withoutTokens : finding.key)
    writer.member("mayPlay", finding.verdict?.mayPlay ?? false)
    writer.member("code", finding.verdict?.code ?? finding.error?.code ?? 0)
    writer.name("reasons")
    write(finding.verdict?.reasons ?? [], to: &writer)
    writer.member("lasts", finding.shortfalls.map(\.isEmpty))
    writer.name("shortfalls")
    write(finding.shortfalls ?? [], to: &writer)
    writer.member("renewed", finding.isRenewed)
    writer.name("renewalError")
    if let error = finding.renewal { Failure.write(error, to: &writer) } else { writer.null() }
    writer.name("error")
    if let error = finding.error { Failure.write(error, to: &writer) } else { writer.null() }
    if let content = finding.content, let verdict = finding.verdict {
      writer.member("downloaded", content.isDownloaded)
      writer.member("needsNetwork", content.licence?.licence.checksAbuse ?? false)
      content.write(licence: verdict, to: &writer)
    }
    writer.endObject()
  }

  private func write(_ reasons: [Verdict.Reason], to writer: inout JSONWriter) {
    writer.beginArray()
    for reason in reasons {
      writer.beginObject()
      writer.member("reason", reason.name.rawValue)
      writer.member("code", reason.code)
      writer.member("message", reason.message)
      writer.member("hint", reason.hint)
      writer.endObject()
    }
    writer.endArray()
  }
}

/// What the renewals of a check came to, by key.
private final class RenewalOutcomes: Sendable {
  private let state = Mutex<[ExactText: RenewalOutcome]>([:])

  func add(_ outcome: RenewalOutcome) { state.withLock { $0[ExactText(outcome.mediaContentKey)] = outcome } }

  func of(_ key: String) -> RenewalOutcome? { state.withLock { $0[ExactText(key)] } }
}
