import ArgumentKit
import JSONKit
import KollusCore
import Synchronization
import SystemKit
import TerminalKit

/// `kollus list`: what the library holds.
struct ListCommand: Command {
  static let scheme = Input<String?>.positional(
    "URL", help: "A kollus://list URL, whose folder is then shown.")
  static let states = Input<[String]>.options(
    "state", nil, "STATE",
    help: "Only this state: \(Content.State.allCases.map(\.rawValue).joined(separator: ", ")).")
  static let recent = Input<Bool>.flag("recent", help: "Only what was downloaded within 7 days.")
  static let sort = Input<Library.Selection.Order>.choice(
    "sort", nil, "ORDER", default: .registered, help: "Order of the list.")
  static let folder = Input<String?>.option(
    "folder", nil, "PATH", help: "Only this virtual folder and those below it.")

  static let expired = Input<Bool>.flag("expired", help: "Only contents whose licence does not allow a play.")
  static let expiring = Input<TimeSpan?>.option(
    "expiring", nil, "TIME",
    help: "Only contents whose licence will soon run out: within TIME, or with the next play.")

  static let tree = Input<Bool>.flag("tree", help: "Show folders as a tree, contents before inner folders.")
  static let columns = Input<ListColumns?>.option(
    "columns", nil, "NAMES", help: "What to show, in this order, such as key,title; for people.")

  static let spec = CommandSpec(
    "list", "List the contents of the library.",
    discussion: """
      Contents whose file is gone are marked missing first, and shown only with --state missing. Columns are \
      \(ListColumn.allCases.map(\.rawValue).joined(separator: ", ")).
      """,
    inputs: [
      scheme.declaration, states.declaration, recent.declaration, expired.declaration, expiring.declaration,
      sort.declaration, folder.declaration, tree.declaration, columns.declaration,
    ],
    examples: [
      "kollus list --expiring 7d", "kollus list", "kollus list --state failed --json",
      "kollus list --recent --sort time", "kollus list --tree --columns key,title",
    ])

  var selection = Library.Selection()
  var isRecent: Bool
  var isExpired: Bool
  var expiring: TimeSpan?
  var isTree: Bool
  var columns: [ListColumn]?

  init(_ given: ParsedArguments) throws(UsageError) {
    isRecent = try given(Self.recent)
    isExpired = try given(Self.expired)
    expiring = try given(Self.expiring)
    selection.order = try given(Self.sort)
    isTree = try given(Self.tree)
    selection.isByFolder = isTree
    columns = try given(Self.columns)?.columns
    for word in try given(Self.states) {
      guard let state = Content.State(rawValue: word) else {
        throw UsageError(
          "'\(word)' is not a state",
          hint: "states are \(Content.State.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      selection.states = (selection.states ?? []).union([state])
    }
    if let path = try given(Self.folder) { selection.folder = try Usage.folder(path) }
    guard let word = try given(Self.scheme) else { return }
    do throws(KollusError) {
      guard let request = try ContentReference.request(word), request.action == "list" else {
        throw KollusError(.usage, "'\(word)' is no kollus://list URL")
      }
      selection.folder = request.folder ?? selection.folder
    } catch {
      throw UsageError(error.message, hint: error.hint)
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    if columns != nil, session.common.json {
      throw KollusError(.usage, "--columns is for people; --json always has all members")
    }
    let library = try session.openLibrary()
    var selection = selection
    if isRecent { selection.downloadedSince = Int64(session.context.now()) - 7 * 86_400 }
    let display = session.display(logging: library.home)
    try await library.tidy(display.sink)
    display.close()
    let ledger = try await library.ledger()
    if session.common.json {
      try await writeJSON(selection, of: library, ledger, session)
    } else {
      try await writeTable(selection, of: library, ledger, session)
    }
    return ExitStatus.done
  }

  /// Whether a content is wanted by what its licence allows.
  private func isWanted(_ content: Content, _ verdict: Verdict, _ ledger: TimeLedger?, at now: Double) -> Bool
  {
    guard isExpired || expiring != nil else { return true }
    if isExpired, !verdict.mayPlay { return true }
    guard let expiring, verdict.mayPlay, let licence = content.licence?.licence else { return false }
    let time = ledger?.time(Int64(now)) ?? Int64(now)
    return licence.soon(time, within: expiring.milliseconds / 1_000, duration: content.duration) != nil
  }

  /// Row by row, as the table: a library of any size is printed in the memory of one block.
  private func writeJSON(
    _ selection: Library.Selection, of library: Library, _ ledger: TimeLedger?, _ session: Session
  ) async throws {
    let array = JSONArrayPrinter(session)
    let mediaPath = library.home.mediaPath
    let trail = Mutex(FolderTrail())
    do {
      try await library.forEach(selection) { content in
        let verdict = library.licenceVerdict(content, ledger: ledger, readsFile: isExpired)
        guard isWanted(content, verdict, ledger, at: library.now()) else { return }
        if isTree {
          for folder in trail.withLock({ $0.enter(content.folder) }) {
            array.append { folder.write(to: &$0) }
          }
        }
        array.append { content.write(to: &$0, mediaPath: mediaPath, licence: verdict) }
      }
    } catch {
      // Nothing at all is better than half a document; a block already printed cannot be called back.
      if array.hasPrinted { array.end() }
      throw error
    }
    array.end()
  }

  private func writeTable(
    _ selection: Library.Selection, of library: Library, _ ledger: TimeLedger?, _ session: Session
  ) async throws {
    let columns = columns ?? ListColumn.standard.filter { $0 != .folder || !isTree }
    let table = TablePrinter(Table(columns.map(\.column)), session)
    let tree = Mutex(TreeRows())
    try await library.forEach(selection) { content in
      let verdict = library.licenceVerdict(content, ledger: ledger, readsFile: isExpired)
      guard isWanted(content, verdict, ledger, at: library.now()) else { return }
      let row = columns.map { $0.cell(content, verdict) }
      if isTree {
        tree.withLock { $0.append(row, in: content.folder) }
      } else {
        table.append(row)
      }
    }
    for row in tree.withLock({ $0.drawn() }) { table.append(row) }
    table.end()
    guard table.isEmpty else { return }
    session.say(
      isExpired || expiring != nil
        ? "nothing of that kind here" : "nothing here; 'kollus download' fetches contents")
  }
}

extension FolderTrail.Node {
  /// The members of a folder in a tree; a tested contract.
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("mediaContentKey", nil as String?)
    writer.member("title", name)
    writer.member("fileType", 1)
    writer.member("folder", parent)
    writer.endObject()
  }
}
