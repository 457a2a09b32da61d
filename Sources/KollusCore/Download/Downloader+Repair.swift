import CurlKit
import SealKit
import SystemKit

/// What a repair came to.
package struct Repair: Sendable {
  /// As it stands now.
  package let content: Content
  package let segments: Int
  /// Segments that were damaged and are sound again, in order.
  package let repaired: [Int]
}

/// Putting right what is damaged of a content that was complete.
///
/// Only segments that are not sound are fetched, licence and counters are left alone, and nothing is written before it is
/// proved: by the digest kept when the segment first came, by the origin's at the time of the download, or by sound
/// neighbors that come in the same answer. What an origin says now is never believed against what is stored.
extension Downloader {
  /// Reads all of a content and repairs what is damaged; a sound one is only noted as checked.
  ///
  /// Throws why it cannot be repaired, now or at all; then it is known to be damaged and its file is as it was.
  /// Whoever holds the content's lock already says so (`isLocked`).
  package func repair(_ content: Content, isLocked: Bool = false) async throws -> Repair {
    let key = content.mediaContentKey
    let lock = isLocked ? nil : try home.lock(content: content.id)
    guard isLocked || lock != nil else { throw Library.busy.of(key) }
    defer { withExtendedLifetime(lock) {} }
    let found = try await library.verify(content, isLocked: true, sink)
    await mendPictures(content)
    if found.damaged.isEmpty { return try await concluded(content, found.segments, []) }
    let file = try home.openMedia(of: content)
    do {
      try await restore(found.damaged, of: content, in: file)
    } catch {
      throw Self.hopeless(error, found.damaged).of(key)
    }
    try file.synchronize()
    try await library.setSound(content.id, stamp: try file.information().modified)
    sink.emit(
      .note(
        .repaired, mediaContentKey: key,
        message: "\(found.damaged.count) of \(found.segments) segments were fetched again"))
    return try await concluded(content, found.segments, found.damaged)
  }

  private func concluded(_ content: Content, _ segments: Int, _ repaired: [Int]) async throws -> Repair {
    guard let now = try await library.content(content.mediaContentKey) else { throw Self.removed }
    return Repair(content: now, segments: segments, repaired: repaired)
  }

  /// The failure of a repair: what is damaged, and why it stays so.
  private static func hopeless(_ error: any Error, _ damaged: [Int]) -> KollusError {
    let error = (error as? FetchFailure)?.error ?? KollusError(any: error)
    guard error.kind != .interrupted else { return error }
    let isPassing = error.kind == .tryLater
    let isOwn = error.kind == .noSpace || error.kind == .inputOutput
    return KollusError(
      isOwn ? error.kind : .badData, code: KollusCode.damaged,
      "\(SegmentScan.text(of: damaged)), cannot repair\(isPassing ? " now" : ""): \(error.message)",
      hint: isPassing
        ? "run 'kollus verify --repair' again once the network is there; nothing was changed"
        : error.hint ?? (isOwn ? Home.doctorHint : "'kollus remove' and 'kollus download' fetch it anew"))
  }

  /// Fetches damaged segments again; what the origin was first, what it is now when that is of no use.
  private func restore(_ damaged: [Int], of content: Content, in file: SealedFile) async throws {
    let stored = try await storedSource(content)
    let whole =
      stored.map(\.manifest.media).flatMap { $0.identity == file.about.identity ? $0.digest : nil }
    let digests = try known(damaged, in: file, stored?.manifest.media)
    var left = damaged
    var failure: (any Error)?
    if let stored {
      do {
        left = try await restore(left, digests, whole, of: content, in: file, from: stored.manifest.media)
        if left.isEmpty { return }
      } catch let error as CancellationError {
        throw error
      } catch {
        failure = error
      }
    }
    let fresh: Source
    do {
      fresh = try await current(content)
    } catch {
      throw failure ?? error
    }
    guard fresh.manifest.media.size == file.layout.size else { throw Self.other }
    left = try await restore(
      left.filter { try !isSound($0, in: file) }, digests, whole, of: content, in: file,
      from: fresh.manifest.media)
    if !left.isEmpty { throw Self.other }
  }

  private static let other = KollusError(
    .badData, code: KollusCode.damaged,
    "the origin has another object by now, or none that can be proved the same")

