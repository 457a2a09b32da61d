import CurlKit
import SQLiteKit
import SystemKit

extension Library {
  /// Which contents a list shows, and in which order.
  package struct Selection: Sendable {
    /// The order of a list; ties go by the order of registration.
    package enum Order: String, Sendable, CaseIterable {
      case registered
      case title
      /// Latest first.
      case time
      /// Largest first.
      case size
    }

    /// States wanted; `nil` wants all but `missing`.
    package var states: Set<Content.State>?
    /// Only contents that became ready at or after this Unix second.
    package var downloadedSince: Int64?
    /// Only contents in this virtual folder or below; empty is no limit.
    package var folder = ""
    package var order = Order.registered
    /// Whether contents come folder by folder, each before those inside it; `order` is that within a folder.
    package var isByFolder = false

    package init() {}
  }

  /// The content with this key, if it is known.
  package func content(_ mediaContentKey: String) throws(KollusError) -> Content? {
    try first("\(Self.select) WHERE mck = ?", [.text(mediaContentKey)])
  }

  /// The contents with these keys, as far as they are known.
  func contents(withKeys keys: [String]) throws(KollusError) -> [ExactText: Content] {
    var found: [ExactText: Content] = [:]
    for start in stride(from: 0, to: keys.count, by: 256) {
      let some = keys[start..<min(start + 256, keys.count)]
      let marks = some.map { _ in "?" }.joined(separator: ", ")
      try query("\(Self.select) WHERE mck IN (\(marks))", some.map { .text($0) }) {
        found[ExactText($0.mediaContentKey)] = $0
      }
    }
    return found
  }

  /// The contents that fit `selection`.
  package func contents(_ selection: Selection = Selection()) throws(KollusError) -> [Content] {
    let (condition, values) = Self.condition(selection)
    var contents: [Content] = []
    try query("\(Self.select) \(condition)", values) { contents.append($0) }
    return contents
  }

  /// Shows the contents that fit `selection` one by one, so that a library of any size needs no memory.
  package func forEach(_ selection: Selection, _ body: @Sendable (Content) -> Void) throws(KollusError) {
    let (condition, values) = Self.condition(selection)
    try query("\(Self.select) \(condition)", values, body)
  }

  /// The keys of the contents that fit `selection` and `isWanted`.
  package func keys(
    _ selection: Selection, where isWanted: @Sendable (Content) -> Bool
  ) throws(KollusError) -> [String] {
    let (condition, values) = Self.condition(selection)
    var keys: [String] = []
    try query("\(Self.select) \(condition)", values) { if isWanted($0) { keys.append($0.mediaContentKey) } }
    return keys
  }

  private static func condition(_ selection: Selection) -> (sql: String, values: [Value]) {
    var conditions: [String] = []
    var values: [Value] = []
    if let states = selection.states {
      conditions.append("state IN (\(states.map { _ in "?" }.joined(separator: ", ")))")
      values += states.map { .text($0.rawValue) }
    } else {
      conditions.append("state <> 'missing'")
    }
    if let since = selection.downloadedSince {
      conditions.append("state = 'ready' AND downloaded_time >= ?")
      values.append(.integer(since))
    }
    if !selection.folder.isEmpty {
      let (condition, folder) = below(selection.folder)
      conditions.append(condition)
      values += folder
    }
    let order =
      switch selection.order {
      case .registered: "content.id"
      case .title: "title, content.id"
      case .time: "downloaded_time DESC, content.id"
      case .size: "file_size DESC, content.id"
      }
    // A folder's name may hold what sorts before a slash.
    let grouping = selection.isByFolder ? "replace(coalesce(path, ''), '/', char(1)), " : ""
    return ("WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(grouping)\(order)", values)
  }

  /// The contents that a play URL, given by its digest, was found to mean.
  func contents(ofPlayURL digest: [UInt8]) throws(KollusError) -> [Content] {
    var found: [Content] = []
    let sql =
      "\(Self.select) WHERE content.id IN (SELECT content_id FROM play_url WHERE digest = ?) ORDER BY content.id"
    try query(sql, [.blob(digest)]) { found.append($0) }
    return found
  }

  /// The one ready content that a play URL, as text, was found to mean.
  package func content(ofPlayURL text: String) throws(KollusError) -> Content? {
    guard let address = WebAddress(text) else { return nil }
    return try contents(ofPlayURL: home.playURLDigest(address)).first { $0.isDownloaded }
  }

