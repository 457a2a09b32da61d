import CurlKit
import SealKit
import SystemKit

/// Asking the origin again in the course of a download.
extension Downloader {
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

  /// Has the manifest again and decides whether what is stored still belongs to it.
  func resolveAgain(
    _ content: Content, _ old: Source, _ reason: ResolveReason, _ error: KollusError, progress: Int64,
    _ attempt: inout Attempt
  ) async throws -> Source {
    let reference = old.playURL.map(ContentReference.playURL) ?? .mediaContentKey(content.mediaContentKey)
    // The user values stay as they are: a play URL carries them, a key keeps those it was given.
    let request = DownloadRequest(reference)
    let sources = try await resolve(request, known: [content])
    guard
      let fresh = sources.first(where: {
        $0.manifest.content.mediaContentKey.isExactly(content.mediaContentKey)
      })
    else {
      throw error
    }
    _ = try await store(fresh, request: request)
    let (was, now) = (old.manifest.media, fresh.manifest.media)
    let isSame =
      was.size == now.size && was.segmentSize == now.segmentSize && was.segments == now.segments
      && was.digest == now.digest
    guard isSame else {
      try restart(content, because: error.message, &attempt)
      return fresh
    }
    switch reason {
    case .changed where now.segments.isEmpty:
      try restart(content, because: error.message, &attempt)
    case .changed:
      // The digests are the same: whatever the validator says, they will judge the bytes.
      attempt.scan?.source = nil
      attempt.caution.ignoresValidators = true
    case .unusable:
      let isNews =
        was.addresses != now.addresses
        || attempt.resolvedAt.map { $0 < progress } ?? (progress > content.downloadSize)
      guard isNews else { throw error }
    }
    attempt.resolves += 1
    attempt.resolvedAt = progress
    guard attempt.resolves <= 100 else { throw error }
    sink.emit(
      .note(
        .retrying, mediaContentKey: content.mediaContentKey,
        message: "\(error.message); the manifest was had again"))
    return fresh
  }
}
