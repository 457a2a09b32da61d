public import Foundation
import KollusCore
import Synchronization

/// Bookmarks of a downloaded content: what came with it, and what the user changes here (PROTO §3.9).
///
/// Changes are kept in the storage and told to the channel when there is a network: at once, at the end of a play, and by
/// ``KollusStorage/sendStoredLms()``.
extension KollusPlayerView {
  /// The bookmarks of the content, by position; empty where there are none or they cannot be read.
  public var bookmarks: [KollusBookmark] { (try? sheet().marks.map { KollusBookmark($0) }) ?? [] }

  /// Whether the user may add and remove bookmarks.
  public var bookmarkModifyEnabled: Bool { nOfflineBookmarkReadOnly == 0 && nOfflineBookmarkUse == 1 }

  /// 1 where there can be bookmarks offline, 0 where the licence allows none.
  public var nOfflineBookmarkUse: Int { (try? sheet().isUsed) ?? false ? 1 : 0 }

  /// What came with the download: 0 no bookmarks, 1 the index, 2 the user's as well.
  public var nOfflineBookmarkDownload: Int { (try? Int(clamping: sheet().download)) ?? 0 }

  /// 0 where bookmarks may be added and removed, 1 where not.
  public var nOfflineBookmarkReadOnly: Int { (try? sheet().isReadOnly) ?? true ? 1 : 0 }

  /// Adds a bookmark of the user's, or replaces the one at its position.
  ///
  /// - Parameters:
  ///   - position: Seconds of the media; fractions are cut off.
  ///   - value: What the user notes, at most 1,024 bytes, without `&`.
  /// - Throws: −8613 for a value that cannot be kept and for the 1,001st bookmark, −1010 where the licence allows no changes.
  public func addBookmark(_ position: TimeInterval, value: String) throws {
    let (key, library) = try place()
    let seconds = Self.seconds(position)
    try WorkExecutor.wait { try await library.add(Bookmark(position: seconds, value: value), to: key) }
    tellChange()
  }

  /// Removes a bookmark of the user's; those of the provider cannot be.
  ///
  /// - Parameter position: Where it is, in seconds; fractions are cut off.
  /// - Throws: −8613 when the user has none there, −1010 where the licence allows no changes.
  public func removeBookmark(_ position: TimeInterval) throws {
    let (key, library) = try place()
    let seconds = Self.seconds(position)
    try WorkExecutor.wait { try await library.removeBookmark(at: seconds, of: key) }
    tellChange()
  }

  /// Whole seconds; −1, which no bookmark has, for what is no place in a content.
  private static func seconds(_ position: TimeInterval) -> Int64 {
    position >= 0 && position <= 1e9 ? Int64(position) : -1
  }

  /// Where the content's bookmarks are.
  private func place() throws -> (key: String, library: Library) {
    guard let storage, let key = state.withLock({ $0.activeKey ?? $0.mediaContentKey }) else {
      throw KollusError(
        CoreError(
          .usage, code: KollusCode.cannotCall, "the player has no storage or no content",
          hint: "set 'kollusContent'"))
    }
    return (key, try storage.started().library)
  }

  private func sheet() throws -> BookmarkSheet {
    let (key, library) = try place()
    return try WorkExecutor.wait { try await library.bookmarks(of: key) }
  }

  private func tellChange() {
    tellBookmarks()
    guard let storage, let room = try? storage.started(), let settings = try? storage.settings() else {
      return
    }
    WorkExecutor.start { await storage.sendBookmarks(room, settings, obeysBackoff: true) }
  }

  /// Tells the delegate what bookmarks there are now.
  func tellBookmarks() {
    guard bookmarkDelegate != nil else { return }
    let result = Result { try sheet().marks.map { KollusBookmark($0) } }
    tell { player in
      switch result {
      case .success(let marks):
        player.bookmarkDelegate?.kollusPlayerView(
          player, bookmark: marks, enabled: !marks.isEmpty, error: nil)
      case .failure(let error):
        player.bookmarkDelegate?.kollusPlayerView(player, bookmark: [], enabled: false, error: error)
      }
    }
  }
}
