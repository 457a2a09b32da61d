import ArgumentKit
import JSONKit
import SystemKit
import TerminalKit

/// `lms`: says what the reports that `serve` kept mean together.
struct LMSCommand {
  static let file = Input<String>.positional("FILE", help: "Reports that 'serve --lms FILE' kept.")
  static let json = Input<Bool>.flag("json", help: "Print JSON, with the blocks, instead of a table.")

  static let spec = CommandSpec(
    "lms", "Merge viewing reports by user and content.",
    discussion: """
      A block was played if any report says so; its seconds and percent are the largest of all. Progress is \
      the part of the blocks that were played, sessions are counted by their start, and the rest is from the \
      latest report. Reports may come in any order, and more than once.

      Lines that hold no report are told on stderr; the others still count, and the exit status is 65.
      """,
    inputs: [file.declaration, json.declaration], examples: ["kollus-origin lms reports.jsonl"])

  /// A user and a content, byte by byte: texts that mean the same are not the same key.
  private struct Subject: Hashable {
    let user: [UInt8]
    let content: [UInt8]

    init(_ report: LMSReport) {
      (user, content) = (Array(report.clientUserID.utf8), Array(report.mediaContentKey.utf8))
    }

    func comes(before other: Subject) -> Bool {
      user == other.user
        ? content.lexicographicallyPrecedes(other.content) : user.lexicographicallyPrecedes(other.user)
    }
  }

  private let path: String
  private let printsJSON: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    path = try given(Self.file)
    printsJSON = try given(Self.json)
  }

  /// Reads all lines, then prints.
  func run(in context: Context) throws {
    var viewings: [Subject: Viewing] = [:]
    var badLines = 0
    var lines = LineReader(try OriginFolder.source(path))
    var number = 0
    while let line = try lines.next() {
      number += 1
      guard !line.isEmpty else { continue }
      do throws(JSONError) {
        let report = try Self.report(line)
        let subject = Subject(report)
        if viewings[subject]?.add(report) == nil { viewings[subject] = Viewing(report) }
      } catch {
        badLines += 1
        context.complain("\(path) line \(number): \(error)", hint: nil)
      }
    }
    let sorted = viewings.sorted { $0.key.comes(before: $1.key) }.map(\.value)
    if printsJSON {
      context.output(Self.document(sorted))
    } else {
      for line in Self.table.render(sorted.map(Self.row), width: nil) { context.output(line) }
    }
    guard badLines == 0 else { throw OriginError(.data, "lines without a report in \(path): \(badLines)") }
  }

  private static func report(_ line: ArraySlice<UInt8>) throws(JSONError) -> LMSReport {
    let json = try JSON(parsing: Array(line), limits: JSON.Limits(bytes: LineReader.lineLimit))
    guard let report = try json.object("report") else { throw json.failure("report is missing") }
    return try LMSReport(report)
  }

  private static func document(_ viewings: [Viewing]) -> String {
    var writer = JSONWriter(reserving: viewings.count * 1_024)
    writer.beginArray()
    for viewing in viewings { viewing.write(to: &writer) }
    writer.endArray()
    return writer.text
  }

  private static let table = Table([
    .init("USER"), .init("CONTENT"), .init("SESSIONS", .right), .init("REPORTS", .right),
    .init("BLOCKS", .right), .init("PROGRESS", .right), .init("PLAYED s", .right), .init("AT s", .right),
    .init("OF s", .right), .init("LAST SESSION"),
  ])

  private static func row(_ viewing: Viewing) -> [String] {
    let latest = viewing.latest
    func measure(_ name: String) -> String {
      var writer = JSONWriter(reserving: 16)
      if let value = latest.measures[name] { writer.amount(value) }
      return writer.text
    }
    let blocks = viewing.blocks
    return [
      latest.clientUserID, latest.mediaContentKey, "\(viewing.sessionCount)", "\(viewing.reportCount)",
      blocks.map { "\($0.playedCount)/\($0.count)" } ?? "",
      blocks.map { "\($0.playedCount * 100 / $0.count) %" } ?? "",
      measure("playtime"), measure("last_play_at"), measure("duration"), WallClock.text(latest.startAt),
    ]
  }
}
