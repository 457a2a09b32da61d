import CurlKit
import SealKit
import SystemKit

/// One thing to download, as the user named it.
package struct DownloadRequest: Sendable {
  package var reference: ContentReference
  /// Virtual folder to put it in; `nil` leaves a known content where it is.
  package var folder: String?
  /// User values by their number, 0 to 99, for a content named by key; a play URL carries its own.
  package var userValues: [Int: String]
  /// Whether the origin was asked a moment ago, and what it said is stored: then it is not asked again.
  package var isFresh = false

  package init(_ reference: ContentReference, folder: String? = nil, userValues: [Int: String] = [:]) {
    (self.reference, self.folder, self.userValues) = (reference, folder, userValues)
  }
}

/// What became of one content of a request.
package struct DownloadOutcome: Sendable {
  /// The key as far as it is known.
  package let mediaContentKey: String?
  package let result: Result<Content, KollusError>
  /// Bytes that a run would still have to fetch; only told by a dry run.
  package var pending: Int64 = 0
}

/// Downloads contents: resolves them all, checks the room for all, then fetches a few at once.
package struct Downloader: Sendable {
  let home: Home
  let library: Library
  let settings: Settings
  let sink: any EventSink
  let engine: TransferEngine
  let client: OriginClient
  let licensor: Licensor
  let workers: WorkerThreads
  /// Bytes of all segment buffers.
  let memory = Allotment(24 << 20)
  let buffers = SpareBuffers()
  /// Taken by a content with a very long list of digests.
  let heavy = Allotment(1)
  let cancellations = Cancellations()
  /// Contents whose bytes are under way at once.
  let transfers: Allotment
  /// Manifests asked for at once.
  let lookups: Allotment
  /// Further contents that only wait for a commit, which they then share.
  private static let commitsAhead = 128

  /// `bytesPerSecond` limits all transfers together.
  package init(
    home: Home, library: Library, settings: Settings, sink: any EventSink, bytesPerSecond: Int64? = nil
  ) throws(KollusError) {
    (self.home, self.library, self.settings, self.sink) = (home, library, settings, sink)
    engine = try TransferEngine.started(bytesPerSecond: bytesPerSecond)
    client = OriginClient(engine: engine, settings: settings)
    licensor = Licensor(
      library: library, settings: settings, sink: sink, engine: engine, keys: SecurityKeys(settings))
    workers = WorkerThreads(3)
    transfers = Allotment(settings.jobs)
    lookups = Allotment(max(4, settings.jobs))
  }

  /// Ends the threads; to be called once after the last run.
  package func close() {
    engine.stop()
    workers.close()
  }

  /// Downloads everything asked for; one outcome for each content, in the order of the requests.
  ///
  /// When the task is cancelled, what was not done has an outcome of kind `interrupted`.
  package func run(_ requests: [DownloadRequest]) async -> [DownloadOutcome] {
    let known: [ExactText: Content]
    let first: Int64
    do {
      // Nothing is fetched onto the disk below one that is not mounted.
      if !home.hasMedia, try await library.hasReadyContents() { throw home.mediaMissing }
      try home.makeMedia()
      known = try await library.contents(withKeys: requests.compactMap(\.key))
      first = try await library.nextIndex()
    } catch {
      let failure = KollusError(any: error)
      return requests.map { request in
        let named = request.key.map(failure.of) ?? failure
        sink.emit(
          .downloadContent(
            ContentProgress(
              mediaContentKey: request.key ?? "", title: "", isDownloaded: false, downloadSize: 0, fileSize: 0
            ),
            error: named))
        return DownloadOutcome(mediaContentKey: request.key, result: .failure(named))
      }
    }
    let prepared = await mapConcurrently(
      Array(requests.enumerated()), limit: settings.jobs + Self.commitsAhead
    ) { item in
      await prepare(item.element, known: known, place: first + Int64(item.offset))
    }.flatMap { $0 }
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { await watchForCancellations() }
      defer { group.cancelAll() }
      return await fetchAll(prepared)
    }
  }

  /// Fetches what is to be fetched, in the order given.
  private func fetchAll(_ prepared: [Prepared]) async -> [DownloadOutcome] {
    let shortage = spaceShortage(prepared)
    let state = QueueState()
    return await mapConcurrently(
      prepared, limit: settings.jobs + Self.commitsAhead,
      admit: { item in if case .fetch = item { await transfers.take(1) } }
    ) { item in
      switch item {
      case .settled(let outcome): return outcome
      case .fetch(let content, let source):
        let key = content.mediaContentKey
        if let error = shortage ?? state.stop {
          transfers.giveBack(1)
          sink.emit(.downloadContent(content.progress, error: error.of(key)))
          return DownloadOutcome(mediaContentKey: key, result: .failure(error.of(key)))
        }
        let fetched = await fetch(content, source)
        // A full disk stops the queue: what is sound stays, nothing more is begun.
        if case .failure(let error) = fetched, error.kind == .noSpace { state.stop(for: error) }
        // The place is free for the next while this one waits for the commit, which many share.
        transfers.giveBack(1)
        return DownloadOutcome(mediaContentKey: key, result: await conclude(fetched, of: content))
      }
    }
  }

  /// Stores what the origin says of the contents that a request means; fetches nothing of them.
  ///
  /// Contents that this request is known to mean are not asked for again.
  package func register(_ request: DownloadRequest) async -> [DownloadOutcome] {
    do {
      let known = try await known(request)
      guard known.isEmpty else {
        return known.map { DownloadOutcome(mediaContentKey: $0.mediaContentKey, result: .success($0)) }
      }
      return await prepare(request, known: [:], place: try await library.nextIndex()).map { item in
        switch item {
        case .settled(let outcome): outcome
        case .fetch(let content, _):
          DownloadOutcome(mediaContentKey: content.mediaContentKey, result: .success(content))
        }
      }
    } catch {
      return [DownloadOutcome(mediaContentKey: request.key, result: .failure(KollusError(any: error)))]
    }
  }

  /// Says what `run` would do, sending nothing but the requests for manifests and storing nothing.
  package func rehearse(_ requests: [DownloadRequest]) async -> [DownloadOutcome] {
    await mapConcurrently(requests, limit: max(4, settings.jobs)) { request in
      do {
        let known = try await known(request)
        if !known.isEmpty, known.allSatisfy({ $0.isDownloaded && isIntact($0) }) {
          return known.map { DownloadOutcome(mediaContentKey: $0.mediaContentKey, result: .success($0)) }
        }
        return try await resolving(request, known: known) { sources in
          await sources.asyncMap { source in
            let key = source.manifest.content.mediaContentKey
            if let refusal = refusal(of: source.manifest) {
              return DownloadOutcome(mediaContentKey: key, result: .failure(refusal))
            }
            var content = source.manifest.content
            // Only for a better figure; the rehearsal goes on without.
            let stored = try? await library.content(key)
            content.downloadSize = stored?.identity == content.identity ? stored?.downloadSize ?? 0 : 0
            sink.emit(
              .note(
                .planned, mediaContentKey: key,
                message:
                  "\(content.fileSize - content.downloadSize) of \(content.fileSize) bytes would be fetched"))
            return DownloadOutcome(
              mediaContentKey: key, result: .success(content),
              pending: content.fileSize - content.downloadSize)
          }
        }
      } catch {
        let failure = KollusError(any: error)
        let named = request.key.map(failure.of) ?? failure
        return [DownloadOutcome(mediaContentKey: request.key, result: .failure(named))]
      }
    }.flatMap { $0 }
  }

  // MARK: Room

  /// The refusal when the disk has no room for all that is to be fetched, plus the reserve.
  private func spaceShortage(_ prepared: [Prepared]) -> KollusError? {
    var needed: Int64 = 0
    for case .fetch(let content, _) in prepared where !content.isDownloaded {
      // Room is reserved when a file is made, so what a partial file takes is taken already.
      let taken = (try? Files.information(home.mediaPath(of: content.mediaContentKey)))?.allocated ?? 0
      let size = max(0, min(content.fileSize, 1 << 50))
      let (sum, overflow) = needed.addingReportingOverflow(max(0, size + size / 128 + (64 << 10) - taken))
      needed = overflow ? .max : sum
    }
    guard needed > 0, let free = try? Files.freeSpace(at: home.mediaPath) else { return nil }
    let (wanted, overflow) = needed.addingReportingOverflow(settings.reserve.bytes)
    guard overflow || wanted > free else { return nil }
    return KollusError(
      .noSpace, code: KollusCode.storageFull,
      "not enough space: \(needed) bytes are to be stored and \(settings.reserve.bytes) kept free, \(free) are free",
      hint: "free some space, or lower 'reserve' in the configuration")
  }

  /// Whether the file of a ready content is as it was left, told without reading it.
  func isIntact(_ content: Content) -> Bool {
    guard
      let file = try? Files.information(home.mediaPath(of: content.mediaContentKey), followsLinks: false)
    else { return false }
    return file.modified == content.fileStamp
  }
}

/// Says whether the queue was stopped.
private final class QueueState: Sendable {
  private let state = Protected<KollusError?>(nil)
  var stop: KollusError? { state.withLock { $0 } }
  func stop(for error: KollusError) { state.withLock { $0 = $0 ?? error } }
}

extension DownloadRequest {
  /// The key, when that is how the content was named.
  var key: String? {
    if case .mediaContentKey(let key) = reference { key } else { nil }
  }
}
