import KollusCore
import Synchronization

extension KollusStorage {
  /// Renews the licences of downloaded contents by their customers' DRM callbacks; returns when all are done.
  ///
  /// Each content is told by ``KollusStorageDelegate/kollusStorage(_:cur:count:error:)``, each exchange by
  /// ``KollusStorageDelegate/kollusStorage(_:request:json:error:)``. There may be nothing to renew; then nobody is told. When another
  /// process renews, its results are waited for, at most ten minutes, and shared.
  ///
  /// - Parameter bAll: `true` for all contents under a licence; `false` for those that are expired or will be soon: within
  ///   72 hours unless configured, with the next play, or before they could be played once more in full.
  public func updateDownloadDRMInfo(_ bAll: Bool) {
    do {
      let room = try started()
      let settings = try coreSettings()
      let sink = sink(room)
      try WorkExecutor.wait {
        try await room.library.tidy(sink)
        let renewer = try Renewer(library: room.library, settings: settings, sink: sink)
        defer { renewer.close() }
        try await renewer.run(bAll ? .all : .due) { _ in }
      }
    } catch {
      let failure = KollusError(any: error)
      tell { delegate, storage in delegate.kollusStorage(storage, cur: 0, count: 0, error: failure) }
    }
  }

  /// Sends the stored reports of viewing, and the stored changes of bookmarks; returns at once.
  ///
  /// Each report is told by ``KollusStorageDelegate/kollusStorage(_:lmsData:resultJson:)``, the end by
  /// ``KollusStorageDelegate/onSendCompleteStoredLms(_:failCount:)`` in every case. Reports of one play keep their order. What cannot be sent
  /// waits; a server that asked for patience is not called before its time.
  public func sendStoredLms() {
    guard let room = state.withLock({ $0.room }), let settings = try? settings() else {
      tell { delegate, _ in delegate.onSendCompleteStoredLms(0, failCount: 0) }
      return
    }
    WorkExecutor.start { [self] in
      let tally = await sendReports(room, settings)
      tell { delegate, _ in
        delegate.onSendCompleteStoredLms(
          Int32(clamping: tally.success), failCount: Int32(clamping: tally.fail))
      }
      await sendBookmarks(room, settings, obeysBackoff: false)
    }
  }

  private func sendReports(_ room: StorageRoom, _ settings: Settings) async -> (success: Int, fail: Int) {
    do {
      let sender = try ReportSender(library: room.library, settings: settings, sink: sink(room))
      defer { sender.close() }
      let tally = try await sender.flush(obeysBackoff: false)
      return (tally.successCount, tally.failCount)
    } catch {
      // Whatever went wrong, what is stored was not sent.
      return (0, (try? await room.library.backlog().pending) ?? 0)
    }
  }

  /// Tells channels of changed bookmarks; what they do not take waits.
  func sendBookmarks(_ room: StorageRoom, _ settings: Settings, obeysBackoff: Bool) async {
    guard let sender = try? BookmarkSender(library: room.library, settings: settings, sink: sink(room))
    else { return }
    defer { sender.close() }
    // What fails is noted with each change, which then waits.
    _ = try? await sender.flush(obeysBackoff: obeysBackoff)
  }
}
