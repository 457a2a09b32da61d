import SQLiteKit
import SealKit
import SystemKit

/// What the doctor asks of the library.
extension Library {
  /// How many contents are in a state.
  func count(_ state: Content.State) throws(KollusError) -> Int {
    Int(
      clamping: try numbers("SELECT count(*) FROM content WHERE state = ?", .text(state.rawValue)).first ?? 0)
  }

  /// Contents that were ready until damage was found.
  func damagedContents() throws(KollusError) -> [Content] {
    var selection = Selection()
    selection.states = [.failed]
    return try contents(selection).filter(\.isDamaged)
  }

  /// Whether any licence has a date, so that the clock matters.
  func hasDatedLicences() throws(KollusError) -> Bool {
    try !numbers("SELECT 1 FROM licence WHERE expiration_date > 0 OR check_expiration_date > 0 LIMIT 1")
      .isEmpty
  }

  // MARK: Files and rows

  /// Names of sealed files that no row names.
  func orphans() throws(KollusError) -> [String] {
    let known = Set(try texts("SELECT file_name FROM content"))
    do throws(SystemError) {
      return try Files.names(in: home.mediaPath).filter { $0.hasSuffix(".sealed") && !known.contains($0) }
    } catch {
      throw KollusError(error, code: KollusCode.readFile)
    }
  }

  /// Lists the contents of all sealed files that no row names.
  func adoptFiles() async throws -> Recovery {
    let home = home
    let found = try await record(.durable) { db throws(SQLiteError) -> Result<Recovery, KollusError> in
      do throws(KollusError) { return .success(try db.adoptFiles(in: home)) } catch { return .failure(error) }
    }
    return try found.get()
  }

  /// Keys of contents whose rows hold what this program never writes, or do not fit files that fit what the origin said.
  func damagedRows() throws(KollusError) -> [String] {
    var keys: [String] = []
    var suspects: [Content] = []
    try forAll { content in
      if content.failure?.message == Content.rowDamage { keys.append(content.mediaContentKey) }
      if content.isDamaged { suspects.append(content) }
    }
    for content in suspects {
      if let file = try? file(of: content), !fits(content, file), try isOrigin(file, of: content) {
        keys.append(content.mediaContentKey)
      }
    }
    return keys
  }

  /// Rows that name a file that is there and says that it is another content's, while their own key has no file.
  func damagedKeys() throws(KollusError) -> [(id: Int64, key: String, told: String)] {
    var found: [(Int64, String, String)] = []
    for row in try misnamedRows() {
      let path = "\(home.mediaPath)/\(row.name)"
      // A file that cannot be opened says nothing.
      guard !SealedFile.exists(home.mediaPath(of: row.key)),
        let file = try? SealedFile.open(path, deviceKey: home.identity.key, heals: false),
        Home.mediaName(of: file.mediaContentKey) == row.name, try content(file.mediaContentKey) == nil
      else { continue }
      found.append((row.id, row.key, file.mediaContentKey))
    }
    return found
  }

