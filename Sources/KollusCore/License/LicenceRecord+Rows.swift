import SQLiteKit

/// Licences as rows of the library.
extension LicenceRecord {
  /// What `init(_:from:)` reads, in its order.
  static let columns = """
    generation, player_id, is_complete, expiration_date, expiration_count, used_count, expiration_playtime,
    used_playtime, expiration_playtime_type, check_expiration_date, expired, expiration_refresh_popup, vmcheck,
    check_abuse, bookmark_download, bookmark_readonly, mac
    """

  /// Reads the columns from `first` on; `nil` where the outer join found no row.
  ///
  /// Whatever this program never writes makes a record whose code does not fit.
  init?(_ row: borrowing Statement, from first: Int32) {
    guard !row.isNull(at: first) else { return nil }
    var licence = Licence()
    licence.expirationDate = Limit(row, first + 3)
    licence.plays = Allowance(Limit(row, first + 4), used: max(0, row.integer(at: first + 5)))
    licence.playTime = Allowance(Limit(row, first + 6), used: max(0, row.integer(at: first + 7)))
    let type = PlayTimeType(rawValue: row.integer(at: first + 8))
    licence.playTimeType = type ?? .media
    licence.checkDate = Limit(row, first + 9)
    let cause = row.integer(at: first + 10)
    licence.expired = Licence.Cause(rawValue: cause)
    licence.asksBeforeRenewal = row.integer(at: first + 11) != 0
    licence.checksVirtualMachine = row.integer(at: first + 12) != 0
    licence.checksAbuse = row.integer(at: first + 13) != 0
    licence.offlineBookmark = OfflineBookmark(
      download: row.integer(at: first + 14), isReadOnly: row.integer(at: first + 15) != 0)
    let numbers: [Int32] = [3, 4, 5, 6, 7, 9, 14]
    let isKnown =
      type != nil && (licence.expired != nil || cause == 0)
      && numbers.allSatisfy { row.integer(at: first + $0) >= 0 }
    self.init(
      stored: licence, generation: row.integer(at: first), isComplete: row.integer(at: first + 2) != 0,
      playerID: row.text(at: first + 1) ?? "", code: isKnown ? row.blob(at: first + 16) ?? [] : [])
  }

  private var values: [Value] {
    func number(_ limit: Limit) -> Value {
      switch limit {
      case .none: .null
      case .unlimited: .integer(0)
      case .value(let value): .integer(value)
      }
    }
    func flag(_ flag: Bool) -> Value { .integer(flag ? 1 : 0) }
    return [
      .integer(generation), .text(playerID), flag(isComplete), number(licence.expirationDate),
      number(licence.plays.limit), .integer(licence.plays.used), number(licence.playTime.limit),
      .integer(licence.playTime.used), .integer(licence.playTimeType.rawValue), number(licence.checkDate),
      .integer(licence.expired?.rawValue ?? 0), flag(licence.asksBeforeRenewal),
      flag(licence.checksVirtualMachine), flag(licence.checksAbuse),
      .integer(licence.offlineBookmark.download), flag(licence.offlineBookmark.isReadOnly), .blob(code),
    ]
  }

  /// Makes this the content's licence.
  func write(of id: Int64, to db: borrowing Connection) throws(SQLiteError) {
    let values = values
    try db.withStatement(
      """
      INSERT OR REPLACE INTO licence (content_id, \(Self.columns))
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ) { statement throws(SQLiteError) in
      try statement.bind([.integer(id)] + values)
      _ = try statement.step()
    }
  }
}

extension Limit {
  fileprivate init(_ row: borrowing Statement, _ column: Int32) {
    if row.isNull(at: column) {
      self = .none
    } else {
      let value = row.integer(at: column)
      self = value > 0 ? .value(value) : .unlimited
    }
  }
}
