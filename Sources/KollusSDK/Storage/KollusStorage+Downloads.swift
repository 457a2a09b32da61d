import KollusCore
import Synchronization

/// Makes downloads with one set of settings; ends its threads when nobody uses it any more.
final class DownloadRoom: Sendable {
  let downloader: Downloader

  init(_ downloader: Downloader) { self.downloader = downloader }

  deinit { downloader.close() }
}

/// A download that this storage is at.
struct RunningDownload {
  let task: Task<Void, Never>
  /// As it stood at the start.
  let content: KollusContent
  /// How far it is, further than the library knows.
  var progress: ContentProgress?
  /// When the delegate was last told.
  var told: ContinuousClock.Instant?
}

extension KollusStorage {
  /// Starts the download of a loaded content, or goes on with it; returns at once.
  ///
  /// How it goes is told by ``KollusStorageDelegate/kollusStorage(_:downloadContent:error:)``. A content that is complete is told as complete;
  /// its bytes are read again only where its file was touched. As many contents as configured are fetched at once, the others wait.
  ///
  /// - Parameter mediaContentKey: A key that ``loadContentURL(_:)`` gave, or that ``contents()`` lists.
  /// - Throws: −8614 when it was not loaded, −8631 when it is being downloaded already.
  public func downloadContent(_ mediaContentKey: String) throws {
    let room = try started()
    let key = ExactText(mediaContentKey)
    guard let content = try WorkExecutor.wait({ [self] in try await content(mediaContentKey, in: room) })
    else {
      throw KollusError(
        CoreError(
          .unknownContent, code: KollusCode.notLoaded, "the content was not loaded",
          hint: "call loadContentURL(_:) first", mediaContentKey: mediaContentKey))
    }
    let downloads = try downloadRoom(room)
    let isBegun = state.withLock { state in
      guard state.running[key] == nil else { return false }
      var request = DownloadRequest(.mediaContentKey(mediaContentKey))
      request.isFresh = state.fresh.remove(key) != nil
      // The lock is held until the task is noted, so that its end finds it.
      let task = WorkExecutor.start { [weak self, request] in
        let outcomes = await downloads.downloader.run([request])
        await self?.conclude(content, outcomes.first, in: room)
      }
      state.running[key] = RunningDownload(task: task, content: content)
      return true
    }
    guard isBegun else {
      throw KollusError(
        CoreError(
          .usage, code: KollusCode.alreadyDownloading, "the content is being downloaded already",
          mediaContentKey: mediaContentKey))
    }
  }

  /// Stops a download; returns at once, and the delegate hears of it as a failure with −8615.
  ///
  /// What is here is kept (``KollusContent/downloadStopSize``): the next ``downloadContent(_:)`` goes on from there. A content that is
  /// not being downloaded by this storage is left as it is.
  ///
  /// - Parameter mediaContentKey: Which.
  /// - Throws: −8638 when there is no such content.
  public func downloadCancelContent(_ mediaContentKey: String) throws {
    let room = try started()
    if let running = state.withLock({ $0.running[ExactText(mediaContentKey)] }) {
      running.task.cancel()
      return
    }
    try WorkExecutor.wait {
      guard try await room.library.content(mediaContentKey) != nil else {
        throw Self.notDownloaded.of(mediaContentKey)
      }
    }
  }

  /// The room for downloads by the settings in force.
  private func downloadRoom(_ room: StorageRoom) throws -> DownloadRoom {
    if let downloads = state.withLock({ $0.downloads }) { return downloads }
    let settings = try coreSettings()
    do throws(CoreError) {
      let made = DownloadRoom(
        try Downloader(
          home: room.library.home, library: room.library, settings: settings, sink: sink(room)))
      return state.withLock { state in
        let downloads = state.downloads ?? made
        state.downloads = downloads
        return downloads
      }
    } catch {
      throw KollusError(error)
    }
  }

  /// The last word on a download, when it can be begun again.
  private func conclude(_ started: KollusContent, _ outcome: DownloadOutcome?, in room: StorageRoom) async {
    let key = started.record.mediaContentKey
    let failure: KollusError? =
      if case .failure(let error) = outcome?.result { KollusError(error) } else { nil }
    // A content that cannot be read any more is shown as it was last seen.
    let content = (try? await content(key, in: room)) ?? started
    state.withLock { _ = $0.running.removeValue(forKey: ExactText(key)) }
    tell { delegate, storage in
      delegate.kollusStorage(storage, downloadContent: content, error: failure)
    }
  }
}
