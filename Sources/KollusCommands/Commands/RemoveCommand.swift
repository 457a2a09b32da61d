import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus remove`: destroys the key of a content, then its bytes, then what is known of it.
struct RemoveCommand: Command {
  static let keys = Input<[String]>.positionals("KEY", minimum: 0, help: "Media content keys.")
  static let all = Input<Bool>.flag("all", help: "Everything but samples.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say what would be removed; change nothing.")
  static let spec = CommandSpec(
    "remove", "Remove contents from this machine.",
    inputs: [keys.declaration, all.declaration, dryRun.declaration],
    examples: ["kollus remove AbCd1234", "kollus remove --all --dry-run"])

  var keys: [String]
  var all: Bool
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    keys = try given(Self.keys)
    all = try given(Self.all)
    isDryRun = try given(Self.dryRun)
    guard all != !keys.isEmpty else {
      throw UsageError(
        all ? "--all and a KEY exclude each other" : "missing KEY", hint: "name contents, or give --all")
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    var wanted = keys
    if all {
      var selection = Library.Selection()
      selection.states = Set(Content.State.allCases)
      wanted = try await library.contents(selection).filter { $0.kind != .sample }.map(\.mediaContentKey)
    }
    let display = session.display(logging: library.home)
    defer { display.close() }
    var failures: [KollusError] = []
    var writer = JSONWriter()
    writer.beginArray()
    for key in wanted {
      var failure: KollusError?
      do {
        try Task.checkCancellation()
        let content = try await session.content(key, in: library)
        if isDryRun {
          session.say("\(key.terminalSafe): would be removed (\(content.title.terminalSafe))")
        } else {
          try await library.remove(content, display.sink)
        }
      } catch {
        let error = Failure.of(error).of(key)
        failure = error
        failures.append(error)
        session.tell(error)
      }
      writer.beginObject()
      // A word that is no key of the library may be a URL put in the wrong place.
      writer.member("mediaContentKey", failure?.kind == .unknownContent ? key.withoutTokens : key)
      writer.member("removed", failure == nil && !isDryRun)
      writer.name("error")
      if let failure { Failure.write(failure, to: &writer) } else { writer.null() }
      writer.endObject()
      if failure?.kind == .interrupted { break }
    }
    writer.endArray()
    if session.common.json { session.write(json: writer.text) }
    return ExitStatus.of(batch: failures, of: wanted.count)
  }
}
