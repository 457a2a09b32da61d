import CSQLite

/// Owns one statement of SQLite's own, finalized with the last reference.
@safe final class CompiledStatement {
  let handle: OpaquePointer
  let sql: String

  init(_ sql: String, on connection: OpaquePointer) throws(SQLiteError) {
    var prepared: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(connection, sql, -1, 0, &prepared, nil)
    guard let prepared = unsafe prepared, code == SQLITE_OK else {
      throw unsafe SQLiteError(code: code, message: String(cString: sqlite3_errmsg(connection)), sql: sql)
    }
    unsafe handle = prepared
    self.sql = sql
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Ends what is under way and forgets the bound values, which may be secrets.
  func reset() {
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
  }
}

/// Compiled statements that are not in use, by their text: compiling costs more than most of them do.
final class StatementCache {
  private static let limit = 32
  private var idle: [String: CompiledStatement] = [:]

  /// Takes the statement out, so that a nested use of the same text compiles its own.
  func take(_ sql: String) -> CompiledStatement? { idle.removeValue(forKey: sql) }

  func giveBack(_ statement: CompiledStatement) {
    statement.reset()
    if idle.count < Self.limit { idle[statement.sql] = statement }
  }

  func removeAll() { idle.removeAll() }
}
