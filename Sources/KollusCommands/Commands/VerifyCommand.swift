import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus verify`: reads every stored segment and checks it.
struct VerifyCommand: Command {
  static let keys = Input<[String]>.positionals(
    "KEY", minimum: 0, help: "Media content keys; none means all that are downloaded.")
  static let spec = CommandSpec(
    "verify", "Check every stored segment against its digest.",
    discussion: "What is damaged is fetched again by 'kollus download', segment by segment.",
    inputs: [keys.declaration], examples: ["kollus verify", "kollus verify AbCd1234 --json"])

  var keys: [String]

  init(_ given: ParsedArguments) throws(UsageError) { keys = try given(Self.keys) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    try await library.tidy(display.sink)
    let wanted = keys.isEmpty ? try await library.keysToVerify() : keys
    var failures: [KollusError] = []
    var writer = JSONWriter()
    writer.beginArray()
    for key in wanted {
      let finding = await Self.check(key, library, session, display.sink)
      Self.write(key, finding, to: &writer)
      guard let failure = finding.failure else {
        session.say("\(key.terminalSafe): sound, \(finding.segments ?? 0) segments")
        continue
      }
      failures.append(failure)
      session.tell(failure)
      if failure.kind == .interrupted { break }
    }
    writer.endArray()
    if session.common.json { session.write(json: writer.text) }
    return ExitStatus.of(batch: failures, of: wanted.count)
  }

  /// What was found of one content.
  private struct Finding: Sendable {
    var segments: Int?
    var damaged: [Int] = []
    var failure: KollusError?
  }

  private static func check(
    _ key: String, _ library: Library, _ session: Session, _ sink: any EventSink
  ) async -> Finding {
    do {
      let found = try await library.verify(try await session.content(key, in: library), sink)
      guard !found.damaged.isEmpty else { return Finding(segments: found.segments) }
      let failure = KollusError(
        .badData, code: KollusCode.damaged,
        "\(found.damaged.count) of \(found.segments) segments are damaged",
        hint: "run 'kollus download' for it: only the damaged segments are fetched", mediaContentKey: key)
      return Finding(segments: found.segments, damaged: found.damaged, failure: failure)
    } catch {
      return Finding(failure: Failure.of(error).of(key))
    }
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
    writer.endObject()
  }
}
