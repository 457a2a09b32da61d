import CurlKit
import SealKit
import SystemKit

/// Finding out what a request means, before anything is fetched.
extension Downloader {
  enum Prepared: Sendable {
    case settled(DownloadOutcome)
    /// With what the origin just said, where that is small enough to be kept in memory.
    case fetch(Content, Source?)
  }

  /// Finds out what a request means and stores what the origin says of it.
  ///
  /// `place` is the index that a new content gets, so that a list shows a batch as it was given.
  func prepare(
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
      if !known.isEmpty, try known.allSatisfy({ try $0.isDownloaded || $0.isDamaged || isBusy($0) }) {
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
      // One that is cancelled from here on stays so; one that was before begins anew.
      let alive = Set(known.filter { $0.state != .cancelled }.map { ExactText($0.mediaContentKey) })
      if request.isFresh, !known.isEmpty, alive.count == known.count {
        return known.map { .fetch($0, nil) }
      }
      return try await resolving(request, known: known) { sources in
        var prepared: [Prepared] = []
        let wanted = sources.filter { !$0.manifest.isIntro }
        for source in sources where source.manifest.isIntro && !wanted.isEmpty { skip(source) }
        for source in wanted.isEmpty ? sources : wanted {
          let revives = !alive.contains(ExactText(source.manifest.content.mediaContentKey))
          prepared.append(
            await register(
              source, request: request, place: prepared.isEmpty ? place : nil, revives: revives))
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
  func known(_ request: DownloadRequest) async throws -> [Content] {
    switch request.reference {
    case .mediaContentKey(let key): try await library.content(key).map { [$0] } ?? []
    case .playURL(let address): try await library.contents(ofPlayURL: home.playURLDigest(address))
    }
  }

  /// Whether another process works on the content.
  func isBusy(_ content: Content) throws -> Bool { try home.isLocked(content: content.id) }

  /// Intro clips are not downloaded (PROTO §1.4); beside other contents that is no failure.
  func skip(_ source: Source) {
    sink.emit(
      .note(
        .skipped, mediaContentKey: source.manifest.content.mediaContentKey,
        message: "an intro clip is not downloaded (\(KollusCode.introClip))"))
  }

  func checkPatience(_ content: Content) throws {
    guard content.notBefore > Int64(library.now()) else { return }
    throw KollusError(
      .tryLater, code: content.failure?.code ?? 0,
      "the server asked not to be called before \(WallClock.text(content.notBefore))",
      hint: "run the same command again after that"
    ).of(content.mediaContentKey)
  }

  /// Asks the origin and works on its answer; many small answers at once, a large one alone.
  func resolving<Result: Sendable>(
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

  func register(
    _ source: Source, request: DownloadRequest, place: Int64?, revives: Bool
  ) async -> Prepared {
    let key = source.manifest.content.mediaContentKey
    do {
      if source.manifest.isIntro, let refusal = refusal(of: source.manifest),
        case .playURL = request.reference
      {
        sink.emit(.note(.skipped, mediaContentKey: key, message: "\(refusal.message) (\(refusal.code))"))
      }
      let content = try await store(source, request: request, place: place, revives: revives)
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

  func store(
    _ source: Source, request: DownloadRequest, place: Int64? = nil, revives: Bool = false
  ) async throws -> Content {
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
      digest = home.playURLDigest(address)
    }
    return try await library.register(
      content, source: try source.sealed(under: home.identity.key), playURL: digest, folder: request.folder,
      revives: revives)
  }
}

extension Sequence where Element: Sendable {
  func asyncMap<Result>(_ body: (Element) async -> Result) async -> [Result] {
    var results: [Result] = []
    for element in self { results.append(await body(element)) }
    return results
  }
}
