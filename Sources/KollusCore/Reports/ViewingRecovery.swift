/// Plays that a kill has ended: their last reports are made from what was saved of them.
extension Library {
  /// Makes the last reports of plays that nobody plays any more.
  package func recoverViewings() async throws {
    for viewing in try openViewings() {
      // Somebody is still at it.
      guard let lock = try home.lock(playing: viewing.id) else { continue }
      defer { withExtendedLifetime(lock) {} }
      var reports: [Report] = []
      if let context = PlayContext(encoded: viewing.context), let log = ViewingLog(encoded: viewing.log),
        log.playTime > 0
      {
        // What cannot be sent because it is too long never could.
        reports =
          (try? context.reports(.stop, log, of: viewing.id, streams: context.templates.indices)) ?? []
      }
      try await close(viewing, reports, at: Int64(now()))
    }
  }
}
