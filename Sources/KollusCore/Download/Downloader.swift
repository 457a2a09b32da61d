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
  /// Contents whose bytes are under way at once.
  let transfers: Allotment
  /// Manifests asked for at once.
  private let lookups: Allotment
  /// Further contents that only wait for a commit, which they then share.
  private static let commitsAhead = 128

  /// `bytesPerSecond` limits all transfers together.
  package init(
    home: Home, library: Library, settings: Settings, sink: any EventSink, bytesPerSecond: Int64? = nil
  ) throws(KollusError) {
    (self.home, self.library, self.settings, self.sink) = (home, library, settings, sink)
    do throws(CurlError) {
      engine = try TransferEngine(bytesPerSecond: bytesPerSecond)
    } catch {
      throw KollusError(.internalFailure, "libcurl cannot be used: \(error)")
    }
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
    do {
      try Files.makeFolder(home.mediaPath)
    } catch {
      return requests.map { _ in DownloadOutcome(mediaContentKey: nil, result: .failure(KollusError(error))) }
    }
    let known: [ExactText: Content]
    let first: Int64
    do {
      known = try await library.contents(withKeys: requests.compactMap(\.key))
      first = try await library.nextIndex()
    } catch {
      return requests.map {
        DownloadOutcome(mediaContentKey: $0.key, result: .failure(KollusError(any: error)))
      }
    }
    let window = settings.jobs + Self.commitsAhead
    let prepared = await mapConcurrently(Array(requests.enumerated()), limit: window) { item in
      await prepare(item.element, known: known, place: first + Int64(item.offset))
    }.flatMap { $0 }
    let shortage = spaceShortage(prepared)
    let state = QueueState()
    return await mapConcurrently(
      prepared, limit: window,
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

  // MARK: Preparing

  private enum Prepared: Sendable {
    case settled(DownloadOutcome)
    /// With what the origin just said, where that is small enough to be kept in memory.
    case fetch(Content, Source?)
  }

  /// Finds out what a request means and stores what the origin says of it.
  ///
  /// `place` is the index that a new content gets, so that a list shows a batch as it was given.
  private func prepare(
    _ request: DownloadRequest, known table: [ExactText: Content], place: Int64
  ) async -> [Prepared] {
    var key = request.key
    // What was told of the content before is told again with a failure.
    var shown = ContentProgress(
      mediaContentKey: key ?? "", title: "", isDownloaded: false, downloadSize: 0, fileSize: 0)
    do {
      let known = if let key { table[ExactText(key)].map { [$0] } ?? [] } else { try await known(request) }
      if known.count == 1 { (key, shown) = (known[0].mediaContentKey, known[0].progress) }
      // What is here, or is being fetched by another process, needs no word of the origin.
      if !known.isEmpty, try known.allSatisfy({ try $0.isDownloaded || isBusy($0) }) {
        if let folder = request.folder {
          for content in known where content.folder != folder {
            try await library.place(content.id, in: folder)
          }
        }
        return await known.asyncMap { content in
          guard content.isDownloaded, isIntact(content) else { return .fetch(content, nil) }
          await tellReady(content)
          return .settled(
            DownloadOutcome(mediaContentKey: content.mediaContentKey, result: .success(content)))
        }
      }
      for content in known { try checkPatience(content) }
      return try await resolving(request, known: known) { sources in
        var prepared: [Prepared] = []
        let wanted = sources.filter { !$0.manifest.isIntro }
        for source in sources where source.manifest.isIntro && !wanted.isEmpty { skip(source) }
        for source in wanted.isEmpty ? sources : wanted {
          prepared.append(await register(source, request: request, place: prepared.isEmpty ? place : nil))
        }
        return prepared
      }
    } catch {
      let error = KollusError(any: error)
      sink.emit(.downloadContent(shown, error: key.map(error.of) ?? error))
      return [.settled(DownloadOutcome(mediaContentKey: key, result: .failure(key.map(error.of) ?? error)))]
    }
  }

  /// The contents that a request is known to mean, without asking the origin.
  private func known(_ request: DownloadRequest) async throws -> [Content] {
    switch request.reference {
    case .mediaContentKey(let key): try await library.content(key).map { [$0] } ?? []
    case .playURL(let address): try await library.contents(ofPlayURL: urlDigest(address))
    }
  }

  /// Whether another process works on the content.
  private func isBusy(_ content: Content) throws -> Bool { try home.lock(content: content.id) == nil }

  /// Intro clips are not downloaded (PROTO §1.4); beside other contents that is no failure.
  private func skip(_ source: Source) {
    sink.emit(
      .note(
        .skipped, mediaContentKey: source.manifest.content.mediaContentKey,
        message: "an intro clip is not downloaded (\(KollusCode.introClip))"))
  }

  private func urlDigest(_ address: WebAddress) -> [UInt8] {
    HMAC.sha256(Array(address.text.utf8), key: home.identity.key.derived("play url")).bytes
  }

  private func checkPatience(_ content: Content) throws {
    guard content.notBefore > Int64(WallClock.now()) else { return }
    throw KollusError(
      .tryLater, code: content.failure?.code ?? 0,
      "the server asked not to be called before \(WallClock.text(content.notBefore))",
      hint: "run the same command again after that"
    ).of(content.mediaContentKey)
  }

  /// Asks the origin and works on its answer; many small answers at once, a large one alone.
  private func resolving<Result: Sendable>(
    _ request: DownloadRequest, known: [Content], _ work: @Sendable ([Source]) async -> Result
  ) async throws -> Result {
    do {
      // The place is free for the next while this one waits for a commit, which many share.
      let sources = try await lookups.with(1) {
        try await resolve(request, known: known, limit: OriginClient.smallLimit)
      }
      return await work(sources)
    } catch is OriginClient.LargeAnswer {
      return try await lookups.with(lookups.total) { await work(try await resolve(request, known: known)) }
    }
  }

  /// Asks the origin, in the way the content was first had when there is no other.
  ///
  /// Throws `LargeAnswer` for one of more bytes than `limit`, as far as that is below what a manifest may have.
  func resolve(
    _ request: DownloadRequest, known: [Content], limit: Int = Manifest.sizeLimit
  ) async throws -> [Source] {
    var reference = request.reference
    if case .mediaContentKey = reference, settings.origin == nil, let content = known.first,
      let url = try await storedSource(content)?.playURL
    {
      reference = .playURL(url)
    }
    let key = request.key ?? (known.count == 1 ? known[0].mediaContentKey : nil)
    do {
      return try await client.resolve(reference, limit: limit) { note, message in
        sink.emit(.note(note, mediaContentKey: key, message: message))
      }
    } catch let error as KollusError {
      // A one-time URL serves once; what was fetched by it waits for a fresh one.
      guard case .playURL = reference, error.kind == .refused,
        known.contains(where: {
          !$0.isDownloaded && SealedFile.exists(home.mediaPath(of: $0.mediaContentKey))
        })
      else { throw error }
      throw KollusError(
        .refused, code: KollusCode.needsFreshURL, "the play URL can no longer be resolved (\(error.message))",
        hint: "what is stored is kept; run again with a fresh URL")
    }
  }

  func storedSource(_ content: Content) async throws -> Source? {
    try await library.source(of: content.id).flatMap {
      Source(opening: $0, of: content.mediaContentKey, key: home.identity.key)
    }
  }

  /// Why a content may not be downloaded at all.
  func refusal(of manifest: Manifest) -> KollusError? {
    let key = manifest.content.mediaContentKey
    if manifest.isIntro {
      return KollusError(
        .refused, code: KollusCode.introClip, "an intro clip is not downloaded", mediaContentKey: key)
    }
    if !manifest.isDownloadable {
      return KollusError(
        .refused, code: KollusCode.downloadForbidden,
        "the origin does not allow this content to be downloaded",
        mediaContentKey: key)
    }
    return nil
  }

  private func register(_ source: Source, request: DownloadRequest, place: Int64?) async -> Prepared {
    let key = source.manifest.content.mediaContentKey
    do {
      if source.manifest.isIntro, let refusal = refusal(of: source.manifest),
        case .playURL = request.reference
      {
        sink.emit(.note(.skipped, mediaContentKey: key, message: "\(refusal.message) (\(refusal.code))"))
      }
      let content = try await store(source, request: request, place: place)
      if content.isDownloaded, isIntact(content) {
        await tellReady(content)
        return .settled(DownloadOutcome(mediaContentKey: key, result: .success(content)))
      }
      sink.emit(.note(.resolved, mediaContentKey: key, message: content.title))
      let isSmall = source.manifest.text.utf8.count <= 4_096 && source.manifest.media.segments.count <= 64
      return .fetch(content, isSmall ? source : nil)
    } catch {
      let error = KollusError(any: error).of(key)
      sink.emit(.downloadContent(source.manifest.content.progress, error: error))
      return .settled(DownloadOutcome(mediaContentKey: key, result: .failure(error)))
    }
  }

  func store(_ source: Source, request: DownloadRequest, place: Int64? = nil) async throws -> Content {
    if let refusal = refusal(of: source.manifest) { throw refusal }
    var content = source.manifest.content
    content.id = place ?? 0
    var digest: [UInt8]?
    // The configuration only fills a gap; from then on the content never loses its callback (design §3).
    if settings.drmCallback != nil { content.needsLicence = true }
    content.clientUserID = settings.cuid ?? ""
    content.userValues = PlayURL.json(
      userValues: request.userValues.sorted { $0.key < $1.key }.map { ("uservalue\($0.key)", $0.value) })
    if case .playURL(let address) = request.reference {
      let claims = try PlayURL(address)
      content.clientUserID = claims.clientUserID ?? content.clientUserID
      content.userValues = PlayURL.json(userValues: claims.userValues)
      digest = urlDigest(address)
    }
    return try await library.register(
      content, source: try source.sealed(under: home.identity.key), playURL: digest, folder: request.folder)
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
    guard let file = try? Files.information(home.mediaPath(of: content.mediaContentKey)) else { return false }
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

extension KollusError {
  /// Any error as one of ours.
  init(any error: any Error) {
    switch error {
    case let error as KollusError: self = error
    case is CancellationError:
      self.init(
        .interrupted, code: KollusCode.cancelled, "interrupted", hint: "run the same command again to go on")
    case let error as SystemError: self.init(error)
    default: self.init(.internalFailure, "unexpected failure: \(error)")
    }
  }
}

extension Sequence where Element: Sendable {
  fileprivate func asyncMap<Result>(_ body: (Element) async -> Result) async -> [Result] {
    var results: [Result] = []
    for element in self { results.append(await body(element)) }
    return results
  }
}
