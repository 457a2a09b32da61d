import CurlKit
import SealKit
import SystemKit

/// Fetching one content, once it is registered.
extension Downloader {
  /// Fetches, or joins the process that does.
  ///
  /// `source` is what the origin just said, if it is at hand.
  func fetch(_ content: Content, _ source: Source?) async -> Result<Fetched, KollusError> {
    do {
      return .success(try await work(content, source))
    } catch {
      return .failure(KollusError(any: error).of(content.mediaContentKey))
    }
  }

  /// Says that a fetched content is ready, or tells the failure.
  func conclude(_ fetched: Result<Fetched, KollusError>, of content: Content) async -> Result<
    Content, KollusError
  > {
    let key = content.mediaContentKey
    do {
      switch try fetched.get() {
      case .ready(let content): return .success(content)
      case .sealed(let sealed): return .success(try await finish(sealed))
      }
    } catch {
      let error = KollusError(any: error).of(key)
      let stored = (try? await library.content(key)) ?? content  // Only for the figures of the event.
      sink.emit(.downloadContent(stored.progress, error: error))
      return .failure(error)
    }
  }

  enum Fetched: Sendable {
    case ready(Content)
    case sealed(Sealed)
  }

  /// A content whose bytes are all here, not yet said to be ready; the lock is held until it is.
  struct Sealed: Sendable {
    let content: Content
    let stamp: Int64
    let filesNeedSync: Bool
    let lock: ByteLock
  }

  private func work(_ content: Content, _ source: Source?) async throws -> Fetched {
    let key = content.mediaContentKey
    var wasJoined = false
    // A content that was removed and registered anew has another index, and so another lock.
    var id = content.id
    while true {
      try Task.checkCancellation()
      guard let lock = try home.lock(content: id) else {
        try await follow(content, lockedAs: id, isFirst: !wasJoined)
        wasJoined = true
        continue
      }
      defer { withExtendedLifetime(lock) {} }
      guard let current = try await library.content(key) else { throw Self.removed }
      guard current.id == id else {
        id = current.id
        continue
      }
      if current.isDownloaded, isIntact(current) {
        await tellReady(current)
        return .ready(current)
      }
      // The one that was joined has ended without success: its outcome is ours.
      if wasJoined, let failure = current.failure, current.state == .failed { throw failure }
      if current.state == .cancelled, wasJoined || content.state != .cancelled { throw Self.cancelled }
      // What was wished before this download began is over; what the one that was joined died over is not.
      if !wasJoined { try await library.forgetCancellation(of: id) }
      do {
        return try await cancellably(current) {
          // An old failure is over from here on: those who join must not take it for this run's.
          if current.state == .failed { try await library.begin(current.id, holding: current.downloadSize) }
          let given = current == content ? source : nil
          // A list of a hundred thousand digests weighs as much as all buffers: one such content at a time.
          guard given == nil, try await library.sourceSize(of: current.id) > 1 << 20 else {
            return try await transfer(current, given, lock)
          }
          return try await heavy.with(1) { try await transfer(current, nil, lock) }
        }
      } catch {
        throw try await record(error, of: current)
      }
    }
  }

  static let removed = KollusError(
    .unknownContent, code: KollusCode.notDownloaded, "the content was removed meanwhile")

  /// A failure with the time before which the server wants no call.
  struct FetchFailure: Error {
    let error: KollusError
    let notBefore: Int64
  }

  /// Keeps the failure for a later look and returns it; an interrupted download just goes on later.
  private func record(_ error: any Error, of content: Content) async throws -> KollusError {
    let failure = error as? FetchFailure
    let error = failure?.error ?? KollusError(any: error)
    if error.kind != .interrupted {
      try await library.fail(content.id, error, notBefore: failure?.notBefore ?? 0)
    }
    return error
  }

  private func finish(_ sealed: Sealed) async throws -> Content {
    defer { withExtendedLifetime(sealed.lock) {} }
    let content = sealed.content
    do {
      let ready = try await cancellably(content) {
        if content.needsLicence, !(content.licence?.isComplete ?? false) {
          try await library.setFetched(content.id, filesNeedSync: sealed.filesNeedSync)
          let (ready, failure) = try await licensor.complete(content, stamp: sealed.stamp)
          if let failure { throw failure }
          return ready
        }
        guard
          let ready = try await library.finish(
            content, at: Int64(library.now()), stamp: sealed.stamp, filesNeedSync: sealed.filesNeedSync)
        else { throw Self.removed }
        return ready
      }
      sink.emit(.downloadContent(ready.progress, error: nil))
      return ready
    } catch {
      throw try await record(error, of: sealed.content)
    }
  }

