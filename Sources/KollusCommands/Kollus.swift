package import ArgumentKit
import KollusCore
import Synchronization
import TerminalKit

/// The tool as a function: words in, exit status out.
///
/// `main` and the tests both call this.
package enum Kollus {
  package static let version = Version.current

  static let commands: [any Command.Type] = [
    DownloadCommand.self, WatchCommand.self, CancelCommand.self, ListCommand.self, ShowCommand.self,
    ExportCommand.self, VerifyCommand.self,
    RenewCommand.self, PlayCheckCommand.self, PlayCommand.self, LMSFlushCommand.self, LMSListCommand.self,
    LMSShowCommand.self, LMSRequeueCommand.self, LMSDropCommand.self, LMSExportCommand.self,
    MoveCommand.self, RemoveCommand.self, EventsCommand.self, DoctorCommand.self, ConfigCommand.self,
    IdentityCommand.self,
    CompletionsCommand.self,
  ]

  /// Every declared command, for parsing, help and completion.
  package static let tree = CommandTree(
    tool: "kollus", "Keeps Kollus contents on this machine for offline use.",
    commands: commands.map { $0.spec },
    groups: [CommandGroup("lms", "Stored reports of viewing.")],
    common: CommonInputs.all)

  /// Runs the command that `words` name; SIGINT and SIGTERM end it cleanly with 130 and 143.
  package static func run(_ words: [String], in context: Context) async -> Int32 {
    let interruption = Interruption()
    let task = Task { await dispatch(words, in: context, interruption) }
    let watch = context.watchSignals { number in
      interruption.note(number)
      task.cancel()
    }
    defer { withExtendedLifetime(watch) {} }
    let status = await task.value
    guard let number = interruption.number, status != ExitStatus.done else { return status }
    return 128 + number
  }

  private static func dispatch(
    _ words: [String], in context: Context, _ interruption: Interruption
  ) async -> Int32 {
    do throws(UsageError) {
      if words == ["help", "--markdown"] { return print(markdown, in: context) }
      switch try tree.parse(words) {
      case .help(let path):
        return print(tree.help(for: path, width: min(100, context.outputColumns() ?? 80)), in: context)
      case .version: return print("kollus \(version)\n", in: context)
      case .run(let path, let given):
        guard let type = commands.first(where: { $0.spec.name == path }) else {
          return ExitStatus.of(.internalFailure)
        }
        let command = try type.init(given)
        return await run(
          command, in: Session(context: context, common: try CommonInputs(given), interruption))
      }
    } catch {
      return refuse(error, words, in: context)
    }
  }

  private static func run(_ command: any Command, in session: Session) async -> Int32 {
    do {
      let status = try await command.run(session)
      return session.isHeard ? status : ExitStatus.inputOutput
    } catch {
      let error = Failure.of(error)
      session.tell(error)
      return ExitStatus.of(error.kind)
    }
  }

  private static func print(_ text: String, in context: Context) -> Int32 {
    let text = text.hasSuffix("\n") ? text : text + "\n"
    return context.standardOutput(text) ? ExitStatus.done : ExitStatus.inputOutput
  }

  private static func refuse(_ error: UsageError, _ words: [String], in context: Context) -> Int32 {
    let failure = KollusError(.usage, error.message, hint: error.hint)
    // The words were not understood, so what they say of the form of errors is looked for, not parsed.
    if words.prefix(while: { $0 != "--" }).contains("--json") {
      _ = context.standardError(Failure.json(failure, status: ExitStatus.usage) + "\n")
    } else {
      let path = tree.path(in: words).map { "kollus help \($0)" } ?? "kollus help"
      let hint = error.hint.map { "hint: \($0.withoutTokens.terminalSafe)\n" } ?? ""
      _ = context.standardError("error: \(error.message.withoutTokens.terminalSafe)\n\(hint)See '\(path)'.\n")
    }
    return ExitStatus.usage
  }

  /// The part of the README that comes from the declarations.
  private static var markdown: String {
    var text = tree.markdownTable
    text += "\n\n| status | meaning |\n|---|---|\n"
    for row in ExitStatus.table { text += "| \(row.status) | \(row.meaning) |\n" }
    return text
  }
}

/// The first signal that asked to stop.
final class Interruption: Sendable {
  private let first = Mutex<Int32?>(nil)
  var number: Int32? { first.withLock { $0 } }
  func note(_ number: Int32) { first.withLock { $0 = $0 ?? number } }
}
