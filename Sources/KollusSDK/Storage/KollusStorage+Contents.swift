import KollusCore
import Synchronization

extension KollusStorage {
  /// Asks the origin about a play URL, and stores what it says of the contents that the URL means; nothing is downloaded.
  ///
  /// The same URL gives the same key, without asking again.
  ///
  /// - Parameter url: A play URL, as the application's server made it; it is used as it is.
  /// - Returns: The media content key; the first one where the URL means several, leaving out intro clips.
  /// - Throws: −8637 for what is no URL, −8803 for an intro clip alone, −8650 when it may not be downloaded, and what the origin says otherwise.
  public func loadContentURL(_ url: String) throws -> String {
    let room = try started()
    let settings = try coreSettings()
    return try WorkExecutor.wait { [self] in
      let downloader = try Downloader(
        home: room.library.home, library: room.library, settings: settings, sink: sink(room))
      defer { downloader.close() }
      let outcomes = await downloader.register(DownloadRequest(try ContentReference(url: url)))
      var first: String?
      for outcome in outcomes {
        let key = try outcome.result.get().mediaContentKey
        first = first ?? key
        state.withLock { _ = $0.fresh.insert(ExactText(key)) }
      }
      guard let first else {
        throw CoreError(.badData, code: KollusCode.emptyPlaylist, "the URL means no content")
      }
      return first
    }
  }

  /// The key of a downloaded content that a play URL was found to mean; registers nothing and asks nobody.
  ///
  /// - Parameter url: A play URL that was given to ``loadContentURL(_:)`` before.
  /// - Returns: The media content key.
  /// - Throws: −8638 when no such content is downloaded.
  public func checkContentURL(_ url: String) throws -> String {
    let room = try started()
    return try WorkExecutor.wait {
      guard let content = try await room.library.content(ofPlayURL: url) else { throw Self.notDownloaded }
      return content.mediaContentKey
    }
  }

  /// All contents, in the order they were loaded; `nil` before the start and when the library cannot be read.
  ///
  /// Contents whose file is gone are tidied away first: they are not in the list, and their licence and reports are kept.
  public func contents() -> [KollusContent]? {
    guard let room = state.withLock({ $0.room }) else { return nil }
    // The vendor's call has no other way to say that it failed.
    return try? WorkExecutor.wait { [self] in
      try await room.library.tidy(sink(room))
      let ledger = try await room.library.ledger()
      return try await room.library.contents().map { shown($0, room.library, ledger) }
    }
  }

  /// A node for each virtual folder that contents were put in, for lists: ``KollusContent/fileType`` 1, without a key.
  ///
  /// This product's own. Empty before the start.
  public func folders() -> [KollusContent] {
    guard let room = state.withLock({ $0.room }) else { return [] }
    // A library that cannot be read has nothing to show.
    let paths = try? WorkExecutor.wait { try await room.library.folders() }
    return (paths ?? []).map { KollusContent(folder: $0) }
  }

  /// Deletes a content: its key is destroyed first, then its bytes, then what is known of it.
  ///
  /// A download of it that is under way is cancelled. Reports of viewing it are kept until they are sent.
  ///
  /// - Parameter mediaContentKey: Which.
  /// - Throws: −8638 when there is none, and a ``KollusError`` while it is played or another process works on it.
  public func removeContent(_ mediaContentKey: String) throws {
    let room = try started()
    let running = state.withLock { state in
      state.fresh.remove(ExactText(mediaContentKey))
      return state.running[ExactText(mediaContentKey)]
    }
    try WorkExecutor.wait { [self] in
      if let running {
        running.task.cancel()
        await running.task.value
      }
      guard let content = try await room.library.content(mediaContentKey) else {
        throw Self.notDownloaded.of(mediaContentKey)
      }
      try await room.library.remove(content, sink(room))
    }
  }

  static var notDownloaded: CoreError {
    CoreError(.unknownContent, code: KollusCode.notDownloaded, "there is no such downloaded content")
  }

  /// The settings in force, every error a public one.
  func coreSettings() throws -> Settings {
    do throws(CoreError) {
      return try settings()
    } catch {
      throw KollusError(error)
    }
  }

  /// A content as the application sees it.
  func shown(_ content: Content, _ library: Library, _ ledger: TimeLedger?) -> KollusContent {
    // What the file itself knows of its licence counts: an older library that was put back is seen.
    let shown = KollusContent(
      content, library.licenceEvidence(content, ledger: ledger, readsFile: true), library, of: self)
    // The library hears of progress once a second.
    let progress = state.withLock { $0.running[ExactText(content.mediaContentKey)]?.progress }
    guard let progress, progress.downloadSize > content.downloadSize, !content.isDownloaded else {
      return shown
    }
    return shown.progressed(to: progress)
  }

  /// The content with this key as it stands now, if it is known.
  func content(_ mediaContentKey: String, in room: StorageRoom) async throws -> KollusContent? {
    guard let content = try await room.library.content(mediaContentKey) else { return nil }
    return shown(content, room.library, try await room.library.ledger())
  }
}