  /// Shows the progress of the process that holds the content until it lets go.
  private func follow(_ content: Content, lockedAs id: Int64, isFirst: Bool) async throws {
    if isFirst {
      sink.emit(
        .note(
          .joined, mediaContentKey: content.mediaContentKey, message: "another process is at it; following"))
    }
    var shown: Int64 = -1
    while true {
      try await TaskThreads.sleep(for: .milliseconds(100))
      // Asking takes the lock for a moment at most; the holder's process keeps it till its end.
      if try home.lock(content: id) != nil { return }
      if let current = try await library.content(content.mediaContentKey), current.downloadSize > shown {
        shown = current.downloadSize
        if !current.isDownloaded { sink.emit(.downloadContent(current.progress, error: nil)) }
      }
    }
  }

  /// The whole work on one content by the process that holds its lock.
  private func transfer(_ content: Content, _ given: Source?, _ lock: ByteLock) async throws -> Fetched {
    var content = content
    let key = content.mediaContentKey
    if content.isDownloaded || content.isDamaged {
      let isGone = !SealedFile.exists(home.mediaPath(of: key))
      if try !isGone && opens(content) {
        let repair = try await repair(content, isLocked: true)
        await tellReady(repair.content)
        return .ready(repair.content)
      }
      if isGone || content.needsLicence {
        // Nothing of it can be kept: that is a new download, for which approval is asked anew.
        try await library.setMissing([content.id])
      } else {
        try await forsake(content)
      }
      content = try await library.content(key) ?? content
    }
    content = try await approved(content)
    guard var source = if let given { given } else { try await storedSource(content) } else {
      throw KollusError(
        .badData, code: KollusCode.damaged, "what is stored of this content cannot be read",
        hint: "remove it and download it again"
      ).of(key)
    }
    var attempt = Attempt()
    while true {
      let file: SealedFile
      let scan: SegmentScan
      (file, scan) = try await openFile(content, source, attempt: &attempt)
      // One request is over before anyone could see that it began.
      if file.layout.segmentCount > 1 { try await library.begin(content.id, holding: scan.size(file.layout)) }
      let teller = ProgressTeller(content, sink: sink, from: scan.size(file.layout))
      let fetch = FetchState(
        layout: file.layout, media: source.manifest.media, scan: scan, settings: settings,
        progress: scan.size(file.layout), preferring: attempt.preferred, caution: attempt.caution,
        told: { teller.tell($0) })
      try await run(file, fetch, source.manifest.media, content)
      attempt.scan = fetch.scan
      attempt.preferred = fetch.currentAddress
      switch fetch.verdict {
      case nil:
        guard fetch.isComplete else {
          throw KollusError(.internalFailure, "a download ended before it was complete").of(key)
        }
        if let error = try await wrongWhole(content, file, source.manifest) {
          attempt.caution.avoided[fetch.currentAddress] = error
          let other = source.manifest.media.addresses.first { attempt.caution.avoided[$0] == nil }
          try restart(content, because: error.message, &attempt)
          attempt.preferred = other
          guard other != nil else { throw error }
          continue
        }
        return .sealed(try await complete(content, file, source.manifest, lock))
      case .startOver(let reason):
        try restart(content, because: reason, &attempt)
      case .fail(let error, let notBefore):
        try await library.setProgress(content.id, fetch.progress)
        // A server's word is kept, but not for so long that only a removal would help.
        throw FetchFailure(error: error, notBefore: min(notBefore, Int64(library.now()) + 30 * 86_400))
      case .resolve(let reason, let error):
        try await library.setProgress(content.id, fetch.progress)
        source = try await resolveAgain(content, source, reason, error, progress: fetch.progress, &attempt)
        // The origin may name a callback only now.
        content = try await approved(try await library.content(key) ?? content)
      }
    }
  }

  /// What one run remembers between its attempts on a content.
  struct Attempt {
    /// Known without reading the file again; `nil` before the first attempt and after a restart.
    var scan: SegmentScan?
    /// The mirror that served last.
    var preferred: WebAddress?
    var caution = FetchCaution()
    var restarts = 0
    /// Progress at the last time the manifest was had again.
    var resolvedAt: Int64?
    var resolves = 0
  }

  /// Opens the partial file and finds out what it holds, or makes a new one.
  private func openFile(
    _ content: Content, _ source: Source, attempt: inout Attempt
  ) async throws -> (SealedFile, SegmentScan) {
    let media = source.manifest.media
    let path = home.mediaPath(of: content.mediaContentKey)
    let isLarge = media.size >= 8 << 20
    // A damaged header costs the partial file: nothing in it can be opened any more.
    let isThere = SealedFile.exists(path)
    if isThere, let file = try? SealedFile.open(path, deviceKey: home.identity.key),
      file.mediaContentKey.isExactly(content.mediaContentKey), file.about.identity == media.identity
    {
      let scan: SegmentScan
      if let known = attempt.scan {
        scan = known
      } else {
        scan = try await file.scan(digests: media.segments, isPartial: true)
      }
      let held = scan.size(file.layout)
      if held > 0 {
        if attempt.scan == nil {
          sink.emit(
            .note(
              .resumed, mediaContentKey: content.mediaContentKey,
              message: "\(held) of \(media.size) bytes are here"))
        }
        return (isLarge ? try file.forLargeWrites() : file, scan)
      }
    }
    if isThere, attempt.restarts == 0, SealedFile.holdsSegments(path, deviceKey: home.identity.key) {
      try restart(content, because: "what is stored does not belong to what the origin has now", &attempt)
    }
    let file = try SealedFile.create(
      at: path, SealedDescription(content, source), segmentSize: media.segmentSize, size: media.size,
      deviceKey: home.identity.key, isLarge: isLarge)
    if let licence = content.licence {
      try home.keepGeneration(licence.generation, of: content.mediaContentKey)
    }
    return (file, .empty(count: file.layout.segmentCount))
  }

