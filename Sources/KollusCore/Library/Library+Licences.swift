import SQLiteKit

/// What an exchange told of the time.
struct ServerClock: Sendable {
  /// The answer's `Date` in Unix seconds.
  var date: Int64?
  /// The device clock when it came, in Unix seconds.
  var device: Int64
  /// Whether it came over TLS or from this machine, so that the ledger may take it.
  var isTrusted: Bool
}

/// How the last exchange of a content with the DRM callback went.
package struct LastExchange: Sendable {
  package let kind: DRMItem.Kind
  /// Unix seconds of the answer, or of the last try.
  package let time: Int64
  package let isAnswered: Bool
  package let error: KollusError?
}

/// Licences, the record of exchanges and the time ledger.
///
/// Every change reads what is stored inside its own transaction: another process may have changed it.
extension Library {
  // MARK: Time

  /// The time ledger; `nil` when none was written yet, or it was edited.
  package func ledger() throws(KollusError) -> TimeLedger? {
    do throws(SQLiteError) {
      return try db.ledger(home)
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Notes the device clock, in Unix seconds, when it has moved on by a minute.
  package func noteTime(_ device: Int64) async throws {
    guard var ledger = try ledger() else { return }
    let before = ledger.seen
    ledger.advance(device)
    guard ledger.seen >= before + 60 else { return }
    let home = home
    try await record { db throws(SQLiteError) in
      guard var ledger = try db.ledger(home) else { return }
      ledger.advance(device)
      try db.write(ledger, home)
    }
  }

  // MARK: Exchanges

  /// The last exchange of a content with the DRM callback.
  package func lastExchange(of id: Int64) throws(KollusError) -> LastExchange? {
    let sql =
      "SELECT kind, asked_at, is_answered, error_kind, error_code, error_message FROM exchange WHERE content_id = ?"
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind([.integer(id)])
        guard try row.step(), let kind = DRMItem.Kind(rawValue: row.integer(at: 0)) else { return nil }
        let error = row.text(at: 3).map { kind in
          KollusError(
            KollusError.Kind(rawValue: kind) ?? .internalFailure,
            code: Int(truncatingIfNeeded: row.integer(at: 4)), row.text(at: 5) ?? "")
        }
        return LastExchange(
          kind: kind, time: row.integer(at: 1), isAnswered: row.integer(at: 2) != 0, error: error)
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  // MARK: Download

  /// Keeps an approval (kind 1): the licence, and that the download may begin.
  func approve(_ content: Content, _ licence: Licence, _ clock: ServerClock) async throws {
    let (home, identity) = (home, home.identity)
    let id = content.id
    // A file that is repaired knows its last number, whatever became of the row.
    let known = fileGeneration(of: content.mediaContentKey) ?? 0
    try await record { db throws(SQLiteError) in
      let now = try db.take(clock, home)
      // Numbers begin with the time, so that a row from before a removal never fits the file of a later download.
      let generation = max(try db.licence(of: content, identity)?.generation ?? 0, known, now)
      try db.write(licence, isComplete: false, after: generation, of: content, identity)
      try db.noteExchange(of: id, kind: .download, at: clock.device, batch: 0, isAnswered: true, nil)
      try db.execute("UPDATE content SET state = 'approved' WHERE id = ?", .integer(id))
    }
  }

  /// All bytes are sealed; the completion is to be told to the customer's server (kind 2).
  func setFetched(_ id: Int64, filesNeedSync: Bool) async throws {
    try await record(filesNeedSync ? .durableWithFiles : .durable) { db throws(SQLiteError) in
      try db.execute(
        "UPDATE content SET state = 'fetched', download_size = file_size WHERE id = ?", .integer(id))
    }
  }

  /// What kind 2 came to, together with the state `ready`.
  ///
  /// Returns the content as it then stands, `nil` when it was removed meanwhile.
  func complete(
    _ content: Content, stamp: Int64, clock: ServerClock, error: KollusError?, notBefore: Int64 = 0,
    _ change: @escaping @Sendable (Licence) -> Licence
  ) async throws -> Content? {
    let (home, identity) = (home, home.identity)
    let (id, key) = (content.id, content.mediaContentKey)
    return try await record(.durable) { db throws(SQLiteError) in
      _ = try db.take(clock, home)
      guard let stored = try db.licence(of: content, identity) else { return nil }
      try db.write(change(stored.licence), isComplete: true, after: stored.generation, of: content, identity)
      try db.noteExchange(
        of: id, kind: .complete, at: clock.device, batch: 0, isAnswered: true, notBefore: notBefore, error)
      try db.setReady(id, at: clock.device, stamp: stamp)
      return try db.content(key)
    }
  }

  /// Notes that a call of the callback came to nothing, or to an answer that forbids to go on.
  func noteFailure(
    of id: Int64, kind: DRMItem.Kind, at time: Int64, isAnswered: Bool = false, _ error: KollusError
  ) async throws {
    try await record { db throws(SQLiteError) in
      try db.noteExchange(of: id, kind: kind, at: time, batch: 0, isAnswered: isAnswered, error)
    }
  }

  /// The server wants the content deleted: from here on it is not ready, whatever happens next.
  func setDeleted(_ content: Content, _ clock: ServerClock, kind: DRMItem.Kind, _ error: KollusError)
    async throws
  {
    let (home, identity) = (home, home.identity)
    try await record(.durable) { db throws(SQLiteError) in
      _ = try db.take(clock, home)
      try db.setDeleted(content, identity, error)
      try db.noteExchange(
        of: content.id, kind: kind, at: clock.device, batch: 0, isAnswered: true, error)
    }
  }

  /// Contents that a server wanted deleted, for what a kill left of them.
  func deletedContents() throws(KollusError) -> [String] {
    let sql = """
      SELECT mck, \(LicenceRecord.columns) FROM licence JOIN content ON content.id = content_id
      WHERE expired = -8680
      """
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        var keys: [String] = []
        while try row.step() {
          let key = row.text(at: 0) ?? ""
          // A row that was edited must not cost the file.
          guard LicenceRecord(row, from: 1)?.seal(of: key, by: home.identity) != .broken else { continue }
          keys.append(key)
        }
        return keys
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }
}

extension Connection {
  /// The time ledger: of the two copies the one that was changed last, and none when either was taken away or edited.
  borrowing func ledger(_ home: Home) throws(SQLiteError) -> TimeLedger? {
    guard let stored = try storedLedger(home) else { return nil }
    guard let copy = LedgerCopy.read(home) else {
      // One from before there was a second copy stands alone until it next changes.
      return stored.change == 0 ? stored : nil
    }
    return copy.change > stored.change ? copy : stored
  }

  private borrowing func storedLedger(_ home: Home) throws(SQLiteError) -> TimeLedger? {
    try withStatement("SELECT change, seen, lag, mac FROM ledger") { row throws(SQLiteError) in
      guard try row.step() else { return nil }
      let ledger = TimeLedger(seen: row.integer(at: 1), lag: row.integer(at: 2), change: row.integer(at: 0))
      return ledger.isValid(row.blob(at: 3) ?? [], by: home.identity) ? ledger : nil
    }
  }

  borrowing func write(_ ledger: TimeLedger, _ home: Home) throws(SQLiteError) {
    var ledger = ledger
    ledger.change += 1
    // The copy first: one that is ahead of its library only says that a commit failed.
    LedgerCopy.write(ledger, home)
    try execute(
      "INSERT OR REPLACE INTO ledger (id, change, seen, lag, mac) VALUES (1, ?, ?, ?, ?)",
      .integer(ledger.change), .integer(ledger.seen), .integer(ledger.lag),
      .blob(ledger.code(by: home.identity)))
  }

  /// Takes what an answer told of the time, and returns the best known time.
  ///
  /// A ledger that was edited is made anew: an answer came, so this is the exchange that heals it.
  borrowing func take(_ clock: ServerClock, _ home: Home) throws(SQLiteError) -> Int64 {
    let stored = try ledger(home)
    var ledger = stored ?? TimeLedger(seen: clock.device)
    if stored == nil {
      // Begins with the time, so that no older library put back later has a higher number.
      ledger.change = max(
        TimeLedger(seen: clock.date ?? clock.device).seen, LedgerCopy.read(home)?.change ?? 0,
        try storedLedger(home)?.change ?? 0)
    }
    // No server's clock is right that lies before this program was made.
    let trusted = clock.isTrusted ? clock.date.flatMap { $0 >= TimeLedger.earliest ? $0 : nil } : nil
    if let trusted { ledger.set(to: trusted, device: clock.device) } else { ledger.advance(clock.device) }
    if ledger != stored { try write(ledger, home) }
    // A device clock that runs ahead must not expire for good what by the server's clock has not ended.
    return trusted ?? ledger.time(clock.device)
  }

  borrowing func licence(of id: Int64) throws(SQLiteError) -> LicenceRecord? {
    try withStatement("SELECT \(LicenceRecord.columns) FROM licence WHERE content_id = ?") {
      row throws(SQLiteError) in
      try row.bind([.integer(id)])
      return try row.step() ? LicenceRecord(row, from: 0) : nil
    }
  }

  /// The stored licence, unless it was edited: then neither its rights nor its number are to be believed.
  borrowing func licence(
    of content: Content, _ identity: DeviceIdentity
  ) throws(SQLiteError) -> LicenceRecord? {
    let stored = try licence(of: content.id)
    return stored?.seal(of: content.mediaContentKey, by: identity) == .broken ? nil : stored
  }

  /// Makes `licence` the content's, with the number that follows `generation`.
  @discardableResult
  borrowing func write(
    _ licence: Licence, isComplete: Bool, after generation: Int64, of content: Content,
    _ identity: DeviceIdentity
  ) throws(SQLiteError) -> LicenceRecord {
    let record = LicenceRecord(
      licence, generation: max(0, min(generation, 1 << 60)) + 1, isComplete: isComplete,
      of: content.mediaContentKey, by: identity)
    try record.write(of: content.id, to: self)
    return record
  }

  /// Notes how an exchange about a content ended; an answer is counted, so that the next one has a session key
  /// of its own.
  borrowing func noteExchange(
    of id: Int64, kind: DRMItem.Kind, at time: Int64, batch: Int64, isAnswered: Bool, notBefore: Int64 = 0,
    _ error: KollusError?
  ) throws(SQLiteError) {
    try execute(
      """
      INSERT INTO exchange
        (content_id, kind, asked_at, is_answered, answers, batch, not_before, error_kind, error_code, error_message)
      SELECT id, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9 FROM content WHERE id = ?1
      ON CONFLICT (content_id) DO UPDATE SET kind = ?2, asked_at = ?3, is_answered = ?4, answers = answers + ?4,
        batch = ?5, not_before = ?6, error_kind = ?7, error_code = ?8, error_message = ?9
      """, .integer(id), .integer(kind.rawValue), .integer(time), .integer(isAnswered ? 1 : 0),
      .integer(batch),
      .integer(notBefore), error.map { .text($0.kind.rawValue) } ?? .null,
      error.map { .integer(Int64($0.code)) } ?? .null, error.map { .text($0.message) } ?? .null)
  }

  borrowing func setReady(_ id: Int64, at time: Int64, stamp: Int64) throws(SQLiteError) {
    try execute(
      """
      UPDATE content SET state = 'ready', download_size = file_size, downloaded_time = ?, file_stamp = ?,
      error_kind = NULL, error_code = NULL, error_message = NULL, not_before = 0 WHERE id = ?
      """, .integer(time), .integer(stamp), .integer(id))
  }

  borrowing func setDeleted(_ content: Content, _ identity: DeviceIdentity, _ error: KollusError)
    throws(SQLiteError)
  {
    let stored = try licence(of: content.id)
    var licence = stored?.licence ?? Licence()
    licence.expired = .deletion
    try write(licence, isComplete: true, after: stored?.generation ?? 0, of: content, identity)
    try execute(
      """
      UPDATE content SET state = 'failed', download_size = 0, error_kind = ?, error_code = ?, error_message = ?
      WHERE id = ?
      """, .text(error.kind.rawValue), .integer(Int64(error.code)), .text(error.message), .integer(content.id)
    )
  }
}
