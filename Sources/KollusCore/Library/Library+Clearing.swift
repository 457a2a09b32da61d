import SQLiteKit
import SystemKit

/// Which downloaded contents somebody can do without; any of what is asked for is enough.
package struct Clearing: Sendable, Equatable {
  /// Share of a content that must have been watched, in percent.
  static let watchedShare = 90

  /// Those whose licence has really run out.
  package var expired = false
  /// Those that were watched nearly to the end since they were downloaded.
  package var watched = false
  /// Those not played for so many seconds, nor downloaded since.
  package var unusedFor: Int64?

  package init() {}

  package var isEmpty: Bool { self == Clearing() }
}

/// Finding contents that can be done without.
extension Library {
  /// Why a content can be done without; empty when it cannot, or is in use.
  ///
  /// Samples never can. An expiry counts only where neither the licence nor the clock is in doubt.
  package func reasons(to clear: Clearing, _ content: Content) throws(KollusError) -> [String] {
    guard content.isDownloaded, content.kind != .sample, try !home.isLocked(content: content.id) else {
      return []
    }
    var reasons: [String] = []
    if clear.expired, let reason = try expiry(of: content) { reasons.append(reason) }
    if clear.watched {
      let blocks = try watchedBlocks(of: content.mediaContentKey, since: content.downloadedTime)
      let share = blocks.isEmpty ? 0 : blocks.reduce(0, +) / blocks.count
      if share >= Clearing.watchedShare { reasons.append("watched to \(share)%") }
    }
    if let span = clear.unusedFor {
      let played = try playedTime(of: content.id)
      let used = max(played, content.downloadedTime)
      // What a clock told that had not been set is no time of a use.
      if used >= TimeLedger.earliest, used <= Int64(now()) - span {
        reasons.append(
          played > 0
            ? "not played since \(WallClock.text(played))"
            : "never played, downloaded \(WallClock.text(content.downloadedTime))")
      }
    }
    return reasons
  }

  /// How its licence has run out, in a way that this clock and this library can vouch for.
  private func expiry(of content: Content) throws(KollusError) -> String? {
    guard let ledger = try ledger() else { return nil }
    if case .setBack = ledger.read(Int64(now())) { return nil }
    let reasons = licenceVerdict(content, ledger: ledger, readsFile: true).reasons
    let names = reasons.map(\.name)
    guard !names.contains(.clock), !names.contains(.tampered) else { return nil }
    return reasons.first { [.forced, .checkDate, .date, .count, .playTime].contains($0.name) }?.message
  }

  /// Unix seconds of the last play that really began, 0 for none.
  private func playedTime(of id: Int64) throws(KollusError) -> Int64 {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT played_time FROM content WHERE id = ?") {
        row throws(SQLiteError) in
        try row.bind([.integer(id)])
        return try row.step() ? row.integer(at: 0) : 0
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }
}

extension Home {
  /// Bytes of disk that the media file of a content takes.
  package func mediaFootprint(of mediaContentKey: String) -> Int64 {
    // What cannot be told frees nothing that could be promised.
    ((try? Files.information(mediaPath(of: mediaContentKey), followsLinks: false)) ?? nil)?.allocated ?? 0
  }
}
