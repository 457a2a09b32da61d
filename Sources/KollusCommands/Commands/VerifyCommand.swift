import ArgumentKit
import JSONKit
import KollusCore
import SystemKit
import TerminalKit

/// `kollus verify`: reads every stored segment and checks it; `--repair` fetches again what is damaged.
struct VerifyCommand: Command {
  static let keys = Input<[String]>.positionals(
    "KEY", minimum: 0, help: "Media content keys; none means all that are downloaded.")
  static let repair = Input<Bool>.flag(
    "repair", help: "Fetch damaged segments again, and nothing else; licences stay as they are.")
  static let budget = Input<TimeSpan?>.option(
    "budget", nil, "TIME", help: "Begin no further content after TIME; the next run goes on from there.")
  static let origin = Input<String?>.option("origin", nil, "URL", help: "Where keys are looked up.")
  static let spec = CommandSpec(
    "verify", "Check every stored segment against its digest, and repair.",
    discussion: """
      Contents whose last check is the longest ago come first. A damaged content is out of use until it is repaired; its \
      file stays as it is until what replaces a segment is proved.
      """,
    inputs: [keys.declaration, repair.declaration, budget.declaration, origin.declaration],
    examples: [
      "kollus verify", "kollus verify AbCd1234 --json", "kollus verify --repair --budget 5m --quiet",
    ])

  var keys: [String]
  var repairs: Bool
  var budget: TimeSpan?
  var origin: String?

  init(_ given: ParsedArguments) throws(UsageError) {
    keys = try given(Self.keys)
    repairs = try given(Self.repair)
    budget = try given(Self.budget)
    origin = try given(Self.origin)
  }

  func run(_ session: Session) async throws -> Int32 {
    let settings = repairs ? try session.settings([("origin", origin)]) : nil
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    try await library.tidy(display.sink, only: keys.isEmpty ? nil : keys)
    let downloader = try settings.map { settings throws(KollusError) in
      try Downloader(home: library.home, library: library, settings: settings, sink: display.sink)
    }
    defer { downloader?.close() }
    let wanted = keys.isEmpty ? try await library.keysToVerify() : keys
    let array = JSONArrayPrinter(session)
    var tally = BatchTally()
    let end = budget.map { ContinuousClock.now + $0.duration }
    for key in wanted {
      if let end, ContinuousClock.now >= end {
        session.say("\(tally.count) of \(wanted.count) checked; the next run goes on from there")
        break
      }
      let finding = await Self.check(key, library, downloader, session, display.sink)
      tally.count += 1
      if session.common.json { array.append { Self.write(key, finding, to: &$0) } }
      guard let failure = finding.failure else {
        session.say(Self.line(key, finding))
        continue
      }
      tally.add(failure)
      session.tell(failure)
      if failure.kind == .interrupted { break }
    }
    if session.common.json { array.end() }
    return tally.failures > 0 ? tally.status : ExitStatus.done
  }

  /// What was found of one content.
  private struct Finding: Sendable {
    var segments: Int?
    var damaged: [Int] = []
    var repaired: [Int] = []
    var failure: KollusError?
  }

  private static func check(
    _ key: String, _ library: Library, _ downloader: Downloader?, _ session: Session, _ sink: any EventSink
  ) async -> Finding {
    do {
      let content = try await session.content(key, in: library)
      if let downloader {
        let repair = try await downloader.repair(content)
        return Finding(segments: repair.segments, repaired: repair.repaired)
      }
      let found = try await library.verify(content, sink)
      guard !found.damaged.isEmpty else { return Finding(segments: found.segments) }
      let failure = KollusError(
        .badData, code: KollusCode.damaged,
        "\(found.damaged.count) of \(found.segments) segments are damaged", hint: Library.repairHint,
        mediaContentKey: key)
      return Finding(segments: found.segments, damaged: found.damaged, failure: failure)
    } catch {
      return Finding(failure: Failure.of(error).of(key))
    }
  }

  private static func line(_ key: String, _ finding: Finding) -> String {
    let segments = finding.segments ?? 0
    return finding.repaired.isEmpty
      ? "\(key.terminalSafe): sound, \(segments) segments"
      : "\(key.terminalSafe): sound again, \(finding.repaired.count) of \(segments) segments repaired"
  }

  private static func write(_ key: String, _ finding: Finding, to writer: inout JSONWriter) {
    writer.beginObject()
    // A word that is no key of the library may be a URL put in the wrong place.
    let isUnknown = finding.failure?.kind == .unknownContent
    writer.member("mediaContentKey", isUnknown ? key.withoutTokens : key)
    writer.member("sound", finding.failure == nil)
    writer.member("segments", finding.segments)
    writer.name("damaged")
    writer.beginArray()
    for index in finding.damaged { writer.value(index) }
    writer.endArray()
    writer.name("error")
    if let failure = finding.failure { Failure.write(failure, to: &writer) } else { writer.null() }
    writer.name("repaired")
    writer.beginArray()
    for index in finding.repaired { writer.value(index) }
    writer.endArray()
    writer.endObject()
  }
}