  /// Bytes of what the origin said of a content, 0 when nothing is stored.
  func sourceSize(of id: Int64) throws(KollusError) -> Int {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT length(sealed) FROM source WHERE content_id = ?") {
        row throws(SQLiteError) in
        try row.bind([.integer(id)])
        return try row.step() ? Int(clamping: row.integer(at: 0)) : 0
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// What the origin said of a content, sealed.
  func source(of id: Int64) throws(KollusError) -> [UInt8]? {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT sealed FROM source WHERE content_id = ?") {
        row throws(SQLiteError) in
        try row.bind([.integer(id)])
        return try row.step() ? row.blob(at: 0) : nil
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Keys of all contents that are ready or known to be damaged, those first whose last check is the longest ago.
  package func keysToVerify() throws(KollusError) -> [String] {
    let sql =
      "SELECT mck FROM content WHERE state = 'ready' OR (state = 'failed' AND error_code = ?) ORDER BY verified_time, id"
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(Int64(KollusCode.damaged))])
        var keys: [String] = []
        while try row.step() { keys.append(row.text(at: 0) ?? "") }
        return keys
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Contents that somebody works on and that are not ready: downloads, but for a rare check or removal.
  func running() throws(KollusError) -> [(id: Int64, key: String)] {
    var found: [(Int64, String)] = []
    for id in try home.lockedContents() {
      try query("\(Self.select) WHERE content.id = ? AND state NOT IN ('ready', 'missing')", [.integer(id)]) {
        found.append((id, $0.mediaContentKey))
      }
    }
    return found
  }

  /// The index that the next new content would get.
  func nextIndex() throws(KollusError) -> Int64 {
    let sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'content'"
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        // An index at the end of the range, which only an edited library has, is left to SQLite to refuse.
        try row.step() ? row.integer(at: 0) &+ 1 : 1
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Whether any content is ready.
  func hasReadyContents() throws(KollusError) -> Bool {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT 1 FROM content WHERE state = 'ready' LIMIT 1") {
        row throws(SQLiteError) in try row.step()
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Reads every content, one after the other.
  func forAll(_ body: (Content) -> Void) throws(KollusError) { try query("\(Self.select)", [], body) }

  private func first(_ sql: String, _ values: [Value]) throws(KollusError) -> Content? {
    var found: Content?
    try query(sql, values) { found = found ?? $0 }
    return found
  }

  private func query(_ sql: String, _ values: [Value], _ body: (Content) -> Void) throws(KollusError) {
    do throws(SQLiteError) {
      try db.contents(sql, values, body)
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  static let select = """
    SELECT content.id, mck, coalesce(path, ''), title, company, course, teacher, synopsis, description_url,
    snapshot, thumbnail, content_type, media_type, state, error_kind, error_code, error_message, file_size, download_size,
    downloaded_time, duration, position, natural_width, natural_height, encoding_profile,
    content_provider_key, client_user_id, user_values, needs_licence, not_before, file_stamp, file_name, media_identity,
    drm_callback, \(LicenceRecord.columns)
    FROM content LEFT JOIN folder ON folder.id = folder_id LEFT JOIN licence ON licence.content_id = content.id
    """
}

extension Connection {
  /// Shows the contents that a statement beginning with `Library.select` finds.
  fileprivate borrowing func contents(
    _ sql: String, _ values: [Value], _ body: (Content) -> Void
  ) throws(SQLiteError) {
    try withStatement(sql) { row throws(SQLiteError) in
      try row.bind(values)
      while try row.step() { body(Content(row)) }
    }
  }

  /// The content with this key, as it stands inside the transaction.
  borrowing func content(_ mediaContentKey: String) throws(SQLiteError) -> Content? {
    var found: Content?
    try contents("\(Library.select) WHERE mck = ?", [.text(mediaContentKey)]) { found = $0 }
    return found
  }
}

extension Content {
  /// Reads the columns of `Library.select`, in their order.
  fileprivate init(_ row: borrowing Statement) {
    func text(_ column: Int32) -> String { row.text(at: column) ?? "" }
    id = row.integer(at: 0)
    mediaContentKey = text(1)
    (folder, title, company, course) = (text(2), text(3), text(4), text(5))
    (teacher, synopsis, descriptionURL) = (text(6), text(7), text(8))
    (snapshot, thumbnail) = (text(9), text(10))
    kind = Kind(rawValue: row.integer(at: 11)) ?? .download
    mediaType = text(12)
    // A state this version does not know is none that it may trust.
    let known = State(rawValue: text(13))
    state = known ?? .failed
    if let kind = row.text(at: 14) {
      failure = KollusError(
        KollusError.Kind(rawValue: kind) ?? .internalFailure,
        code: Int(truncatingIfNeeded: row.integer(at: 15)),
        text(16), mediaContentKey: mediaContentKey)
    }
    (fileSize, downloadSize, downloadedTime) = (row.integer(at: 17), row.integer(at: 18), row.integer(at: 19))
    (duration, position) = (row.real(at: 20), row.real(at: 21))
    (naturalWidth, naturalHeight) = (row.integer(at: 22), row.integer(at: 23))
    (encodingProfile, contentProviderKey, clientUserID) = (text(24), text(25), text(26))
    userValues = text(27)
    (notBefore, fileStamp) = (row.integer(at: 29), row.integer(at: 30))
    (fileName, identity, drmCallback) = (text(31), text(32), text(33))
    needsLicence = row.integer(at: 28) != 0 || !drmCallback.isEmpty
    licence = LicenceRecord(row, from: 34)
    if !isInRange || known == nil { takeAsDamaged() }
  }
}

extension Content {
  /// Whether every number is one that this program writes; an edited library may hold others.
  private var isInRange: Bool {
    (0...1 << 50).contains(fileSize) && (0...fileSize).contains(downloadSize)
      && (0...1 << 40).contains(downloadedTime) && duration >= 0 && duration <= 1e9 && position >= 0
      && position <= 1e9 && (0...100_000).contains(naturalWidth) && (0...100_000).contains(naturalHeight)
      && notBefore >= 0 && (1...1 << 47).contains(id)
  }

  static let rowDamage = "its row in the library is damaged"

  /// Such a row is shown, never believed.
  private mutating func takeAsDamaged() {
    (fileSize, downloadSize, downloadedTime, duration, position) = (0, 0, 0, 0, 0)
    (naturalWidth, naturalHeight, notBefore, state) = (0, 0, 0, .failed)
    failure = KollusError(
      .badData, code: KollusCode.damaged, Self.rowDamage,
      hint: "run 'kollus doctor --fix', or remove it and download it again", mediaContentKey: mediaContentKey)
  }
}
