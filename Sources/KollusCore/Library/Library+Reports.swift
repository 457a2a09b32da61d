import SQLiteKit

/// Reports of viewing in the library: committed before they are sent, never dropped by themselves.
extension Library {
  /// Which reports a list shows.
  package struct ReportSelection: Sendable {
    /// States wanted; `nil` wants all but receipts.
    package var states: Set<Report.State>?
    package var mediaContentKey: String?
    /// No more than so many, the oldest.
    package var limit: Int?
    /// Whether the forms are wanted, which are most of what is stored.
    package var withForms = true
    package init() {}
  }

  /// How many reports are waiting, and since when.
  package struct Backlog: Sendable {
    package let pending: Int
    package let aside: Int
    /// Unix seconds of the oldest report that is pending.
    package let oldest: Int64?
  }

  /// One receiver's reports of one play, in their order.
  struct ReportStream: Sendable, Hashable {
    let viewing: Int64
    let stream: Int64
  }

  /// How long receipts are kept, in seconds.
  static let receiptLife: Int64 = 30 * 86_400

  // MARK: Writing

  /// Keeps reports for good, before any of them is sent.
  func add(_ reports: [Report], at time: Int64) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      for report in reports { try db.insert(report, at: time) }
    }
  }

  /// What came of sending a report.
  func note(_ outcome: ReportOutcome, of report: Report, at time: Int64) async throws {
    try await record { db throws(SQLiteError) in
      switch outcome {
      case .sent(let status):
        try db.execute(
          """
          UPDATE report SET state = 'sent', body = '', ended_at = ?, attempts = attempts + 1, status = ?,
          error_code = NULL, error_message = NULL WHERE id = ? AND state = 'pending'
          """, .integer(time), .integer(Int64(status)), .integer(report.id))
      case .wait(let error, let status, let notBefore):
        try db.execute(
          """
          UPDATE report SET attempts = attempts + 1, next_at = ?, not_before = ?, status = ?, error_code = ?,
          error_message = ? WHERE id = ? AND state = 'pending'
          """, .integer(time + Self.backoff(after: report.attempts)), .integer(notBefore),
          status.map { .integer(Int64($0)) } ?? .null, .integer(Int64(error.code)), .text(error.message),
          .integer(report.id))
      case .refused(let error, let status):
        try db.execute(
          """
          UPDATE report SET state = 'aside', ended_at = ?, attempts = attempts + 1, status = ?, error_code = ?,
          error_message = ? WHERE id = ? AND state = 'pending'
          """, .integer(time), .integer(Int64(status)), .integer(Int64(error.code)), .text(error.message),
          .integer(report.id))
      }
    }
  }

  /// Doubling from half a minute to six hours, with a quarter of jitter.
  private static func backoff(after attempts: Int64) -> Int64 {
    let base = min(6 * 3_600, 30 << min(max(attempts, 0), 10))
    return Int64(Double(base) * Double.random(in: 0.75...1.25))
  }

  /// The next report of a stream; those that a later one has made needless are marked so before.
  func next(_ stream: ReportStream, at time: Int64) async throws -> Report? {
    guard let report = try first(of: stream) else { return nil }
    guard try hasLaterReceipt(than: report) else { return report }
    try await record { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE report SET state = 'superseded', ended_at = ?3 WHERE viewing_id = ?1 AND stream = ?2 AND state = 'pending'
          AND id < (SELECT max(id) FROM report WHERE viewing_id = ?1 AND stream = ?2 AND state = 'sent')
        """, .integer(stream.viewing), .integer(stream.stream), .integer(time))
    }
    return try first(of: stream)
  }

  private func first(of stream: ReportStream) throws(KollusError) -> Report? {
    var found: Report?
    do throws(SQLiteError) {
      try db.reports(
        "SELECT \(Connection.reportColumns()) FROM report WHERE viewing_id = ? AND stream = ? AND state = 'pending' ORDER BY id LIMIT 1",
        [.integer(stream.viewing), .integer(stream.stream)]
      ) { found = $0 }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
    return found
  }

  private func hasLaterReceipt(than report: Report) throws(KollusError) -> Bool {
    do throws(SQLiteError) {
      return try db.withStatement(
        "SELECT 1 FROM report WHERE viewing_id = ? AND stream = ? AND state = 'sent' AND id > ? LIMIT 1"
      ) { row throws(SQLiteError) in
        try row.bind([.integer(report.viewing), .integer(report.stream), .integer(report.id)])
        return try row.step()
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Puts reports back among those to be sent, and takes a server's patience from those that wait; returns how many.
  package func requeue(_ ids: [Int64]) async throws -> Int {
    try await record { db throws(SQLiteError) in
      var count = 0
      for id in ids {
        try db.execute(
          """
          UPDATE report SET state = 'pending', ended_at = NULL, next_at = 0, not_before = 0, attempts = 0,
          status = NULL, error_code = NULL, error_message = NULL WHERE id = ? AND state IN ('aside', 'pending')
          """, .integer(id))
        count += db.changes
      }
      return count
    }
  }

  /// Forgets reports that are not to be sent any more; returns how many.
  package func drop(_ ids: [Int64]) async throws -> Int {
    try await record(.durable) { db throws(SQLiteError) in
      var count = 0
      for id in ids {
        try db.execute("DELETE FROM report WHERE id = ?", .integer(id))
        count += db.changes
      }
      return count
    }
  }

  /// Forgets receipts that are older than a month, unless an older report of the stream might still be sent.
  func forgetReceipts(at time: Int64) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute(
        """
        DELETE FROM report WHERE state IN ('sent', 'superseded') AND ended_at < ?
          AND (viewing_id, stream) NOT IN (SELECT viewing_id, stream FROM report WHERE state IN ('pending', 'aside'))
        """, .integer(time - Self.receiptLife))
      try db.execute(
        "DELETE FROM viewing WHERE is_open = 0 AND start_at < ? AND id NOT IN (SELECT viewing_id FROM report)",
        .integer(time - Self.receiptLife))
    }
  }

  // MARK: Reading

  /// Streams with reports to be sent; those that wait for a time are left out.
  ///
  /// The oldest come first, after those that have failed less: what a server chokes on holds up nobody.
  ///
  /// `obeysBackoff` leaves out those that this program would not yet try again by itself.
  func streams(at time: Int64, obeysBackoff: Bool) throws(KollusError) -> [ReportStream] {
    // A stream goes on with its first report: when that has to wait, the others wait behind it.
    let sql = """
      SELECT viewing_id, stream FROM report WHERE state = 'pending'
        AND (not_before <= ?1 OR not_before > ?1 + \(Report.longestHold))
        AND (?2 = 0 OR next_at <= ?1 OR next_at > ?1 + \(Report.longestHold))
        AND NOT EXISTS (SELECT 1 FROM report AS earlier WHERE earlier.viewing_id = report.viewing_id
          AND earlier.stream = report.stream AND earlier.state = 'pending' AND earlier.id < report.id)
      ORDER BY attempts, id
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(time), .integer(obeysBackoff ? 1 : 0)])
        var streams: [ReportStream] = []
        while try row.step() {
          streams.append(ReportStream(viewing: row.integer(at: 0), stream: row.integer(at: 1)))
        }
        return streams
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Before when servers want no call, Unix seconds, by addresses there.
  package func holds(at time: Int64) throws(KollusError) -> [String: Int64] {
    let sql = """
      SELECT url, max(not_before) FROM report WHERE state = 'pending' AND not_before > 0
        AND not_before > ?1 AND not_before <= ?1 + \(Report.longestHold) GROUP BY url
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(time)])
        var holds: [String: Int64] = [:]
        while try row.step() { holds[row.text(at: 0) ?? ""] = row.integer(at: 1) }
        return holds
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// How many reports a flush would try to send now.
  package func sendableReports(at time: Int64) throws(KollusError) -> Int {
    let sql = """
      SELECT count(*) FROM report WHERE state = 'pending' AND (not_before <= ?1 OR not_before > ?1 + \(Report.longestHold))
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(time)])
        return try row.step() ? Int(clamping: row.integer(at: 0)) : 0
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  package func backlog() throws(KollusError) -> Backlog {
    let sql = """
      SELECT (SELECT count(*) FROM report WHERE state = 'pending'), (SELECT count(*) FROM report WHERE state = 'aside'),
      (SELECT created_at FROM report WHERE state = 'pending' ORDER BY id LIMIT 1)
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        guard try row.step() else { return Backlog(pending: 0, aside: 0, oldest: nil) }
        return Backlog(
          pending: Int(clamping: row.integer(at: 0)), aside: Int(clamping: row.integer(at: 1)),
          oldest: row.isNull(at: 2) ? nil : row.integer(at: 2))
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Shows the reports that fit `selection`, the oldest first.
  package func forEachReport(_ selection: ReportSelection, _ body: @Sendable (Report) -> Void)
    throws(KollusError)
  {
    let states = selection.states ?? [.pending, .aside, .superseded]
    guard !states.isEmpty else { return }
    // Every state comes in its order from the index and they are merged: a sort would keep the first one waiting for
    // the last, and hold them all.
    var parts: [String] = []
    var values: [Value] = []
    for state in states {
      let columns = Connection.reportColumns(withForm: selection.withForms)
      parts.append("SELECT \(columns) FROM report WHERE state = ?")
      values.append(.text(state.rawValue))
      guard let key = selection.mediaContentKey else { continue }
      parts[parts.count - 1] += " AND mck = ?"
      values.append(.text(key))
    }
    values.append(.integer(selection.limit.map { Int64($0) } ?? -1))
    do throws(SQLiteError) {
      try db.reports("\(parts.joined(separator: " UNION ALL ")) ORDER BY id LIMIT ?", values, body)
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  package func report(_ id: Int64) throws(KollusError) -> Report? {
    var found: Report?
    do throws(SQLiteError) {
      try db.reports("SELECT \(Connection.reportColumns()) FROM report WHERE id = ?", [.integer(id)]) {
        found = $0
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
    return found
  }
}

extension Connection {
  borrowing func insert(_ report: Report, at time: Int64) throws(SQLiteError) {
    try execute(
      """
      INSERT INTO report (viewing_id, stream, mck, client_user_id, start_at, play_status, url, body, state, created_at,
        attempts, next_at, not_before)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, 0, 0, 0)
      """, .integer(report.viewing), .integer(report.stream), .text(report.mediaContentKey),
      .text(report.clientUserID), .integer(report.startAt), .text(report.playStatus), .text(report.url),
      .text(report.body), .integer(time))
  }

  /// What a report is read from, in its order.
  fileprivate static func reportColumns(withForm: Bool = true) -> String {
    """
    id, viewing_id, stream, mck, client_user_id, start_at, play_status, url, \(withForm ? "body" : "''"), state, created_at,
    ended_at, attempts, next_at, not_before, status, error_code, error_message
    """
  }

  /// Shows the reports that a statement finds which selects `reportColumns`.
  fileprivate borrowing func reports(
    _ sql: String, _ values: [Value], _ body: (Report) -> Void
  ) throws(SQLiteError) {
    try withStatement(sql) { row throws(SQLiteError) in
      try row.bind(values)
      while try row.step() { body(Report(row)) }
    }
  }
}

extension Report {
  fileprivate init(_ row: borrowing Statement) {
    func text(_ column: Int32) -> String { row.text(at: column) ?? "" }
    self.init(
      viewing: row.integer(at: 1), stream: row.integer(at: 2), mediaContentKey: text(3),
      clientUserID: text(4),
      startAt: row.integer(at: 5), playStatus: text(6), url: text(7), body: text(8))
    id = row.integer(at: 0)
    state = State(rawValue: text(9)) ?? .aside
    (createdAt, attempts) = (row.integer(at: 10), row.integer(at: 12))
    endedAt = row.isNull(at: 11) ? nil : row.integer(at: 11)
    (nextAt, notBefore) = (row.integer(at: 13), row.integer(at: 14))
    status = row.isNull(at: 15) ? nil : row.integer(at: 15)
    failure = row.text(at: 17).map { message in
      KollusError(
        state == .aside ? .refused : .tryLater, code: Int(truncatingIfNeeded: row.integer(at: 16)), message,
        mediaContentKey: mediaContentKey)
    }
  }
}
