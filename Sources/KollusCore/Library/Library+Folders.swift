import SQLiteKit

/// Virtual folders: paths that contents are listed under. One that holds nothing any more is gone.
extension Library {
  /// Where a content was, and where it is now; the root is an empty path.
  package struct Move: Sendable {
    package let mediaContentKey: String
    package let from: String
    package let to: String
    /// Whether that is another folder.
    package var isChange: Bool { !from.isExactly(to) }
  }

  /// Virtual folders that hold contents.
  package func folders() throws(KollusError) -> [String] {
    do throws(SQLiteError) {
      return try db.withStatement("SELECT path FROM folder ORDER BY path") { row throws(SQLiteError) in
        var paths: [String] = []
        while try row.step() { paths.append(row.text(at: 0) ?? "") }
        return paths
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Moves a content to a virtual folder, made as needed; an empty path is the root.
  func place(_ id: Int64, in folder: String) async throws {
    try await record { db throws(SQLiteError) in try db.place(content: id, in: folder) }
  }

  /// Moves contents to a virtual folder, all of them in one commit; unknown keys are left out.
  ///
  /// With `isRehearsal` nothing is changed.
  package func move(
    _ keys: [String], to folder: String, isRehearsal: Bool = false
  ) async throws -> [Move] {
    try await record(isRehearsal ? .ordered : .durable) { db throws(SQLiteError) in
      var moves: [Move] = []
      for key in keys {
        guard let place = try db.places("mck = ?", [.text(key)]).first else { continue }
        let move = Move(mediaContentKey: key, from: place.folder, to: folder)
        moves.append(move)
        if move.isChange, !isRehearsal { try db.place(content: place.id, in: folder) }
      }
      return moves
    }
  }

  /// Makes the virtual folder `old` the folder `new`, with all below it, in one commit.
  ///
  /// What `new` holds already stays. Throws `unknownContent` when `old` holds nothing, `usage` when a path would
  /// become too long.
  package func moveFolder(
    _ old: String, to new: String, isRehearsal: Bool = false
  ) async throws -> [Move] {
    let (condition, values) = Self.below(old)
    let moves = try await record(isRehearsal ? .ordered : .durable) {
      db throws(SQLiteError) -> Result<[Move], KollusError> in
      var moves: [Move] = []
      let places = try db.places(condition, values)
      for place in places {
        do throws(KollusError) {
          let inner = String(decoding: place.folder.utf8.dropFirst(old.utf8.count), as: UTF8.self)
          let path = try FolderPath.checked(new + inner)
          moves.append(Move(mediaContentKey: place.key, from: place.folder, to: path))
        } catch {
          return .failure(error.of(place.key))
        }
      }
      guard !isRehearsal else { return .success(moves) }
      for (place, move) in zip(places, moves) where move.isChange {
        try db.place(content: place.id, in: move.to)
      }
      return .success(moves)
    }
    let found = try moves.get()
    guard !found.isEmpty else {
      throw KollusError(
        .unknownContent, code: KollusCode.notDownloaded, "no such folder: '\(old)'",
        hint: "'kollus list --tree' shows what is there")
    }
    return found
  }

  /// The condition on a folder and all below it; paths are compared byte for byte.
  static func below(_ folder: String) -> (sql: String, values: [Value]) {
    let prefix = folder + "/"
    return (
      "(path = ? OR substr(path, 1, ?) = ?)",
      [.text(folder), .integer(Int64(prefix.unicodeScalars.count)), .text(prefix)]
    )
  }

  /// Forgets a content, and its folder when that holds nothing else.
  func delete(_ id: Int64) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      let folder = try db.folder(of: id)
      try db.execute("DELETE FROM content WHERE id = ?", .integer(id))
      try db.dropIfEmpty(folder)
    }
  }
}

extension Connection {
  /// Puts a content into a virtual folder, made as needed; an empty path is the root.
  borrowing func place(content id: Int64, in folder: String) throws(SQLiteError) {
    let old = try self.folder(of: id)
    if !folder.isEmpty { try execute("INSERT OR IGNORE INTO folder (path) VALUES (?)", .text(folder)) }
    try execute(
      "UPDATE content SET folder_id = (SELECT id FROM folder WHERE path = ?) WHERE id = ?", .text(folder),
      .integer(id))
    try dropIfEmpty(old)
  }

  /// The number of the folder that holds a content, 0 at the root.
  fileprivate borrowing func folder(of id: Int64) throws(SQLiteError) -> Int64 {
    try withStatement("SELECT folder_id FROM content WHERE id = ?") { row throws(SQLiteError) in
      try row.bind([.integer(id)])
      return try row.step() ? row.integer(at: 0) : 0
    }
  }

  fileprivate borrowing func dropIfEmpty(_ folder: Int64) throws(SQLiteError) {
    guard folder != 0 else { return }
    try execute(
      "DELETE FROM folder WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM content WHERE folder_id = ?1)",
      .integer(folder))
  }

  /// Where contents are, by a condition on them.
  fileprivate borrowing func places(
    _ condition: String, _ values: [Value]
  ) throws(SQLiteError) -> [(id: Int64, key: String, folder: String)] {
    try withStatement(
      """
      SELECT content.id, mck, coalesce(path, '') FROM content LEFT JOIN folder ON folder.id = folder_id
      WHERE \(condition) ORDER BY content.id
      """
    ) { row throws(SQLiteError) in
      try row.bind(values)
      var found: [(Int64, String, String)] = []
      while try row.step() {
        found.append((row.integer(at: 0), row.text(at: 1) ?? "", row.text(at: 2) ?? ""))
      }
      return found
    }
  }
}
