import SQLiteKit

/// One play of one content, as it is stored while it lasts and until its last report is made.
struct PlayRecord: Sendable {
  let id: Int64
  let mediaContentKey: String
  let clientUserID: String
  /// Unix seconds; no two plays of one user have the same.
  let startAt: Int64
  /// What its reports say besides the log (`PlayContext`).
  let context: String
  var log: String
}

/// What a play has used since the last time it was saved.
struct PlayCharge: Sendable, Equatable {
  /// 1 when playing really began.
  var plays: Int64 = 0
  /// Seconds, of the media or on the clock as the licence counts them.
  var seconds: Int64 = 0
}

/// Plays in the library: what is charged, where they stand, what they report.
extension Library {
  /// Makes a play; its start is moved on by seconds until no other play of the user has the same.
  ///
  /// It is not open before it is first saved: until then its player has time to take the lock.
  func beginViewing(
    of mediaContentKey: String, by clientUserID: String, at time: Int64,
    _ content: @escaping @Sendable (_ startAt: Int64) -> (context: String, log: String)
  ) async throws -> PlayRecord {
    try await record(.durable) { db throws(SQLiteError) in
      var startAt = time
      while try db.hasViewing(of: clientUserID, at: startAt) { startAt += 1 }
      let (context, log) = content(startAt)
      try db.execute(
        """
        INSERT INTO viewing (mck, client_user_id, start_at, context, log, is_open) VALUES (?, ?, ?, ?, ?, 0)
        """, .text(mediaContentKey), .text(clientUserID), .integer(startAt), .text(context), .text(log))
      return PlayRecord(
        id: db.lastRowID, mediaContentKey: mediaContentKey, clientUserID: clientUserID, startAt: startAt,
        context: context, log: log)
    }
  }

  /// Saves how far a play has come, with the reports that are due, in one commit.
  ///
  /// Returns the licence as it then stands, `nil` where none is held or it was changed by hand; the media file
  /// is to be told its number.
  func save(
    _ viewing: PlayRecord, of content: Content, position: Double, charge: PlayCharge, reports: [Report],
    isOver: Bool, at time: Int64
  ) async throws -> LicenceRecord? {
    let identity = home.identity
    return try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        "UPDATE viewing SET log = ?, is_open = ? WHERE id = ?", .text(viewing.log), .integer(isOver ? 0 : 1),
        .integer(viewing.id))
      try db.execute(
        "UPDATE content SET position = ? WHERE id = ? AND mck = ?", .real(position), .integer(content.id),
        .text(content.mediaContentKey))
      if charge.plays > 0 {
        try db.execute(
          "UPDATE content SET played_time = ? WHERE id = ? AND mck = ?", .integer(time),
          .integer(content.id), .text(content.mediaContentKey))
      }
      for report in reports { try db.insert(report, at: time) }
      guard let stored = try db.licence(of: content, identity) else { return nil }
      guard charge != PlayCharge() else { return stored }
      var licence = stored.licence
      licence.plays.used += max(0, charge.plays)
      licence.playTime.used += max(0, charge.seconds)
      return try db.write(
        licence, isComplete: stored.isComplete, after: stored.generation, of: content, identity)
    }
  }

  /// Keeps an expiry that a play has found (design §6): it stays until a reset.
  func keepExpiry(of content: Content, at now: Int64) async throws {
    let identity = home.identity
    let kept = try await record(.durable) { db throws(SQLiteError) -> LicenceRecord? in
      guard let stored = try db.licence(of: content, identity) else { return nil }
      var licence = stored.licence
      licence.noteExpiry(at: now)
      guard licence != stored.licence else { return nil }
      return try db.write(
        licence, isComplete: stored.isComplete, after: stored.generation, of: content, identity)
    }
    if let kept { try home.keepGeneration(kept.generation, of: content.mediaContentKey) }
  }

  /// Plays whose last report was never made.
  func openViewings() throws(KollusError) -> [PlayRecord] {
    do throws(SQLiteError) {
      return try db.withStatement(
        "SELECT id, mck, client_user_id, start_at, context, log FROM viewing WHERE is_open = 1 ORDER BY id"
      ) { row throws(SQLiteError) in
        var viewings: [PlayRecord] = []
        while try row.step() {
          viewings.append(
            PlayRecord(
              id: row.integer(at: 0), mediaContentKey: row.text(at: 1) ?? "",
              clientUserID: row.text(at: 2) ?? "",
              startAt: row.integer(at: 3), context: row.text(at: 4) ?? "", log: row.text(at: 5) ?? ""))
        }
        return viewings
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Ends a play that a kill left open, with its last reports.
  func close(_ viewing: PlayRecord, _ reports: [Report], at time: Int64) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute("UPDATE viewing SET is_open = 0 WHERE id = ? AND is_open = 1", .integer(viewing.id))
      guard db.changes == 1 else { return }
      for report in reports { try db.insert(report, at: time) }
    }
  }
}

extension Library {
  /// What was watched of a content in all plays that are still known: for each block the largest share in percent.
  ///
  /// Plays that began before `since`, in Unix seconds, are left out.
  /// Plays with another number of blocks than the last one are left out; empty when nothing is known.
  package func watchedBlocks(of mediaContentKey: String, since: Int64 = 0) throws(KollusError) -> [Int] {
    var blocks: [Int] = []
    for log in try logs(
      "mck = ? AND start_at >= ? ORDER BY id DESC LIMIT 1000", .text(mediaContentKey), .integer(since))
    {
      let shares = log.blocks.map(\.percent)
      if blocks.isEmpty { blocks = shares }
      guard shares.count == blocks.count else { continue }
      for index in blocks.indices { blocks[index] = max(blocks[index], shares[index]) }
    }
    return blocks
  }

  /// What was watched in the play of a report, as far as it is still known.
  package func watchedBlocks(in report: Report) throws(KollusError) -> [Int] {
    try logs("id = ?", .integer(report.viewing)).first?.blocks.map(\.percent) ?? []
  }

  private func logs(_ condition: String, _ values: Value...) throws(KollusError) -> [ViewingLog] {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT log FROM viewing WHERE \(condition)") { row throws(SQLiteError) in
        try row.bind(values)
        var logs: [ViewingLog] = []
        while try row.step() {
          if let log = ViewingLog(encoded: row.text(at: 0) ?? "") { logs.append(log) }
        }
        return logs
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }
}

extension Connection {
  fileprivate borrowing func hasViewing(of clientUserID: String, at time: Int64) throws(SQLiteError) -> Bool {
    try withStatement("SELECT 1 FROM viewing WHERE client_user_id = ? AND start_at = ?") {
      row throws(SQLiteError) in
      try row.bind([.text(clientUserID), .integer(time)])
      return try row.step()
    }
  }
}
