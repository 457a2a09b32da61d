import SQLiteKit
import SystemKit

/// Giving up downloads, also those of other processes.
extension Library {
  /// Ends the download of a content, in whatever process it runs, and drops what is held of it.
  ///
  /// A content that is not being downloaded just loses what is held. Throws `badData` for one that is ready or
  /// was, and `tryLater` when whoever works on it does not let go in time; the wish stands until a later download
  /// begins.
  package func cancel(
    _ content: Content, within patience: Duration = .seconds(30), _ sink: any EventSink
  ) async throws {
    let key = content.mediaContentKey
    let deadline = ContinuousClock.now + patience
    var current = content
    while true {
      try Self.checkCancellable(current)
      if let lock = try home.lock(content: current.id) {
        defer { withExtendedLifetime(lock) {} }
        if try await finishCancelling(current, sink) { return }
      } else {
        try await wishCancelled(current.id)
        guard .now < deadline else {
          throw KollusError(
            .tryLater, "another process works on this content and does not let go of it",
            hint: "it was asked to; end it, and run the command again"
          ).of(key)
        }
        try await TaskThreads.sleep(for: .milliseconds(50))
      }
      guard let stored = try self.content(key) else { throw Downloader.removed.of(key) }
      current = stored
    }
  }

  /// What the process that downloaded has not done, or died over; `false` when the content is not what it was.
  private func finishCancelling(_ content: Content, _ sink: any EventSink) async throws -> Bool {
    let key = content.mediaContentKey
    guard let stored = try self.content(key), stored.id == content.id, try await giveUp(stored) else {
      return false
    }
    sink.emit(.note(.cancelled, mediaContentKey: key, message: stored.title))
    return true
  }

  private static func checkCancellable(_ content: Content) throws {
    guard content.state == .ready || content.state == .missing else { return }
    throw KollusError(
      .badData, code: KollusCode.cancelled,
      "there is no download to cancel: the content is \(content.state.rawValue)",
      hint: "'kollus remove' removes it"
    ).of(content.mediaContentKey)
  }

  /// Drops what is held of a download, for the holder of the content's lock.
  ///
  /// `false` when it is ready by now. The licence goes with it: a later download is a new one, for which approval is asked anew.
  func giveUp(_ content: Content) async throws -> Bool {
    let (id, key) = (content.id, content.mediaContentKey)
    // On a disk that is not mounted its key could not be destroyed.
    guard home.hasMedia || !content.holdsFile else { throw home.mediaMissing.of(key) }
    try home.checkDestroyable(key)
    let isOver = try await record(.durable) { db throws(SQLiteError) -> Bool in
      try db.execute(
        """
        UPDATE content SET state = 'cancelled', download_size = 0, file_stamp = 0, error_kind = NULL,
        error_code = NULL, error_message = NULL WHERE id = ? AND state NOT IN ('ready', 'missing')
        """, .integer(id))
      guard db.changes > 0 else { return false }
      try db.execute("DELETE FROM licence WHERE content_id = ?", .integer(id))
      return true
    }
    if isOver { try home.destroyMedia(of: key) }
    try await forgetCancellation(of: id)
    return isOver
  }

  // MARK: Wishes

  /// Leaves word for the process that downloads.
  private func wishCancelled(_ id: Int64) async throws {
    guard try !cancellations().contains(id) else { return }
    let time = Int64(now())
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        """
        INSERT OR IGNORE INTO cancellation (content_id, asked_at)
        SELECT id, ? FROM content WHERE id = ? AND state NOT IN ('ready', 'missing', 'cancelled')
        """, .integer(time), .integer(id))
    }
  }

  /// Contents whose download is to be given up.
  func cancellations() throws(KollusError) -> [Int64] {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT content_id FROM cancellation") { row throws(SQLiteError) in
        var ids: [Int64] = []
        while try row.step() { ids.append(row.integer(at: 0)) }
        return ids
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// What was wished before is over.
  func forgetCancellation(of id: Int64) async throws {
    guard try cancellations().contains(id) else { return }
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute("DELETE FROM cancellation WHERE content_id = ?", .integer(id))
    }
  }
}
