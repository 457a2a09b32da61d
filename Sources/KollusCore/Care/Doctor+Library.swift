import SQLiteKit
import SystemKit

/// The database.
extension Doctor {
  /// The library, when it can be used, maybe after a fix.
  func openLibrary(_ home: Home) async -> Library? {
    var home = home
    if Salvager.isHalfDone(home) {
      let isDone = await problem(
        Finding(.library, .problem, "a library that was saved from a damaged one is not in place yet"),
        fix: "put it in place"
      ) { _ = try salvage(home) }
      guard isDone else { return nil }
    }
    let size = (try? Files.information(home.libraryPath)).flatMap { $0 }?.size ?? 0
    if size == 0 {
      let names = (try? Files.names(in: home.mediaPath)) ?? []
      guard names.contains(where: { $0.hasSuffix(".sealed") }) else { return await open(home) }
      let library = Protected<Library?>(nil)
      await problem(
        lost, fix: "list again what the sealed files know"
      ) {
        let found = try Library(home, now: now)
        library.withLock { $0 = found }
        log(home).emit(
          .note(.recovered, mediaContentKey: nil, message: "\(found.recovery?.contents ?? 0) contents"))
      }
      return library.withLock { $0 }
    }
    switch integrity(of: home.libraryPath) {
    case .success(let check):
      guard let fitting = await fittingHome(home, check) else { return nil }
      home = fitting
    case .failure(let error):
      var finding = Finding(.library, error)
      finding.hint = "without --fix nothing is changed; a copy of yesterday may hold more"
      let isDone = await problem(
        finding,
        fix:
          "save what reads into a new library, list again what the sealed files know; the damaged one is kept"
      ) {
        let salvage = try salvage(home)
        log(home).emit(.note(.recovered, mediaContentKey: nil, message: Self.text(of: salvage)))
      }
      guard isDone else { return nil }
    }
    return await open(home)
  }

  private var lost: Finding {
    var finding = Finding(.library, .problem, "the library is gone; sealed files are there")
    finding.kind = .badData
    return finding
  }

  private func open(_ home: Home) async -> Library? {
    do throws(KollusError) {
      let library = try Library(home, now: now)
      if let recovery = library.recovery {
        notice(.library, "\(recovery.contents) contents were found again from their files")
      } else {
        fine(.library, "the library is sound")
      }
      return library
    } catch {
      await problem(Finding(.library, error))
      return nil
    }
  }

  private static func text(of salvage: Salvage) -> String {
    let rows = salvage.rows.map { "\($0.count) of \($0.table)" }.joined(separator: ", ")
    let found = salvage.recovery.contents
    return
      "rows saved: \(rows.isEmpty ? "none" : rows); \(found) contents found again from their files; the damaged library is in \(salvage.aside)"
  }

  // MARK: Soundness

  /// What SQLite itself says of the file, and the key it was made under; a failure when it is damaged.
  private func integrity(of path: String) -> Result<[UInt8]?, KollusError> {
    do {
      let db = try Connection(asItIs: path)
      let words = try db.withStatement("PRAGMA integrity_check(3)") { row throws(SQLiteError) in
        var words: [String] = []
        while try row.step() { words.append(row.text(at: 0) ?? "") }
        return words
      }
      guard words == ["ok"] else {
        return .failure(damage(path, words.joined(separator: "; ")))
      }
      guard try Schema.fits(db) else { return .failure(damage(path, "its schema was changed")) }
      // A library of the first versions has no such table.
      let check = try? db.withStatement("SELECT key_check FROM device") { row throws(SQLiteError) in
        try row.step() ? row.blob(at: 0) : nil
      }
      return .success(check ?? nil)
    } catch let error as SQLiteError {
      return .failure(error.isDamage ? damage(path, error.message) : KollusError(error, path: path))
    } catch {
      return .failure(KollusError(any: error))
    }
  }

  private func damage(_ path: String, _ how: String) -> KollusError {
    KollusError(.badData, code: KollusCode.openDatabase, "\(path) is damaged: \(how.prefix(300))")
  }

  /// The home with the key that the library was made under, which its second copy may be.
  private func fittingHome(_ home: Home, _ check: [UInt8]?) async -> Home? {
    guard let check else { return home }
    guard check != home.identity.keyCheck else {
      await settleCopy(of: home.identity)
      return home
    }
    if home.opensMedia {
      let isDone = await problem(
        Finding(
          .library, .problem, "the library's mark of the device key is damaged; the key opens the media"),
        fix: "write it anew"
      ) {
        let library = try Library(home, now: now)
        withExtendedLifetime(library) {}
      }
      return isDone ? home : nil
    }
    guard let copy = Home.copy(in: path), copy.keyCheck == check else {
      await problem(Finding(.key, Library.foreignKey(home)))
      return nil
    }
    let isDone = await problem(
      Finding(.key, Library.foreignKey(home)), fix: "take the second copy, which is the right one"
    ) {
      try setAside([Home.identityName], in: path)
      try Files.write(copy.encoded, to: "\(path)/\(Home.identityName)")
    }
    return isDone ? try? Home(opening: path, machineID: machineID) : nil
  }

  /// Throws `tryLater` while another process has the library open: what it wrote would be lost.
  private func salvage(_ home: Home) throws -> Salvage {
    let log = "\(home.libraryPath)-shm"
    // SQLite holds a lock there as long as a database is open.
    if try Files.information(log) != nil, try ByteLock(path: log, offset: 128) == nil {
      throw KollusError(
        .tryLater, "another process has the library open", hint: "end it and run the command again")
    }
    guard let lock = try home.setupLock() else {
      throw KollusError(.tryLater, "another process sets the library up", hint: "run the command again")
    }
    defer { withExtendedLifetime(lock) {} }
    return try Salvager(home: home).run()
  }
}
