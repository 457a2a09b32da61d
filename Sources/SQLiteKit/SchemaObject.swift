/// A table, index or trigger of a database, as its maker wrote it.
package struct SchemaObject: Sendable, Hashable {
  package let type: String
  package let name: String
  package let table: String
  /// `nil` for what SQLite made by itself for a constraint.
  package let sql: String?
}

extension Connection {
  /// All objects with their row numbers, in the order in which they were made.
  package borrowing func schemaObjects() throws(SQLiteError) -> [(row: Int64, object: SchemaObject)] {
    try withStatement("SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid") {
      row throws(SQLiteError) in
      var found: [(Int64, SchemaObject)] = []
      while try row.step() {
        let object = SchemaObject(
          type: row.text(at: 1) ?? "", name: row.text(at: 2) ?? "", table: row.text(at: 3) ?? "",
          sql: row.text(at: 4))
        found.append((row.integer(at: 0), object))
      }
      return found
    }
  }

  /// The same of a schema that may be damaged, as far as it can be read.
  package borrowing func damagedSchemaObjects() throws(SQLiteError) -> [(row: Int64, object: SchemaObject)] {
    try execute("PRAGMA writable_schema = ON")
    // With that set, a schema that cannot be read fails the first statement alone.
    if let found = try? schemaObjects() { return found }
    return try schemaObjects()
  }

  /// Puts `objects` in the place of what the schema says of its tables, by name or else by row, and forgets indexes.
  ///
  /// For a copy whose rows are to be read once: it counts from the next connection on, and what is left is not to be
  /// written to. Works where the schema cannot be read as it is.
  package borrowing func replaceSchema(by objects: [(row: Int64, object: SchemaObject)]) throws(SQLiteError) {
    let found = try damagedSchemaObjects()
    var left = Dictionary(found.map { ($0.row, $0.object) }) { first, _ in first }
    // An index of its own is not needed for reading; one that a constraint has is part of its table.
    let wanted = objects.filter { $0.object.type == "table" || $0.object.sql == nil }
    var places: [(row: Int64, object: SchemaObject)] = []
    for byName in [true, false] {
      for item in wanted where !places.contains(where: { $0.object == item.object }) {
        let row =
          byName
          ? found.first { $0.object.name == item.object.name }?.row : left[item.row].map { _ in item.row }
        guard let row, left.removeValue(forKey: row) != nil else { continue }
        places.append((row, item.object))
      }
    }
    for (row, object) in places {
      try execute(
        "UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?",
        .text(object.type),
        .text(object.name), .text(object.table), object.sql.map { .text($0) } ?? .null, .integer(row))
    }
    for row in left.keys { try execute("DELETE FROM sqlite_schema WHERE rowid = ?", .integer(row)) }
  }
}
