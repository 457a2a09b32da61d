import SQLiteKit

/// Changes of bookmarks for one channel, in their order.
struct BookmarkBatch: Sendable {
  struct Change: Sendable {
    let id: Int64
    /// The element of the array that is sent, as JSON.
    let text: String
  }

  let url: String
  let changes: [Change]
}

/// Bookmarks in the library: what was changed here, and what of it is still to be told.
extension Library {
  /// The changes a content's user has made here.
  func bookmarkChanges(of content: Content) throws(KollusError) -> [BookmarkSheet.Change] {
    let sql = """
      SELECT position, value, label, local_time, is_removed FROM bookmark
      WHERE content_id = ? AND client_user_id = ? ORDER BY position
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(content.id), .text(content.clientUserID)])
        var changes: [BookmarkSheet.Change] = []
        while try row.step() {
          let mark = Bookmark(
            position: row.integer(at: 0), value: row.text(at: 1) ?? "", label: row.text(at: 2) ?? "",
            localTime: row.integer(at: 3))
          changes.append(.init(mark: mark, isRemoved: row.integer(at: 4) != 0))
        }
        return changes
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Keeps a change for good, and in the same commit what a channel is to be told of it.
  ///
  /// A change of the same position that was not told yet is not told any more. Returns `false`, and keeps nothing, when too many wait.
  func keep(
    _ change: BookmarkSheet.Change, of content: Content, told: (url: String, text: String)?
  ) async throws -> Bool {
    let (id, key, user, mark) = (content.id, content.mediaContentKey, content.clientUserID, change.mark)
    return try await record(.durable) { db throws(SQLiteError) in
      if let told {
        let waiting = try db.withStatement(
          "SELECT count(*) FROM bookmark_change WHERE mck = ? AND client_user_id = ? AND position <> ?"
        ) { row throws(SQLiteError) in
          try row.bind([.text(key), .text(user), .integer(mark.position)])
          return try row.step() ? row.integer(at: 0) : 0
        }
        guard waiting < Int64(Bookmark.countLimit) else { return false }
        try db.execute(
          """
          INSERT OR REPLACE INTO bookmark_change (mck, client_user_id, position, url, change, attempts, next_at, not_before)
          VALUES (?, ?, ?, ?, ?, 0, 0, 0)
          """, .text(key), .text(user), .integer(mark.position), .text(told.url), .text(told.text))
      }
      try db.execute(
        """
        INSERT OR REPLACE INTO bookmark (content_id, client_user_id, position, value, label, local_time, is_removed)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """, .integer(id), .text(user), .integer(mark.position), .text(mark.value), .text(mark.label),
        .integer(mark.localTime), .integer(change.isRemoved ? 1 : 0))
      return true
    }
  }

  /// The first changes that may be sent at `time`, of one channel that is not among `refused`.
  func nextBookmarkBatch(
    at time: Int64, obeysBackoff: Bool, outside refused: Set<String>
  ) throws(KollusError) -> BookmarkBatch? {
    // What a clock far ahead has put off does not wait for that day.
    let sql = """
      SELECT id, url, change FROM bookmark_change
      WHERE (not_before <= ?1 OR not_before > ?1 + \(Report.longestHold))
        AND (?2 = 0 OR next_at <= ?1 OR next_at > ?1 + \(Report.longestHold))
      ORDER BY id
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(time), .integer(obeysBackoff ? 1 : 0)])
        var url: String?
        var changes: [BookmarkBatch.Change] = []
        while changes.count < Bookmark.countLimit, try row.step() {
          let found = row.text(at: 1) ?? ""
          guard !refused.contains(found), url == nil || url == found else { continue }
          url = found
          changes.append(.init(id: row.integer(at: 0), text: row.text(at: 2) ?? ""))
        }
        return url.map { BookmarkBatch(url: $0, changes: changes) }
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// A channel has accepted these.
  func forget(_ batch: BookmarkBatch) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      for change in batch.changes {
        try db.execute("DELETE FROM bookmark_change WHERE id = ?", .integer(change.id))
      }
    }
  }

  /// A channel has not: they wait, longer each time, and at least until `notBefore`.
  func postpone(_ batch: BookmarkBatch, at time: Int64, notBefore: Int64) async throws {
    try await record { db throws(SQLiteError) in
      for change in batch.changes {
        try db.execute(
          """
          UPDATE bookmark_change SET next_at = ?1 + min(21600, 30 << min(attempts, 10)), attempts = attempts + 1,
          not_before = ?2 WHERE id = ?3
          """, .integer(time), .integer(notBefore), .integer(change.id))
      }
    }
  }
}
