import SystemKit

/// Follows downloads that other processes run; changes nothing and is in nobody's way.
package struct DownloadWatch: Sendable {
  /// How often it looks.
  private static let interval = Duration.milliseconds(100)
  /// How long nothing may run before all is over: a queue takes a moment between two contents.
  private static let longestPause = Duration.seconds(1)

  private let library: Library
  private let sink: any EventSink

  package init(_ library: Library, _ sink: any EventSink) { (self.library, self.sink) = (library, sink) }

  /// Follows the download of one content to its end, whatever that is.
  ///
  /// One that nobody downloads has its outcome at once: `tryLater` unless it is ready, failed or cancelled.
  package func outcome(of key: String) async -> DownloadOutcome {
    do {
      let content = try await follow(key)
      sink.emit(.downloadContent(content.progress, error: nil))
      return DownloadOutcome(mediaContentKey: key, result: .success(content))
    } catch {
      let error = KollusError(any: error).of(key)
      // Only for the figures of the event.
      let stored = (try? await library.content(key)) ?? nil
      sink.emit(.downloadContent((stored ?? Content(mediaContentKey: key)).progress, error: error))
      return DownloadOutcome(mediaContentKey: key, result: .failure(error))
    }
  }

  /// Follows several at once; the outcomes come in the order of the keys.
  package func outcomes(of keys: [String]) async -> [DownloadOutcome] {
    await mapConcurrently(keys, limit: keys.count) { await outcome(of: $0) }
  }

  private func follow(_ key: String) async throws -> Content {
    var wasBusy = false
    var shown: Int64 = -1
    guard var content = try await awaited(key) else {
      throw KollusError(
        .unknownContent, code: KollusCode.notDownloaded, "no such content in the library",
        hint: "'kollus list' shows what is there")
    }
    while !content.isDownloaded {
      let isBusy = try library.home.isLocked(content: content.id)
      // Looked at in this order: what a download came to is written before its lock is dropped.
      guard let current = try await library.content(key) else { throw Downloader.removed }
      content = current
      guard isBusy, !content.isDownloaded else { break }
      wasBusy = true
      if content.downloadSize > shown {
        shown = content.downloadSize
        sink.emit(.downloadContent(content.progress, error: nil))
      }
      try await TaskThreads.sleep(for: Self.interval)
    }
    return try Self.judge(content, wasBusy: wasBusy)
  }

  /// The content, once somebody is at it or nothing more is to be waited for: a queue that another process works on may
  /// not have come to it.
  private func awaited(_ key: String) async throws -> Content? {
    var last = ContinuousClock.now
    while true {
      let content = try await library.content(key)
      if let content {
        let isOver = content.isDownloaded || content.state == .failed || content.state == .cancelled
        if try isOver || library.home.isLocked(content: content.id) { return content }
      }
      if try await !library.running().isEmpty { last = .now }
      guard .now - last < Self.longestPause else { return content }
      try await TaskThreads.sleep(for: Self.interval)
    }
  }

  private static func judge(_ content: Content, wasBusy: Bool) throws -> Content {
    if content.isDownloaded { return content }
    if content.state == .cancelled { throw Downloader.cancelled }
    if content.state == .failed, let failure = content.failure { throw failure }
    let state = content.state.rawValue
    throw wasBusy
      ? KollusError(
        .tryLater, code: KollusCode.cancelled,
        "the process that downloaded it has ended without finishing (\(state)): it was killed or interrupted",
        hint: "'kollus download' goes on with it")
      : KollusError(
        .tryLater, code: KollusCode.notComplete, "nobody downloads it now (\(state))",
        hint: "'kollus download' goes on with it")
  }

  /// Follows all downloads that run, and those that begin meanwhile, until none does.
  package func all() async throws -> [DownloadOutcome] {
    let outcomes = Protected<[DownloadOutcome]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      var watched: Set<Int64> = []
      var last = ContinuousClock.now
      while true {
        let running = try await library.running()
        for content in running where watched.insert(content.id).inserted {
          group.addTask {
            let outcome = await outcome(of: content.key)
            outcomes.withLock { $0.append(outcome) }
          }
        }
        if !running.isEmpty { last = .now }
        guard .now - last < Self.longestPause else { break }
        try await TaskThreads.sleep(for: Self.interval)
      }
      try await group.waitForAll()
    }
    return outcomes.withLock { $0 }
  }
}
