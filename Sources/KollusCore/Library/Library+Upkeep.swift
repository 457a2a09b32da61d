import SystemKit

extension Library {
  /// Removes a content: its key is destroyed first, then its files, then what is known of it.
  ///
  /// Throws `tryLater` while another process works on it.
  package func remove(_ content: Content, _ sink: any EventSink) async throws {
    let key = content.mediaContentKey
    guard let lock = try home.lock(content: content.id) else {
      throw Self.busy.of(key)
    }
    defer { withExtendedLifetime(lock) {} }
    // On a disk that is not mounted its key could not be destroyed.
    guard home.hasMedia || !content.holdsFile else { throw home.mediaMissing.of(key) }
    try home.checkDestroyable(key)
    try await setCancelled(content.id)
    let hasMore = !content.isDownloaded || !content.snapshot.isEmpty || !content.thumbnail.isEmpty
    try home.destroyMedia(of: key, hasMore: hasMore)
    try await delete(content.id)
    sink.emit(.note(.removed, mediaContentKey: key, message: content.title))
  }

  static let busy = KollusError(
    .tryLater, "another process works on this content",
    hint: "end it, or wait for it, and run the command again")

  /// The way out of damage.
  package static let repairHint =
    "run 'kollus verify --repair' or 'kollus download' for it: only the damaged segments are fetched"

  /// What a check of stored bytes found.
  package struct Soundness: Sendable {
    package let segments: Int
    /// Segments that are damaged or absent, in order.
    package let damaged: [Int]
  }

  /// Reads every segment of a ready content and checks it against its tag and digest.
  ///
  /// Damage makes the content `failed` until it is downloaded again, which fetches only what is bad.
  /// Whoever holds the content's lock already says so (`isLocked`).
  package func verify(
    _ content: Content, isLocked: Bool = false, _ sink: any EventSink
  ) async throws -> Soundness {
    let key = content.mediaContentKey
    guard content.isDownloaded || content.isDamaged else {
      throw KollusError(
        .badData, code: KollusCode.notComplete, "the content is not downloaded (\(content.state.rawValue))",
        hint: "download it first"
      ).of(key)
    }
    let lock = isLocked ? nil : try home.lock(content: content.id)
    guard isLocked || lock != nil else {
      throw Self.busy.of(key)
    }
    defer { withExtendedLifetime(lock) {} }
    let file: SealedFile
    do throws(KollusError) {
      file = try home.openMedia(of: content)
    } catch {
      if error.kind == .badData { try await setDamaged(content.id, holding: 0, error) }
      throw error
    }
    let scan = try await file.scan(digests: [], isPartial: false)
    try? file.mendCopy()  // Needed only by a beginning that is damaged, and this one is whole.
    guard scan.damaged.isEmpty else {
      let error = KollusError(
        .badData, code: KollusCode.damaged, SegmentScan.text(of: scan.damaged),
        hint: Self.repairHint)
      try await setDamaged(content.id, holding: scan.size(file.layout), error)
      sink.emit(.note(.damaged, mediaContentKey: key, message: error.message))
      return Soundness(segments: file.layout.segmentCount, damaged: scan.damaged)
    }
    let stamp: Int64
    do throws(SystemError) {
      stamp = try file.information().modified
    } catch {
      throw KollusError(error, code: KollusCode.readFile)
    }
    if !content.isDownloaded || content.fileStamp != stamp {
      try await setSound(content.id, stamp: stamp)
    } else {
      try await setVerified(content.id)
    }
    return Soundness(segments: file.layout.segmentCount, damaged: [])
  }

  /// Writes the plain bytes of a ready content without a licence to `output`, in order.
  ///
  /// Throws `licence` for a content with a DRM callback, `badData` for a damaged one.
  package nonisolated func export(_ content: Content, to output: (RawSpan) throws -> Void) throws {
    let key = content.mediaContentKey
    guard !needsLicence(content) else {
      throw KollusError(
        .licence, code: KollusCode.downloadForbidden, "a content with a DRM callback is not exported",
        hint: "play it instead"
      ).of(key)
    }
    guard content.isDownloaded else {
      throw KollusError(
        .badData, code: KollusCode.notComplete, "the content is not downloaded (\(content.state.rawValue))",
        hint: "download it first"
      ).of(key)
    }
    let file = try home.openMedia(of: content)
    try file.forEachSegment(output)
  }

  /// Marks a content damaged after a reader met bytes that are not sound.
  package func noteDamage(_ content: Content, _ error: KollusError) async {
    // The reader's own error is the one to tell.
    try? await setDamaged(content.id, holding: content.downloadSize, error)
  }
}
