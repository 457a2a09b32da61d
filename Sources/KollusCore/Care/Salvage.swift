import Glibc
import SQLiteKit
import SystemKit

/// What could be read of a damaged library.
package struct Salvage: Sendable, Equatable {
  /// Rows by table, in the order of their names.
  package internal(set) var rows: [(table: String, count: Int)] = []
  /// What the files knew that no row did.
  package internal(set) var recovery = Recovery()
  /// Where the damaged library is kept.
  package internal(set) var aside = ""

  package static func == (one: Salvage, other: Salvage) -> Bool {
    one.recovery == other.recovery && one.aside == other.aside
      && one.rows.elementsEqual(other.rows) { $0.table == $1.table && $0.count == $1.count }
  }
}

/// Makes a new library of what reads in a damaged one; that one is kept.
///
/// A kill at any instant leaves either the damaged library, to be salvaged by the next try, or the new one.
struct Salvager {
  /// Places in one table where reading fails before the rest of it is given up.
  private static let faultLimit = 10_000

  let home: Home

  private var made: String { "\(home.path)/library.salvaged.db" }

  /// Whether a new library was made, and only not yet put in place when a kill came.
  static func isHalfDone(_ home: Home) -> Bool { SealedFile.exists("\(home.path)/library.salvaged.db") }

  /// Does the whole work; no other process may have the library open.
  func run() throws -> Salvage {
    var salvage = Salvage()
    if Self.isHalfDone(home) {
      try putInPlace()
      return salvage
    }
    salvage.aside = try Home.makeAside(in: home.path, at: Int64(WallClock.now()))
    for name in ["library.db", "library.db-wal"] where try Files.information("\(home.path)/\(name)") != nil {
      try Files.copy("\(home.path)/\(name)", to: "\(salvage.aside)/\(name)")
    }
    let fresh = "\(home.path)/library.fresh.db"
    for suffix in ["", "-wal", "-shm"] { try Files.remove(fresh + suffix) }
    try fill(fresh, from: salvage.aside, &salvage)
    try File(fresh, O_RDWR).synchronize()
    try Files.rename(fresh, to: made)
    try putInPlace()
    return salvage
  }

  /// The old log first: SQLite would lay it over the new library.
  private func putInPlace() throws(SystemError) {
    for suffix in ["-wal", "-shm"] { try Files.remove(home.libraryPath + suffix) }
    try Files.rename(made, to: home.libraryPath)
    try File(home.path, O_RDONLY).synchronizeFileSystem()
  }

