import Glibc
import SQLiteKit
import SystemKit

extension Home {
  /// Whether the owner of a content's file may not read it.
  fileprivate func isUnreadable(_ mediaContentKey: String) -> Bool {
    let found = (try? Files.information(mediaPath(of: mediaContentKey), followsLinks: false)).flatMap { $0 }
    return found.map { $0.mode & 0o400 == 0 } ?? false
  }
}

/// Holding what is known of contents against the files that are there.
extension Library {
  /// Bytes of touched files that are read at once; more is left to `verify`.
  private static let recheckLimit: Int64 = 1 << 30

  /// Marks ready contents whose file is gone as `missing` and tells of each (design §5); files that were touched since
  /// they were checked are read.
  ///
  /// With `keys` only these contents are looked at, and their files opened. Nothing is marked while the folder of all
  /// media is absent: that is an unmounted disk.
  package func tidy(_ sink: any EventSink, only keys: [String]? = nil) async throws {
    guard home.hasMedia, let folder = try? File(home.mediaPath, O_RDONLY | O_DIRECTORY) else { return }
    // Where the mark cannot be made, each look for the folder goes through its names.
    try? home.makeMedia()
    for key in try deletedContents() where SealedFile.exists(home.mediaPath(of: key)) {
      try home.destroyMedia(of: key)
    }
    try await restoreMissing()
    let survey = try survey(keys, in: folder)
    if !survey.misnamed.isEmpty { try await setFileNames(survey.misnamed) }
    try await recheck(survey.touched, sink)
    if !survey.gone.isEmpty { try await setMissing(survey.gone.map(\.id)) }
    for content in survey.gone {
      sink.emit(.note(.missing, mediaContentKey: content.key, message: "its file is gone; download it again"))
    }
    for key in keys ?? [] { if let content = try content(key) { try await recognize(content, sink) } }
  }

  /// What a look at the files of ready contents came to.
  private struct Survey {
    var gone: [(id: Int64, key: String)] = []
    /// Whose row names another file than theirs, which is there.
    var misnamed: [(id: Int64, key: String)] = []
    /// Keys of contents whose file was changed since it was checked.
    var touched: [String] = []
  }

  /// Looks at the files of ready contents, one call of the system each.
  private func survey(_ keys: [String]?, in folder: File) throws(KollusError) -> Survey {
    let sql = "SELECT id, mck, file_name, file_stamp FROM content WHERE state = 'ready'"
    var survey = Survey()
    func look(_ row: borrowing Statement) throws(SQLiteError) {
      let found: File.Information?
      do throws(SystemError) {
        found = try Files.information(row.text(at: 2) ?? "", in: folder)
      } catch {
        return  // What cannot be examined is looked at by whoever uses it.
      }
      // One that its owner may not read can be no more than that.
      if let found, found.modified == row.integer(at: 3), found.mode & 0o400 != 0 { return }
      let content = (id: row.integer(at: 0), key: row.text(at: 1) ?? "")
      let own = Home.mediaName(of: content.key)
      if row.text(at: 2) != own, SealedFile.exists("\(home.mediaPath)/\(own)") {
        survey.misnamed.append(content)
      } else if found == nil {
        survey.gone.append(content)
      } else {
        survey.touched.append(content.key)
      }
    }
    do throws(SQLiteError) {
      guard let keys else {
        try db.withStatement(sql) { row throws(SQLiteError) in while try row.step() { try look(row) } }
        return survey
      }
      try db.withStatement(sql + " AND mck = ?") { row throws(SQLiteError) in
        for key in keys {
          row.reset()
          try row.bind([.text(key)])
          if try row.step() { try look(row) }
        }
      }
      return survey
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Reads contents whose file was changed since it was checked: what it is now decides.
  private func recheck(_ touched: [String], _ sink: any EventSink) async throws {
    var room = Self.recheckLimit
    for key in touched {
      guard let content = try content(key) else { continue }
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
        // What its owner may not read is not ready; a disk that fails now may not fail the next time.
        if error.kind == .inputOutput, home.isUnreadable(key) {
          try await setDamaged(
            content.id, holding: 0, KollusError(.badData, code: KollusCode.damaged, error.message))
        }
        sink.emit(.note(.damaged, mediaContentKey: key, message: error.message))
      } catch let error as KollusError where error.kind == .tryLater {
        // Whoever works on it will tell.
      }
    }
  }

  /// Opens the file of a ready content: one that is of no use, or another's, is not called ready any longer.
  func recognize(_ content: Content, _ sink: any EventSink) async throws {
    guard content.isDownloaded, fault(of: content) != nil else { return }
    let key = content.mediaContentKey
    // Whoever works on it will tell; what they have done by now counts.
    guard let lock = try home.lock(content: content.id) else { return }
    defer { withExtendedLifetime(lock) {} }
    guard let current = try self.content(key), current.isDownloaded, let fault = fault(of: current) else {
      return
    }
    try await setDamaged(current.id, holding: 0, fault)
    sink.emit(.note(.damaged, mediaContentKey: key, message: fault.message))
  }

  /// Why the file of a content is of no use; `nil` too where that cannot be told now.
  func fault(of content: Content) -> KollusError? {
    do throws(KollusError) {
      _ = try home.openMedia(of: content)
      return nil
    } catch {
      return error.kind == .badData ? error : nil
    }
  }

  /// Takes contents for ready again whose file has come back unchanged, with its disk for example.
  private func restoreMissing() async throws {
    let found = try missingContents().filter { content in
      guard content.stamp != 0 else { return false }
      let path = home.mediaPath(of: content.key)
      // What cannot be told is not back.
      return (try? Files.information(path, followsLinks: false))?.modified == content.stamp
    }
    if !found.isEmpty { try await setFound(found.map(\.id)) }
  }

  /// Contents whose file was gone: number, key and the time stamp that the file had.
  func missingContents() throws(KollusError) -> [(id: Int64, key: String, stamp: Int64)] {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT id, mck, file_stamp FROM content WHERE state = 'missing'") {
        row throws(SQLiteError) in
        var found: [(Int64, String, Int64)] = []
        while try row.step() { found.append((row.integer(at: 0), row.text(at: 1) ?? "", row.integer(at: 2))) }
        return found
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }
}
