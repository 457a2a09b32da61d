import Foundation
import KollusTestSupport
import SQLiteKit
import Testing

@Suite(.temporaryDirectory) struct ConnectionTests {
  let path = TemporaryDirectory.path + "/test.db"

  private func first<Result>(
    _ db: borrowing Connection, _ sql: String, _ values: [Value] = [],
    _ read: (borrowing Statement) -> Result
  ) throws -> Result? {
    try db.withStatement(sql) { row throws(SQLiteError) in
      try row.bind(values)
      return try row.step() ? read(row) : nil
    }
  }

  @Test(arguments: [
    ("journal_mode", "wal"), ("foreign_keys", "1"), ("synchronous", "1"), ("busy_timeout", "10000"),
  ]) func `a connection is set up as everything here relies on`(_ name: String, _ value: String) throws {
    let db = try Connection(path: path)
    #expect(try first(db, "PRAGMA \(name)") { $0.text(at: 0) } == value)
  }

  @Test func `a database that can have no log is refused`() {
    let error = #expect(throws: SQLiteError.self) { _ = try Connection(path: ":memory:") }
    #expect(error?.message.contains("write-ahead log") == true)
  }

  @Test func `text in double quotes is no string`() throws {
    let db = try Connection(path: path)
    #expect(throws: SQLiteError.self) { try db.execute("SELECT \"nothing\"") }
  }

  @Test(arguments: [
    0, -0.0, 1.5, .pi, -1e308, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity,
    9_007_199_254_740_992,
  ]) func `a real comes back`(_ number: Double) throws {
    let db = try Connection(path: path)
    #expect(try first(db, "SELECT ?", [.real(number)]) { $0.real(at: 0) } == number)
  }

  @Test(arguments: [0, 1, -1, Int64.max, Int64.min]) func `an integer comes back`(_ number: Int64) throws {
    let db = try Connection(path: path)
    #expect(try first(db, "SELECT ?", [.integer(number)]) { $0.integer(at: 0) } == number)
  }

  @Test(arguments: ["", "a", "a\0b", "\0", "한국어 ✓", "'; DROP TABLE x; --"])
  func `text comes back whole`(_ text: String) throws {
    let db = try Connection(path: path)
    let found = try first(db, "SELECT ?", [.text(text)]) { ($0.text(at: 0), $0.isNull(at: 0)) }
    #expect(found?.0 == text)
    #expect(found?.1 == false)
  }

  @Test(arguments: [[], [0], [0, 0xff, 0], randomBytes(100_000)])
  func `a blob comes back whole`(_ bytes: [UInt8]) throws {
    let db = try Connection(path: path)
    let found = try first(db, "SELECT ?", [.blob(bytes)]) { ($0.blob(at: 0), $0.isNull(at: 0)) }
    #expect(found?.0 == bytes)
    #expect(found?.1 == false)
  }

  @Test func `null is nil, 0 and no text`() throws {
    let db = try Connection(path: path)
    let isRight = try first(db, "SELECT ?", [.null]) { row in
      row.isNull(at: 0) && row.text(at: 0) == nil && row.blob(at: 0) == nil && row.integer(at: 0) == 0
    }
    #expect(isRight == true)
  }

  @Test func `text that is no UTF-8 is repaired, not a trap`() throws {
    let db = try Connection(path: path)
    #expect(try first(db, "SELECT CAST(x'61ff62' AS TEXT)") { $0.text(at: 0) } == "a\u{fffd}b")
  }

  @Test func `a statement may be bound and stepped anew`() throws {
    let db = try Connection(path: path)
    try db.execute("CREATE TABLE t (a INTEGER) STRICT")
    try db.withStatement("INSERT INTO t VALUES (?)") { statement throws(SQLiteError) in
      for number in 1...3 {
        try statement.bind([.integer(Int64(number))])
        _ = try statement.step()
        statement.reset()
      }
    }
    #expect(db.lastRowID == 3)
    #expect(try first(db, "SELECT sum(a) FROM t") { $0.integer(at: 0) } == 6)
    try db.execute("UPDATE t SET a = 0 WHERE a > 1")
    #expect(db.changes == 2)
  }

  @Test func `more values than parameters are refused`() throws {
    let db = try Connection(path: path)
    #expect(throws: SQLiteError.self) { try db.execute("SELECT ?", .null, .null) }
  }

  @Test func `a transaction that throws leaves nothing`() throws {
    let db = try Connection(path: path)
    try db.execute("CREATE TABLE t (a INTEGER UNIQUE) STRICT")
    let error = #expect(throws: SQLiteError.self) {
      try db.transaction { db throws(SQLiteError) in
        try db.execute("INSERT INTO t VALUES (1)")
        try db.execute("INSERT INTO t VALUES (1)")
      }
    }
    #expect(error?.primaryCode == 19)
    #expect(try first(db, "SELECT count(*) FROM t") { $0.integer(at: 0) } == 0)
    // The connection is free for the next one.
    try db.transaction { db throws(SQLiteError) in try db.execute("INSERT INTO t VALUES (1)") }
    #expect(try first(db, "SELECT count(*) FROM t") { $0.integer(at: 0) } == 1)
  }

  @Test func `a second writer is told that the database is busy, a reader is not`() throws {
    let one = try Connection(path: path)
    let other = try Connection(path: path)
    try other.execute("PRAGMA busy_timeout = 20")
    try one.execute("CREATE TABLE t (a INTEGER) STRICT")
    try one.transaction { db throws(SQLiteError) in
      try db.execute("INSERT INTO t VALUES (1)")
      let error = #expect(throws: SQLiteError.self) {
        try other.transaction { db throws(SQLiteError) in try db.execute("INSERT INTO t VALUES (2)") }
      }
      #expect(error?.isBusy == true)
      let seen = try other.withStatement("SELECT count(*) FROM t") { row throws(SQLiteError) in
        try row.step() ? row.integer(at: 0) : -1
      }
      #expect(seen == 0)
    }
    try other.execute("INSERT INTO t VALUES (2)")
    #expect(try first(one, "SELECT count(*) FROM t") { $0.integer(at: 0) } == 2)
  }

  @Test(.timeLimit(.minutes(1))) func `writers on several threads wait for each other`() async throws {
    let path = path
    try Connection(path: path).execute("CREATE TABLE t (a INTEGER) STRICT")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { @concurrent in
          let db = try Connection(path: path)
          for number in 0..<25 {
            try db.transaction { db throws(SQLiteError) in
              try db.execute("INSERT INTO t VALUES (?)", .integer(Int64(number)))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let db = try Connection(path: path)
    #expect(try first(db, "SELECT count(*) FROM t") { $0.integer(at: 0) } == 100)
  }

  @Test(arguments: [Connection.Durability.durable, .ordered])
  func `how durable a commit is can be said`(_ durability: Connection.Durability) throws {
    let db = try Connection(path: path)
    try db.setDurability(durability)
    #expect(try first(db, "PRAGMA synchronous") { $0.integer(at: 0) } == (durability == .durable ? 2 : 1))
  }

  @Test func `a file that is no database is damage`() throws {
    try Data("this is no database, but long enough to look at".utf8).write(to: URL(filePath: path))
    let error = #expect(throws: SQLiteError.self) { _ = try Connection(path: path) }
    #expect(error?.isDamage == true)
  }

  @Test func `a folder that is not there is told`() {
    let error = #expect(throws: SQLiteError.self) { _ = try Connection(path: path + "/nowhere/x.db") }
    #expect(error?.isDamage == false)
    #expect(error?.isBusy == false)
  }
}