  private func fill(_ fresh: String, from aside: String, _ salvage: inout Salvage) throws {
    let new = try Connection(path: fresh)
    try Schema.migrator.migrate(new)
    let work = "\(aside)/work.db"
    defer { for suffix in ["", "-wal", "-shm"] { try? Files.remove(work + suffix) } }
    try Files.copy("\(aside)/library.db", to: work)
    if try Files.information("\(aside)/library.db-wal") != nil {
      try Files.copy("\(aside)/library.db-wal", to: "\(work)-wal")
    }
    try Self.mendHeader(work)
    // One whose schema cannot be reached gives what it gives.
    if let damaged = try? Connection(asItIs: work) {
      try? damaged.replaceSchema(by: Schema.likelyObjects(of: damaged))
    }
    try new.execute("PRAGMA foreign_keys = OFF")
    try new.execute("BEGIN IMMEDIATE")
    // One that cannot be opened at all gives nothing.
    if let old = try? Connection(asItIs: work) {
      for table in try Self.tables(of: new) {
        let count = try Self.copy(table, from: old, to: new)
        if count > 0 { salvage.rows.append((table, count)) }
      }
    }
    try Self.dropStrays(new)
    salvage.recovery = try new.adoptFiles(in: home)
    try new.mark(home)
    try new.execute("COMMIT")
    try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// What is the same in every library of ours is written anew.
  private static func mendHeader(_ path: String) throws(SystemError) {
    let file = try File(path, O_RDWR)
    guard try file.information().size >= 4_096 else { return }
    try file.write(Array("SQLite format 3\0".utf8) + [0x10, 0x00, 2, 2, 0, 64, 32, 32], at: 0)
    try file.write([0, 0, 0, 4], at: 44)
    try file.write([0, 0, 0, 1], at: 56)
  }

  // MARK: Rows

  private static func tables(of db: borrowing Connection) throws(SQLiteError) -> [String] {
    try db.withStatement(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'device' ORDER BY name"
    ) {
      row throws(SQLiteError) in
      var names: [String] = []
      while try row.step() { names.append(row.text(at: 0) ?? "") }
      return names
    }
  }

  private static func columns(of table: String, in db: borrowing Connection) throws(SQLiteError) -> [String] {
    try db.withStatement("SELECT name FROM pragma_table_info('\(table)')") { row throws(SQLiteError) in
      var names: [String] = []
      while try row.step() { names.append(row.text(at: 0) ?? "") }
      return names
    }
  }

  /// Copies every row that reads and fits; returns how many.
  private static func copy(
    _ table: String, from old: borrowing Connection, to new: borrowing Connection
  ) throws(SQLiteError) -> Int {
    // An older library has fewer columns; one whose table is gone gives nothing.
    let known = try columns(of: table, in: new)
    guard let found = try? columns(of: table, in: old) else { return 0 }
    let common = known.filter { found.contains($0) }
    guard !common.isEmpty else { return 0 }
    let list = common.joined(separator: ", ")
    let marks = common.map { _ in "?" }.joined(separator: ", ")
    let insert = "INSERT OR IGNORE INTO \(table) (\(list)) VALUES (\(marks))"
    var count = 0
    // A table without row numbers is read to its first fault.
    let hasNumbers =
      try new.withStatement("SELECT wr FROM pragma_table_list WHERE name = '\(table)'") {
        row throws(SQLiteError) in try row.step() && row.integer(at: 0) == 0
      }
    var next = Int64.min
    var step: Int64 = 1
    var faults = 0
    while faults < faultLimit {
      let from = next
      do throws(SQLiteError) {
        let sql =
          hasNumbers
          ? "SELECT rowid, \(list) FROM \(table) WHERE rowid >= ?1 ORDER BY rowid"
          : "SELECT 0, \(list) FROM \(table)"
        try old.withStatement(sql) { row throws(SQLiteError) in
          if hasNumbers { try row.bind([.integer(next)]) }
          while try row.step() {
            let id = row.integer(at: 0)
            let values = common.indices.map { row.value(at: Int32($0 + 1)) }
            if try insertRow(insert, values, new) { count += 1 }
            next = id < .max ? id + 1 : id
          }
        }
        return count
      } catch {
        guard error.isDamage, hasNumbers else { return count }
        faults += 1
        // From below what is stored: row numbers begin at 1.
        if next < 1 { next = 1 }
        // Past the damaged page, in growing steps; small ones again after each success.
        step = next > from ? 1 : min(step * 2, 1 << 40)
        let (sum, overflow) = next.addingReportingOverflow(step)
        if overflow || sum > 1 << 48 { return count }
        next = sum
      }
    }
    return count
  }

  private static func insertRow(_ sql: String, _ values: [Value], _ db: borrowing Connection)
    throws(SQLiteError) -> Bool
  {
    do throws(SQLiteError) {
      try db.withStatement(sql) { statement throws(SQLiteError) in
        try statement.bind(values)
        _ = try statement.step()
      }
      return db.changes > 0
    } catch {
      guard error.isConstraint else { throw error }
      return false
    }
  }

  /// Takes out what belongs to contents that did not read.
  private static func dropStrays(_ db: borrowing Connection) throws(SQLiteError) {
    try db.execute("UPDATE content SET folder_id = NULL WHERE folder_id NOT IN (SELECT id FROM folder)")
    for table in try tables(of: db) where try columns(of: table, in: db).contains("content_id") {
      try db.execute("DELETE FROM \(table) WHERE content_id NOT IN (SELECT id FROM content)")
    }
  }
}