  /// The number, key and file of contents whose file is not named after their key.
  private func misnamedRows() throws(KollusError) -> [(id: Int64, key: String, name: String)] {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT id, mck, file_name FROM content") { row throws(SQLiteError) in
        var found: [(Int64, String, String)] = []
        while try row.step() {
          let (key, name) = (row.text(at: 1) ?? "", row.text(at: 2) ?? "")
          if Home.mediaName(of: key) != name { found.append((row.integer(at: 0), key, name)) }
        }
        return found
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Gives a content another key.
  func setKey(_ id: Int64, _ key: String) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute("UPDATE content SET mck = ? WHERE id = ?", .text(key), .integer(id))
    }
  }

  /// Ready contents whose pictures are gone or empty.
  func faceless() throws(KollusError) -> [Content] {
    var found: [Content] = []
    try forAll { content in
      guard content.isDownloaded else { return }
      let isLost = [content.snapshot, content.thumbnail].contains { name in
        guard !name.isEmpty else { return false }
        let file = (try? Files.information("\(home.mediaPath)/\(name)")).flatMap { $0 }
        return (file?.size ?? 0) == 0 || file?.isRegular == false
      }
      if isLost { found.append(content) }
    }
    return found
  }

  /// Contents whose DRM callback is not the one that the origin named, as that is stored sealed, with that one.
  func misledContents() throws(KollusError) -> [(content: Content, callback: String)] {
    var found: [(Content, String)] = []
    var failure: KollusError?
    // One at a time: a large library would not fit the memory of a command.
    try forAll { content in
      guard !content.drmCallback.isEmpty, failure == nil else { return }
      do throws(KollusError) {
        let told = try namedCallback(of: content)
        if let told, told != content.drmCallback { found.append((content, told)) }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return found
  }

  /// The DRM callback that the origin named, as far as that is stored and it named one.
  private func namedCallback(of content: Content) throws(KollusError) -> String? {
    let source = try source(of: content.id).flatMap {
      Source(opening: $0, of: content.mediaContentKey, key: home.identity.key)
    }
    return source.flatMap { $0.manifest.content.drmCallback.isEmpty ? nil : $0.manifest.content.drmCallback }
  }

  func setCallback(_ id: Int64, _ callback: String) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute("UPDATE content SET drm_callback = ? WHERE id = ?", .text(callback), .integer(id))
    }
  }

  /// How many reports are in no state that there is.
  func strayReports() throws(KollusError) -> Int {
    Int(clamping: try numbers("SELECT count(*) FROM report WHERE \(Self.isStray)").first ?? 0)
  }

  /// Puts those that had not ended among those that wait, and the others where they were.
  func restoreStrayReports() async throws {
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE report SET state = CASE WHEN ended_at IS NULL THEN 'pending'
        WHEN status BETWEEN 200 AND 299 THEN 'sent' ELSE 'aside' END WHERE \(Self.isStray)
        """)
    }
  }

  private static let isStray =
    "state NOT IN (\(Report.State.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")))"

  /// Ready contents whose files cannot be opened, or are another's.
  func strangers() throws(KollusError) -> [Content] {
    var found: [Content] = []
    try forAll { content in
      if content.isDownloaded, fault(of: content) != nil { found.append(content) }
    }
    return found
  }

  private func file(of content: Content) throws(KollusError) -> SealedFile? {
    let key = content.mediaContentKey
    guard let file = try SealedFile.open(home.mediaPath(of: key), deviceKey: home.identity.key, heals: false),
      file.mediaContentKey.isExactly(key)
    else { return nil }
    return file
  }

  private func fits(_ content: Content, _ file: SealedFile) -> Bool {
    file.layout.size == content.fileSize && file.about.identity == content.identity
  }

  /// Whether the file is of the object that the origin named, as that is stored sealed.
  private func isOrigin(_ file: SealedFile, of content: Content) throws(KollusError) -> Bool {
    try source(of: content.id).flatMap {
      Source(opening: $0, of: content.mediaContentKey, key: home.identity.key)
    }?.manifest.media.identity == file.about.identity
  }

  /// Makes the row of a content what its sealed file says; licence, folder and reports are left alone.
  ///
  /// Throws `badData` when the file does not help.
  func restoreRow(of key: String) async throws {
    guard let content = try content(key), let file = try file(of: content), let told = file.about.content
    else {
      throw KollusError(
        .badData, code: KollusCode.damaged, "its sealed file cannot be opened",
        hint: "remove it and download it again", mediaContentKey: key)
    }
    let held = try file.heldSize()
    let (size, isWhole, modified) = (
      file.layout.size, held == file.layout.size, try file.information().modified
    )
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE content SET file_size = ?2, media_identity = ?3, state = ?4, download_size = ?5, downloaded_time = ?6,
        duration = ?7, natural_width = ?8, natural_height = ?9, position = 0, not_before = 0, file_stamp = 0,
        error_kind = NULL, error_code = NULL, error_message = NULL WHERE mck = ?1
        """, .text(key), .integer(size), .text(told.identity), .text(isWhole ? "ready" : "registered"),
        .integer(held), .integer(isWhole ? modified / 1_000_000_000 : 0), .real(told.duration),
        .integer(told.naturalWidth), .integer(told.naturalHeight))
    }
    // Only now is it read: a stamp of 0 fits no file.
    if isWhole, let content = try self.content(key) { _ = try await verify(content, SilentSink()) }
  }

  // MARK: Servers

  /// Addresses of DRM callbacks.
  func callbacks(limit: Int) throws(KollusError) -> [String] {
    try texts(
      "SELECT DISTINCT drm_callback FROM content WHERE drm_callback <> '' ORDER BY 1 LIMIT ?",
      .integer(Int64(limit)))
  }

  /// Addresses to which reports wait to be sent.
  func receivers(limit: Int) throws(KollusError) -> [String] {
    try texts(
      "SELECT DISTINCT url FROM report WHERE state = 'pending' ORDER BY 1 LIMIT ?", .integer(Int64(limit)))
  }

  /// The custom keys that the channels of some contents name, one for each DRM callback.
  func customKeys(limit: Int) throws(KollusError) -> [String] {
    let ids = try numbers(
      "SELECT min(id) FROM content WHERE drm_callback <> '' GROUP BY drm_callback LIMIT ?",
      .integer(Int64(limit)))
    var names: Set<String> = []
    for id in ids {
      guard let key = try texts("SELECT mck FROM content WHERE id = ?", .integer(id)).first,
        let source = try source(of: id).flatMap({ Source(opening: $0, of: key, key: home.identity.key) }),
        let name = source.manifest.customKey
      else { continue }
      names.insert(name)
    }
    return names.sorted()
  }

  /// The last answer of a callback that was not signed as it must be.
  func distrustedAnswer() throws(KollusError) -> KollusError? {
    let sql = """
      SELECT mck FROM exchange JOIN content ON content.id = content_id WHERE error_code = ? AND asked_at =
      (SELECT max(asked_at) FROM exchange) LIMIT 1
      """
    guard let key = try texts(sql, .integer(Int64(KollusCode.answerUntrusted))).first,
      let content = try content(key)
    else { return nil }
    return try lastExchange(of: content.id)?.error?.of(key)
  }

  // MARK: Columns

  private func texts(_ sql: String, _ values: Value...) throws(KollusError) -> [String] {
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind(values)
        var found: [String] = []
        while try row.step() { found.append(row.text(at: 0) ?? "") }
        return found
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  private func numbers(_ sql: String, _ values: Value...) throws(KollusError) -> [Int64] {
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind(values)
        var found: [Int64] = []
        while try row.step() { found.append(row.integer(at: 0)) }
        return found
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }
}
