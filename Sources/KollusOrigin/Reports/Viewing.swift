import JSONKit
import SystemKit

/// What all reports about one content by one user say together, in whatever order they come, and however
/// often.
struct Viewing: Sendable {
  /// Of two reports the one that says more: of the later session, and of that later in it.
  private struct Rank: Comparable {
    let startAt: Int64
    let runtime: Double

    init(_ report: LMSReport) {
      startAt = report.startAt
      runtime = report.measures["runtime"] ?? 0
    }

    static func < (one: Rank, other: Rank) -> Bool {
      (one.startAt, one.runtime) < (other.startAt, other.runtime)
    }
  }

  private(set) var reportCount = 0
  private(set) var latest: LMSReport
  private var sessions: Set<Int64> = []
  /// By their number: blocks of another length cannot be laid over each other.
  private var maps: [Int: (blocks: WatchedBlocks, rank: Rank)] = [:]

  init(_ first: LMSReport) {
    latest = first
    add(first)
  }

  /// Each with a `start_at` of its own.
  var sessionCount: Int { sessions.count }

  /// All blocks played, of a content divided as the latest report has it.
  var blocks: WatchedBlocks? { maps.values.max { $0.rank < $1.rank }?.blocks }

  /// The part of the blocks that was played, from 0 to 1.
  var progress: Double? { blocks.map { Double($0.playedCount) / Double($0.count) } }

  /// Takes one more report by the same user about the same content.
  mutating func add(_ report: LMSReport) {
    reportCount += 1
    sessions.insert(report.startAt)
    let rank = Rank(report)
    if rank >= Rank(latest) { latest = report }
    guard let blocks = report.blocks else { return }
    guard var map = maps[blocks.count] else {
      maps[blocks.count] = (blocks, rank)
      return
    }
    map.blocks.merge(blocks)
    map.rank = max(map.rank, rank)
    maps[blocks.count] = map
  }

  /// Writes an object with the names of the protocol.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("client_user_id", latest.clientUserID)
    writer.member("media_content_key", latest.mediaContentKey)
    writer.member("reports", reportCount)
    writer.member("sessions", sessionCount)
    writer.member("progress", progress)
    writer.name("latest")
    writer.beginObject()
    writer.member("start_at", latest.startAt)
    for name in LMSReport.measureNames {
      guard let value = latest.measures[name] else { continue }
      writer.name(name)
      writer.amount(value)
    }
    writer.endObject()
    writer.name("block_info")
    if let blocks { blocks.write(to: &writer) } else { writer.null() }
    writer.endObject()
  }
}