  /// What the origin says of the content now.
  private func current(_ content: Content) async throws -> Source {
    let request = DownloadRequest(.mediaContentKey(content.mediaContentKey))
    let sources = try await resolve(request, known: [content])
    guard
      let source = sources.first(where: {
        $0.manifest.content.mediaContentKey.isExactly(content.mediaContentKey)
      })
    else { throw Self.other }
    if let refusal = refusal(of: source.manifest) { throw refusal }
    return source
  }

  /// The digests that damaged segments must have, as far as they are known.
  private func known(_ damaged: [Int], in file: SealedFile, _ media: Manifest.Media?) throws -> [Int: Digest]
  {
    var digests: [Int: Digest] = [:]
    let isSame =
      media.map { $0.size == file.layout.size && $0.segmentSize == file.layout.segmentSize } ?? false
    for index in damaged {
      digests[index] = try file.storedDigest(of: index)
      if digests[index] == nil, isSame, let media, !media.segments.isEmpty {
        digests[index] = media.segments[index]
      } else if digests[index] == nil, isSame, file.layout.segmentCount == 1 {
        digests[index] = media?.digest
      }
    }
    return digests
  }

  /// Fetches what it can of `damaged` from these addresses; returns what could not be proved.
  private func restore(
    _ damaged: [Int], _ digests: [Int: Digest], _ whole: Digest?, of content: Content, in file: SealedFile,
    from media: Manifest.Media
  ) async throws -> [Int] {
    let judged = damaged.filter { digests[$0] != nil }
    if !judged.isEmpty { try await fetch(judged, digests, of: content, in: file, from: media) }
    let unknown = damaged.filter { digests[$0] == nil }
    if unknown.isEmpty { return [] }
    let proved = try await prove(unknown, in: file, from: media, whole: whole)
    let sure = unknown.filter { proved[$0] != nil }
    if !sure.isEmpty { try await fetch(sure, proved, of: content, in: file, from: media) }
    return unknown.filter { proved[$0] == nil }
  }

  /// Fetches segments whose digests are known, as a download does.
  private func fetch(
    _ damaged: [Int], _ digests: [Int: Digest], of content: Content, in file: SealedFile,
    from media: Manifest.Media
  ) async throws {
    var media = media
    (media.segmentSize, media.digest) = (file.layout.segmentSize, nil)
    // Those of sound segments are never looked at.
    let any = digests[damaged[0]] ?? SHA256.hash([])
    media.segments = (0..<file.layout.segmentCount).map { digests[$0] ?? any }
    var scan = SegmentScan(done: [Bool](repeating: true, count: file.layout.segmentCount))
    for index in damaged { scan.done[index] = false }
    var caution = FetchCaution()
    caution.ignoresValidators = true
    let key = content.mediaContentKey
    let fetch = FetchState(
      layout: file.layout, media: media, scan: scan, settings: settings, progress: scan.size(file.layout),
      caution: caution,
      told: { [sink] news in
        if case .retrying(let text) = news {
          sink.emit(.note(.retrying, mediaContentKey: key, message: text))
        }
        if case .waiting(let text) = news { sink.emit(.note(.waiting, mediaContentKey: key, message: text)) }
      })
    try await run(file, fetch, media, content)
    switch fetch.verdict {
    case nil where fetch.isComplete: return
    case .fail(let error, let notBefore): throw FetchFailure(error: error, notBefore: notBefore)
    case .resolve(_, let error): throw error
    case nil, .startOver: throw Self.other
    }
  }

  private func isSound(_ index: Int, in file: SealedFile) throws -> Bool {
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: file.layout.segmentSize))
    return try file.read(index, into: buffer) != nil
  }

  /// Gives a content up of whose file nothing can be kept: what the origin has now takes its place.
  func forsake(_ content: Content) async throws {
    let failure = KollusError(.badData, code: KollusCode.damaged, "stored bytes are damaged or gone")
    try await library.setDamaged(content.id, holding: 0, failure)
    let source = try await current(content)
    _ = try await library.register(
      source.manifest.content, source: try source.sealed(under: home.identity.key), playURL: nil, folder: nil)
    try await library.begin(content.id, holding: 0)
  }

  /// Whether the file of a content can be opened at all; throws where that cannot be told.
  func opens(_ content: Content) throws(KollusError) -> Bool {
    do throws(KollusError) {
      _ = try home.openMedia(of: content)
      return true
    } catch {
      guard error.kind == .badData else { throw error }
      return false
    }
  }
}
