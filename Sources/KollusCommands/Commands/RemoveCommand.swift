import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus remove`: destroys the key of a content, then its bytes, then what is known of it.
struct RemoveCommand: Command {
  static let keys = Input<[String]>.positionals("KEY", minimum: 0, help: "Media content keys.")
  static let all = Input<Bool>.flag("all", help: "Everything but samples.")
  static let expired = Input<Bool>.flag("expired", help: "Contents whose licence has run out.")
  static let watched = Input<Bool>.flag("watched", help: "Contents that were watched to nine tenths or more.")
  static let unused = Input<TimeSpan?>.option(
    "unused", nil, "TIME", help: "Contents neither played nor downloaded within TIME, such as 30d.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say what would be removed; change nothing.")
  static let spec = CommandSpec(
    "remove", "Remove contents from this machine.",
    discussion: """
      --expired, --watched and --unused may be given together: any of them is enough. They leave samples, what is being played or \
      downloaded, and every content whose licence or clock is in doubt. A licence that could be renewed counts as run out all the \
      same. Reports of viewing that were not sent are kept in any case.
      """,
    inputs: [
      keys.declaration, all.declaration, expired.declaration, watched.declaration, unused.declaration,
      dryRun.declaration,
    ],
    examples: [
      "kollus remove AbCd1234", "kollus remove --all --dry-run",
      "kollus remove --expired --unused 30d --quiet",
    ])

  var keys: [String]
  var all: Bool
  var clearing = Clearing()
  var isDryRun: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    keys = try given(Self.keys)
    all = try given(Self.all)
    clearing.expired = try given(Self.expired)
    clearing.watched = try given(Self.watched)
    clearing.unusedFor = try given(Self.unused).map { $0.milliseconds / 1_000 }
    isDryRun = try given(Self.dryRun)
    let chosen = [!keys.isEmpty, all, !clearing.isEmpty].count { $0 }
    guard chosen == 1 else {
      throw UsageError(
        chosen == 0 ? "missing KEY" : "KEY, --all and --expired, --watched, --unused exclude each other",
        hint: "name contents, or give --all, or any of --expired, --watched and --unused")
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    var batch = KeyBatch(session, done: "removed")
    var freed: Int64 = 0
    for key in try await wanted(library) {
      var reasons: [String] = []
      if !clearing.isEmpty {
        // Judged one by one, each right before it goes: a renewal or a play may come between.
        guard let content = try await library.content(key) else { continue }
        reasons = try await library.reasons(to: clearing, content)
        if reasons.isEmpty { continue }
      }
      let size = library.home.mediaFootprint(of: key)
      let isOver = await batch.run(key, isRehearsal: isDryRun) { writer in
        Self.write(reasons, size, to: &writer)
      } work: {
        let content = try await session.content(key, in: library)
        if isDryRun {
          let why = reasons.isEmpty ? "" : ", \(reasons.joined(separator: ", "))"
          session.say(
            "\(key.terminalSafe): would be removed (\(content.title.terminalSafe))\(why.terminalSafe)")
        } else {
          try await library.remove(content, display.sink)
        }
        freed += size
      }
      if isOver { break }
    }
    display.close()
    if !clearing.isEmpty {
      session.say(
        batch.isEmpty
          ? "nothing to remove" : "\(ByteCountText(freed)) \(isDryRun ? "would be freed" : "freed")")
    }
    return batch.end()
  }

  /// The keys to look at, in the order of the list.
  private func wanted(_ library: Library) async throws -> [String] {
    var seen: Set<ExactText> = []
    guard keys.isEmpty else { return keys.filter { seen.insert(ExactText($0)).inserted } }
    var selection = Library.Selection()
    selection.states = all ? Set(Content.State.allCases) : [.ready]
    return try await library.keys(selection) { $0.kind != .sample }
  }

  private static func write(_ reasons: [String], _ size: Int64, to writer: inout JSONWriter) {
    writer.name("reasons")
    writer.beginArray()
    for reason in reasons { writer.value(reason) }
    writer.endArray()
    writer.member("size", size)
  }
}
