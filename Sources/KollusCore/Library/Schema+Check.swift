import SQLiteKit

/// Telling a schema in which a bit has turned from one that this program wrote.
extension Schema {
  /// What a library of this version, from 0 to the latest, is made of.
  static func objects(of version: Int) throws -> [(row: Int64, object: SchemaObject)] {
    let model = try Connection(asItIs: ":memory:")
    try migrator.migrate(model, upTo: version)
    return try model.schemaObjects()
  }

  /// What the library was made of, as far as what is left of that tells.
  static func likelyObjects(of db: borrowing Connection) throws -> [(row: Int64, object: SchemaObject)] {
    let found = Set(try db.damagedSchemaObjects().map(\.object))
    let versions = try (0...migrator.migrations.count).map { try objects(of: $0) }
    func distance(_ objects: [(row: Int64, object: SchemaObject)]) -> Int {
      found.symmetricDifference(objects.map(\.object)).count
    }
    return versions.min { distance($0) < distance($1) } ?? []
  }

  /// Whether the library is made of what one of its version is, unchanged, and of nothing of later ones.
  ///
  /// One of a version that is not known passes, unless it has nothing that the latest known one has not.
  static func fits(_ db: borrowing Connection) throws -> Bool {
    let (version, latest) = (try Migrator.version(of: db), migrator.migrations.count)
    let found = Set(try db.schemaObjects().map(\.object))
    let newest = Set(try objects(of: latest).map(\.object))
    if version > latest { return !newest.isSuperset(of: found) }
    guard version >= 0 else { return false }
    let wanted = Set(try objects(of: version).map(\.object))
    return found.isSuperset(of: wanted) && found.isDisjoint(with: newest.subtracting(wanted))
  }
}
