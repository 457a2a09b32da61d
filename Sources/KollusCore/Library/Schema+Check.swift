import SQLiteKit

/// Telling a schema in which a bit has turned from one that this program wrote.
extension Schema {
  /// What a library of this version is made of; of the latest for a number that none has.
  static func objects(of version: Int) throws -> [(row: Int64, object: SchemaObject)] {
    let model = try Connection(asItIs: ":memory:")
    let isKnown = (1...migrator.migrations.count).contains(version)
    try migrator.migrate(model, upTo: isKnown ? version : nil)
    return try model.schemaObjects()
  }

  /// The number that a library says it has, 0 where it cannot be told.
  static func version(of db: borrowing Connection) -> Int { (try? Migrator.version(of: db)) ?? 0 }

  /// Whether all that a library of its version is made of is there, unchanged.
  ///
  /// One of a later version passes, unless it has nothing that the latest known one has not.
  static func fits(_ db: borrowing Connection) throws -> Bool {
    let version = version(of: db)
    let found = Set(try db.schemaObjects().map(\.object))
    let wanted = Set(try objects(of: version).map(\.object))
    if version > migrator.migrations.count { return found != wanted }
    return found.isSuperset(of: wanted)
  }
}
