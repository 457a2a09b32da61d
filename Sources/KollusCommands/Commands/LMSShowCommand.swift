import ArgumentKit
import JSONKit
import KollusCore
import Synchronization
import SystemKit
import TerminalKit

/// `kollus lms show`: one stored report.
struct LMSShowCommand: Command {
  static let id = Input<Int64>.positional("ID", help: "Number of the report, as 'kollus lms list' shows it.")
  static let spec = CommandSpec(
    "lms show", "Show one stored report, with what would be sent.", inputs: [id.declaration],
    examples: ["kollus lms show 17"])

  var id: Int64

  init(_ given: ParsedArguments) throws(UsageError) { id = try given(Self.id) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    guard let report = try await library.report(id) else { throw LMSReports.unknown(id) }
    if session.common.json {
      var writer = JSONWriter()
      report.write(to: &writer, withBody: true)
      session.write(json: writer.text)
      return ExitStatus.done
    }
    let blocks = try await library.watchedBlocks(in: report)
    func time(_ seconds: Int64?) -> String { seconds.map { $0 > 0 ? WallClock.text($0) : "" } ?? "" }
    let lines = [
      ("report", "\(report.id)"), ("state", report.state.rawValue), ("key", report.mediaContentKey),
      ("user", report.clientUserID), ("play began", time(report.startAt)), ("what", report.playStatus),
      ("made", time(report.createdAt)), ("ended", time(report.endedAt)), ("tries", "\(report.attempts)"),
      ("not before", time(report.notBefore)),
      ("why", report.failure.map { "\($0.message) (\($0.code))" } ?? ""), ("to", report.url.withoutTokens),
      ("watched", blocks.isEmpty ? "" : "\(BlockBar(blocks))"), ("form", report.body),
    ]
    for (name, value) in lines where !value.isEmpty {
      session.show("\(name.padded(toWidth: 14))\(value.terminalSafe)\n")
    }
    return ExitStatus.done
  }
}

/// What the commands on stored reports share.
enum LMSReports {
  static func unknown(_ id: Int64) -> KollusError {
    KollusError(
      .unknownContent, "no stored report has the number \(id)", hint: "'kollus lms list --all' shows them")
  }

  /// The reports that numbers, or everything set aside, mean.
  static func ids(_ ids: [Int64], all states: Set<Report.State>?, in library: Library) async throws -> [Int64]
  {
    guard let states else {
      for id in ids where try await library.report(id) == nil { throw unknown(id) }
      return ids
    }
    let found = FoundIDs()
    var selection = Library.ReportSelection()
    selection.states = states
    try await library.forEachReport(selection) { found.append($0.id) }
    return found.all
  }

  /// How many of how many.
  static func show(_ what: String, _ count: Int, of wanted: Int, _ session: Session) {
    if session.common.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("count", count)
      writer.member("of", wanted)
      writer.endObject()
      session.write(json: writer.text)
    } else {
      session.say("\(count) of \(wanted) \(what)")
    }
  }
}

/// Numbers, collected where the library is.
private final class FoundIDs: Sendable {
  private let ids = Mutex<[Int64]>([])
  var all: [Int64] { ids.withLock { $0 } }
  func append(_ id: Int64) { ids.withLock { $0.append(id) } }
}