  /// libcurl's buffers of all transfers together stay within 8 MiB; a large one only pays for large bodies.
  private func receiveBufferSize(for layout: SealedLayout) -> Int {
    let share = (8 << 20) / (settings.jobs * settings.connections)
    return layout.size < 1 << 20 ? min(64 << 10, share) : min(512 << 10, share)
  }

  /// Brings what is missing of a content's media; the verdict of `fetch` tells how far it came.
  func run(_ file: SealedFile, _ fetch: FetchState, _ media: Manifest.Media, _ content: Content)
    async throws
  {
    let layout = file.layout
    let size = BufferPool.bufferSize(segmentSize: layout.plainLength(0))
    let share = memory.total / settings.jobs / size
    // No more than one segment a connection is ever received but not yet on disk: that is what a kill costs.
    let count = min(layout.segmentCount, max(2, settings.connections), max(2, share))
    try await memory.with(count * size) {
      let pool = BufferPool(count: count, segmentSize: layout.plainLength(0), from: buffers) { [engine] in
        engine.wake()
      }
      let bytes = MediaFetch(
        engine: engine, workers: workers, options: OriginClient.options(settings), file: file, fetch: fetch,
        judge: MediaJudge(size: media.size, type: media.type, policy: client.policy),
        pool: pool, bufferSize: receiveBufferSize(for: layout))
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          if layout.segmentCount > 1 { group.addTask { try await keepProgress(content.id, fetch) } }
          try await bytes.run()
          group.cancelAll()
        }
      } catch {
        try? await library.setProgress(content.id, fetch.progress)  // The first failure is the one to tell.
        throw error
      }
    }
  }

  /// Writes the progress once a second, for those who join and for a list meanwhile.
  private func keepProgress(_ id: Int64, _ fetch: FetchState) async throws {
    var written = fetch.progress
    // The sleep ends early when the transfers have ended, one way or the other.
    while (try? await TaskThreads.sleep(for: .seconds(1))) != nil {
      let progress = fetch.progress
      if progress != written { try await library.setProgress(id, progress) }
      written = progress
    }
  }

  func restart(_ content: Content, because reason: String, _ attempt: inout Attempt) throws {
    attempt.restarts += 1
    // Twice may be a deployment; after that it is the server's way.
    if attempt.restarts >= 2 { attempt.caution.isPlain = true }
    guard attempt.restarts <= 5 else {
      throw KollusError(
        .tryLater, code: KollusCode.damaged, "the object changed again and again during its download",
        hint: "run the same command again later"
      ).of(content.mediaContentKey)
    }
    attempt.scan = nil
    do {
      try SealedFile.destroy(home.mediaPath(of: content.mediaContentKey))
    } catch {
      throw KollusError(error)
    }
    sink.emit(
      .note(.restarted, mediaContentKey: content.mediaContentKey, message: "beginning anew: \(reason)"))
  }

  // MARK: The end

  /// All segments are sealed: the last checks and the pictures, before it is said to be ready.
  private func complete(
    _ content: Content, _ file: SealedFile, _ manifest: Manifest, _ lock: ByteLock
  ) async throws -> Sealed {
    let isLarge = manifest.media.size >= 8 << 20
    do {
      if isLarge { try file.synchronize() }
      await fetchPictures(content, manifest)
      return Sealed(
        content: content, stamp: try stamp(of: file), filesNeedSync: !isLarge, lock: lock)
    } catch let error as SystemError {
      throw KollusError(error)
    }
  }

  /// The time stamp of the file, which must still stand where it was made.
  private func stamp(of file: SealedFile) throws -> Int64 {
    let information = try file.information()
    guard try Files.information(file.path)?.inode == information.inode else {
      throw KollusError(
        .inputOutput, code: KollusCode.saveData,
        "the media file was removed while it was written: \(file.path)",
        hint: "run the same command again")
    }
    return information.modified
  }

  /// The failure when a digest of the whole object alone, checked by reading back, does not fit.
  private func wrongWhole(_ content: Content, _ file: SealedFile, _ manifest: Manifest) async throws
    -> KollusError?
  {
    guard let digest = manifest.media.digest, manifest.media.segments.isEmpty,
      try await file.wholeDigest() != digest
    else { return nil }
    try await library.setProgress(content.id, 0)
    return KollusError(
      .badData, code: KollusCode.damaged, "the media does not have the digest media.sha256 of the manifest",
      hint: "tell the people who run the origin"
    ).of(content.mediaContentKey)
  }
}
