import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus move`: other virtual folders for contents.
struct MoveCommand: Command {
  static let keys = Input<[String]>.positionals("KEY", minimum: 0, help: "Media content keys.")
  static let folder = Input<String?>.option(
    "folder", nil, "PATH", help: "Where to, such as math/unit 1; / is the root.")
  static let from = Input<String?>.option(
    "from", nil, "PATH", help: "Move this whole virtual folder: it becomes --folder, with all below it.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say what would be moved; change nothing.")
  static let spec = CommandSpec(
    "move", "Move contents to another virtual folder, or rename a folder.",
    discussion: """
      Folders are made as needed, and one that holds nothing any more is gone. What there is of the contents is moved as a whole or not at all. Files on the disk stay \
      where they are.
      """,
    inputs: [keys.declaration, folder.declaration, from.declaration, dryRun.declaration],
    examples: [
      "kollus move AbCd1234 --folder 'math/unit 2'", "kollus move --from math --folder 'mathematics'",
    ])

  var keys: [String]
  var folder: String
  var from: String?
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    keys = try given(Self.keys)
    isDryRun = try given(Self.dryRun)
    guard let target = try given(Self.folder), !target.isEmpty else {
      throw UsageError("missing --folder", hint: "give the folder to move to; / is the root")
    }
    folder = try Usage.folder(target)
    from = try given(Self.from).map { path throws(UsageError) in try Usage.folder(path) }
    if from == "" { throw UsageError("--from may not be the root", hint: "name the contents to be moved") }
    guard (from == nil) != keys.isEmpty else {
      throw UsageError(
        from == nil ? "missing KEY" : "--from and a KEY exclude each other",
        hint: "name contents, or a folder with --from")
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    var batch = KeyBatch(session, done: "moved")
    if let from {
      for move in try await library.moveFolder(from, to: folder, isRehearsal: isDryRun) {
        add(move, to: &batch, display.sink, session)
      }
      return batch.end()
    }
    var moves: [ExactText: Library.Move] = [:]
    for move in try await library.move(keys, to: folder, isRehearsal: isDryRun) {
      moves[ExactText(move.mediaContentKey)] = move
    }
    for key in keys {
      if let move = moves[ExactText(key)] {
        add(move, to: &batch, display.sink, session)
      } else {
        // Asked once more, for the failure.
        _ = await batch.run(
          key, members: { $0.member("folder", nil as String?) },
          work: {
            _ = try await session.content(key, in: library)
          })
      }
    }
    return batch.end()
  }

  private func add(
    _ move: Library.Move, to batch: inout KeyBatch, _ sink: any EventSink, _ session: Session
  ) {
    let what = "from \(Self.name(move.from)) to \(Self.name(move.to))"
    if isDryRun {
      session.say("\(move.mediaContentKey.terminalSafe): would be moved \(what.terminalSafe)")
    } else if move.isChange {
      sink.emit(.note(.moved, mediaContentKey: move.mediaContentKey, message: what))
    }
    batch.add(move.mediaContentKey, nil, isDone: move.isChange && !isDryRun) {
      $0.member("folder", move.to)
    }
  }

  private static func name(_ folder: String) -> String { folder.isEmpty ? "/" : folder }
}
