import SystemKit

/// Sealed files and the rows that name them.
extension Doctor {
  func checkMedia(_ library: Library) async {
    let home = library.home
    do {
      guard home.hasMedia else {
        if try await library.hasReadyContents() { await problem(Finding(.media, home.mediaMissing)) }
        return
      }
      if !Files.isWritable(home.mediaPath) {
        var finding = Finding(
          .media, .problem,
          "\(home.mediaPath) cannot be written; nothing is downloaded, renewed or played under licence",
          hint: "mount its disk for writing")
        finding.kind = .inputOutput
        await problem(finding)
      } else if !SealedFile.exists(home.mediaMark) {
        await problem(Finding(.media, .problem, "the mark in \(home.mediaPath) is gone"), fix: "make it anew")
        {
          try home.makeMedia()
        }
      }
      try await library.tidy(log(home))
      await clearLeftovers(home)
      try await checkKeys(library)
      try await checkOrphans(library)
      for content in try await library.strangers() { try await library.recognize(content, log(home)) }
      try await checkRows(library)
      try await checkCallbacks(library)
      try await checkDamaged(library)
      let missing = try await library.count(.missing)
      if missing > 0 {
        notice(
          .media, "\(missing) contents have lost their files",
          hint: "'kollus list --state missing' names them; 'kollus download' fetches them again")
      }
      fine(.media, "\(try await library.count(.ready)) contents are ready")
    } catch {
      await problem(Finding(.media, KollusError(any: error)))
    }
  }

  private func clearLeftovers(_ home: Home) async {
    // A download that runs at this moment may be about to use its own.
    let names = ((try? Files.names(in: home.mediaPath)) ?? []).filter { name in
      guard name.hasSuffix(".tmp") || name.hasSuffix(".new") else { return false }
      let modified = (try? Files.information("\(home.mediaPath)/\(name)")).flatMap { $0 }?.modified ?? .max
      return Int64(now()) - modified / 1_000_000_000 > 3_600
    }
    guard !names.isEmpty else { return }
    await problem(
      Finding(.media, .problem, "\(names.count) media files were left half written"), fix: "set them aside"
    ) { try setAside(names, in: home.mediaPath) }
  }

  /// Sealed files that no row names.
  private func checkOrphans(_ library: Library) async throws {
    let orphans = try await library.orphans()
    guard !orphans.isEmpty else { return }
    var finding = Finding(.media, .problem, "\(orphans.count) sealed files are in no row of the library")
    finding.kind = .badData
    await problem(finding, fix: "list the contents that they know; set aside what cannot be opened") {
      let found = try await library.adoptFiles()
      log(library.home).emit(
        .note(.recovered, mediaContentKey: nil, message: "\(found.contents) contents"))
      if !found.unreadable.isEmpty { try setAside(found.unreadable, in: library.home.mediaPath) }
    }
  }

  /// Rows whose key is not that of the file they name.
  private func checkKeys(_ library: Library) async throws {
    for (id, key, told) in try await library.damagedKeys() {
      var finding = Finding(.library, .problem, "the key of a content is damaged; its file says \(told)")
      (finding.kind, finding.mediaContentKey) = (.badData, key)
      await problem(finding, fix: "take the file's") { try await library.setKey(id, told) }
    }
  }

  /// Rows that hold what this program never writes, while their files know better.
  private func checkRows(_ library: Library) async throws {
    for key in try await library.damagedRows() {
      var finding = Finding(.library, .problem, "the row of a content is damaged")
      (finding.kind, finding.mediaContentKey) = (.badData, key)
      await problem(finding, fix: "take what its sealed file knows") { try await library.restoreRow(of: key) }
    }
  }

  /// Rows whose DRM callback is not the one that came from the origin.
  private func checkCallbacks(_ library: Library) async throws {
    for (content, callback) in try await library.misledContents() {
      var finding = Finding(.library, .problem, "its DRM callback is not the one that the origin named")
      (finding.kind, finding.mediaContentKey) = (.badData, content.mediaContentKey)
      await problem(finding, fix: "take the origin's") { try await library.setCallback(content.id, callback) }
    }
  }

  /// Fetches what is damaged, and a content without a licence anew where nothing is left of it.
  private static func restore(_ content: Content, by downloader: Downloader) async throws {
    do {
      _ = try await downloader.repair(content)
    } catch {
      // A new download under a licence is for people to ask for: its server counts it.
      guard !content.needsLicence, try !downloader.opens(content) else { throw error }
      let outcomes = await downloader.run([DownloadRequest(.mediaContentKey(content.mediaContentKey))])
      for outcome in outcomes { _ = try outcome.result.get() }
    }
  }

  /// Contents that were ready until damage was found.
  private func checkDamaged(_ library: Library) async throws {
    let damaged = try await library.damagedContents()
    let faceless = try await library.faceless()
    guard !damaged.isEmpty || !faceless.isEmpty else { return }
    var downloader: Downloader?
    if fixes, case .success(let settings) = settings {
      downloader = try Downloader(
        home: library.home, library: library, settings: settings, sink: log(library.home))
    }
    defer { downloader?.close() }
    for content in damaged {
      try Task.checkCancellation()
      var finding = Finding(.media, .problem, content.failure?.message ?? "damaged", hint: Library.repairHint)
      (finding.kind, finding.mediaContentKey) = (.badData, content.mediaContentKey)
      await problem(
        finding, fix: "fetch again what is damaged",
        downloader.map { downloader in { try await Self.restore(content, by: downloader) } })
    }
    guard !faceless.isEmpty else { return }
    var finding = Finding(
      .media, .problem, "pictures of \(faceless.count) contents are gone",
      hint: "'kollus verify --repair' fetches them")
    finding.kind = .badData
    await problem(
      finding, fix: "fetch them again",
      downloader.map { downloader in
        {
          for content in faceless { _ = try await downloader.repair(content) }
          let left = try await library.faceless().count
          guard left == 0 else {
            throw KollusError(.tryLater, "those of \(left) could not be had")
          }
        }
      })
  }
}
