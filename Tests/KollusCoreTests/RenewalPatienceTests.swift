import Foundation
import KollusTestSupport
import SQLiteKit
import Synchronization
import Testing

@testable import KollusCore

/// A renewal of many contents whose server asked to be left alone for a while.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RenewalPatienceTests {
  /// A home of `count` contents that all wait till an hour from now.
  private func stage(_ count: Int) async throws -> LicenceHome {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    // The others are like the first in all that a renewal looks at before it asks.
    let columns = try await stage.library.record { db throws(SQLiteError) in
      try db.withStatement(
        "SELECT group_concat(name) FROM pragma_table_info('content') WHERE name NOT IN ('id', 'mck')"
      ) { row throws(SQLiteError) in try row.step() ? row.text(at: 0) : nil }
    }
    let names = try #require(columns)
    try await stage.run(
      """
      WITH RECURSIVE number (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
      INSERT INTO content (mck, \(names)) SELECT 'k' || n, \(names) FROM content, number
      """, [.integer(Int64(count))])
    try await stage.run(
      """
      INSERT OR REPLACE INTO exchange
        (content_id, kind, asked_at, is_answered, answers, batch, not_before, error_kind, error_code, error_message)
      SELECT id, 3, ?1, 0, 0, 0, ?1 + 3600, 'tryLater', -9503, 'busy' FROM content
      """, [.integer(LicenceStage.now)])
    return stage
  }

  /// The commits that a write-ahead log holds: frames of its own salt that tell the size of the database.
  private func commits(of stage: LicenceHome) throws -> Int {
    let log = Array(try Data(contentsOf: URL(fileURLWithPath: "\(stage.home.libraryPath)-wal")))
    func number(_ place: Int) -> Int { log[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    guard log.count >= 32 else { return 0 }
    return stride(from: 32, through: log.count - 24, by: 24 + number(8)).count { frame in
      log[frame + 8..<frame + 16] == log[16..<24] && number(frame + 4) != 0
    }
  }

  @Test(arguments: [(1_000, 1), (2_001, 3)])
  func `those that wait cost one commit a thousand, and no request`(_ count: Int, _ chunks: Int) async throws
  {
    let stage = try await stage(count)
    let server = try ScriptedServer { _ in Answer(500) }
    var settings = try DRMClientTests.settings()
    settings.drmCallback = server.url
    let sink = RecordingSink()
    let renewer = try Renewer(library: stage.library, settings: settings, sink: sink)
    defer { renewer.close() }
    let outcomes = Mutex<[RenewalOutcome]>([])
    let before = try commits(of: stage)
    let start = ContinuousClock.now
    try await renewer.run(.all) { outcome in outcomes.withLock { $0.append(outcome) } }
    #expect(ContinuousClock.now - start < .seconds(10))
    // Beside the chunks only the beginning of the batch is written.
    let written = try commits(of: stage) - before
    #expect((1...chunks + 1).contains(written), "\(written) commits")
    #expect(server.exchanges.isEmpty)
    let told = outcomes.withLock { $0 }
    #expect(told.count == count && Set(told.map(\.mediaContentKey)).count == count)
    for outcome in told {
      #expect(outcome.error?.kind == .tryLater && outcome.error?.code == -9_503)
      #expect(outcome.error?.mediaContentKey == outcome.mediaContentKey && outcome.licence == nil)
    }
    #expect(sink.events.count == count, "one event of progress for each, and nothing else")
    // The patience is still kept in mind.
    let subjects = try await stage.library.subjects(Array(1...Int64(count)))
    #expect(subjects.count == count)
    #expect(subjects.allSatisfy { $0.notBefore == LicenceStage.now + 3_600 && !$0.isAnswered })
  }
}
