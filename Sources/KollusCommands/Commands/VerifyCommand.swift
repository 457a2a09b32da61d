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
    let display = session.display()
    defer { display.close() }
    try await library.tidy(display.sink)
    var wanted = keys
    if wanted.isEmpty {
      var selection = Library.Selection()
      selection.states = [.ready, .failed]
      wanted = try await library.contents(selection)
        .filter { $0.isDownloaded || $0.failure?.code == KollusCode.damaged }.map(\.mediaContentKey)
    }
    var failures: [KollusError] = []
    var writer = JSONWriter()
    writer.beginArray()
    for key in wanted {
      var soundness: Library.Soundness?
      var failure: KollusError?
      do {
        let content = try await session.content(key, in: library)
        let found = try await library.verify(content, display.sink)
        soundness = found
        if !found.damaged.isEmpty {
          failure = KollusError(
            .badData, code: KollusCode.damaged,
            "\(found.damaged.count) of \(found.segments) segments are damaged",
            hint: "run 'kollus download' for it: only the damaged segments are fetched", mediaContentKey: key)
        }
      } catch {
        failure = Failure.of(error).of(key)
      }
      Self.write(key, soundness, failure, to: &writer)
      if let failure {
        failures.append(failure)
        session.tell(failure)
        if failure.kind == .interrupted { break }
      } else {
        session.say("\(key.terminalSafe): sound, \(soundness?.segments ?? 0) segments")
      }
    }
    writer.endArray()
    if session.common.json { session.write(json: writer.text) }
    return ExitStatus.of(batch: failures, of: wanted.count)
  }

  private static func write(
    _ key: String, _ soundness: Library.Soundness?, _ failure: KollusError?, to writer: inout JSONWriter
  ) {
    writer.beginObject()
    // A word that is no key of the library may be a URL put in the wrong place.
    writer.member("mediaContentKey", failure?.kind == .unknownContent ? key.withoutTokens : key)
    writer.member("sound", failure == nil)
    writer.member("segments", soundness?.segments)
    writer.name("damaged")
    writer.beginArray()
    for index in soundness?.damaged ?? [] { writer.value(index) }
    writer.endArray()
    writer.name("error")
    if let failure { Failure.write(failure, to: &writer) } else { writer.null() }
    writer.endObject()
  }
}
