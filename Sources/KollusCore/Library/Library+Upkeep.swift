import SystemKit

extension Library {
  /// Marks ready contents whose file is gone as `missing` and tells of each (design §5).
  ///
  /// Nothing is marked while the folder of all media is absent: that is an unmounted disk.
  package func tidy(_ sink: any EventSink) async throws {
    guard home.hasMedia, let names = try? Files.names(in: home.mediaPath) else { return }
    // Where the mark cannot be made, each look for the folder goes through its names.
    try? home.makeMedia()
    for key in try deletedContents() where names.contains(Home.mediaName(of: key)) {
      try home.destroyMedia(of: key)
    }
    try await restoreMissing(among: Set(names))
    try await recheckTouched(among: Set(names), sink)
    let gone = try readyContents(outside: Set(names))
    guard !gone.isEmpty else { return }
    try await setMissing(gone.map(\.id))
    for content in gone {
      sink.emit(.note(.missing, mediaContentKey: content.key, message: "its file is gone; download it again"))
    }
  }

  /// Bytes of touched files that are read at once; more is left to `verify`.
  private static let recheckLimit: Int64 = 1 << 30

  /// Reads ready contents whose file was changed since it was checked: what it is now decides.
  private func recheckTouched(among names: Set<String>, _ sink: any EventSink) async throws {
    var room = Self.recheckLimit
    for content in try touchedContents(among: names) {
      let key = content.mediaContentKey
      guard content.fileSize <= room else {
        sink.emit(
          .note(
            .warning, mediaContentKey: key,
            message: "its file was changed since it was checked; 'kollus verify' reads it"))
        continue
      }
      room -= content.fileSize
      do {
        _ = try await verify(content, sink)
      } catch let error as KollusError where error.kind != .interrupted && error.kind != .tryLater {
        if error.kind == .inputOutput {
          try await setDamaged(
            content.id, holding: 0, KollusError(.badData, code: KollusCode.damaged, error.message))
        }
        sink.emit(.note(.damaged, mediaContentKey: key, message: error.message))
      } catch let error as KollusError where error.kind == .tryLater {
        // Whoever works on it will tell.
      }
    }
  }

  /// Takes contents for ready again whose file has come back unchanged, with its disk for example.
  private func restoreMissing(among names: Set<String>) async throws {
    let found = try missingContents().filter { content in
      guard content.stamp != 0, names.contains(Home.mediaName(of: content.key)) else { return false }
      let path = home.mediaPath(of: content.key)
      // What cannot be told is not back.
      return (try? Files.information(path, followsLinks: false))?.modified == content.stamp
    }
    if !found.isEmpty { try await setFound(found.map(\.id)) }
  }

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
