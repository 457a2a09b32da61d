import CurlKit
import SQLiteKit
import SealKit

/// What a renewal needs to know of a content; shared, since it is handed on many times.
final class RenewalSubject: Sendable {
  /// Only what a request and a verdict need is filled in.
  let content: Content
  /// How many exchanges about it were answered.
  let answers: Int64
  /// Unix seconds before which the server asked not to be called again, 0 for none.
  let notBefore: Int64
  /// The last exchange: the batch it was part of, whether it was answered, and with what failure.
  let batch: Int64
  let isAnswered: Bool
  /// Whether it was downloaded and is still here, be it damaged.
  let isHeld: Bool
  let failure: KollusError?

  /// What the next exchange about it is called (`session_key`).
  ///
  /// It follows from what is stored, so a question whose answer was lost is asked again under the same key, and
  /// what was answered never is.
  func sessionKey(by identity: DeviceIdentity) -> String {
    let text = "session \(identity.playerID) \(content.id) \(content.licence?.generation ?? 0) \(answers) "
    let code = HMAC.sha256(Array(text.utf8) + Array(content.mediaContentKey.utf8), key: identity.licenceKey)
    return Hex.encode(Array(code.bytes.prefix(16)))
  }

  /// Reads the columns of `Library.subjectSelect`, in their order.
  fileprivate init(_ row: borrowing Statement) {
    var content = Content(mediaContentKey: row.text(at: 1) ?? "")
    content.id = row.integer(at: 0)
    content.state = Content.State(rawValue: row.text(at: 2) ?? "") ?? .failed
    content.duration = row.real(at: 3)
    content.clientUserID = row.text(at: 4) ?? ""
    content.userValues = row.text(at: 5) ?? "{}"
    content.needsLicence = row.integer(at: 6) != 0
    content.drmCallback = row.text(at: 7) ?? ""
    content.title = row.text(at: 8) ?? ""
    content.licence = LicenceRecord(row, from: 17)
    self.content = content
    answers = row.integer(at: 9)
    (notBefore, batch) = (row.integer(at: 10), row.integer(at: 11))
    (isAnswered, isHeld) = (row.integer(at: 12) != 0, row.integer(at: 16) != 0)
    failure = row.text(at: 13).map { kind in
      KollusError(
        KollusError.Kind(rawValue: kind) ?? .internalFailure,
        code: Int(truncatingIfNeeded: row.integer(at: 14)),
        row.text(at: 15) ?? "", mediaContentKey: content.mediaContentKey)
    }
  }
}

/// What is to be done with one answer.
struct RenewalAnswer: Sendable {
  let subject: RenewalSubject
  let sessionKey: String
  let result: Result<DRMAnswer, KollusError>
  /// The number in the media file, `nil` when it cannot be told.
  let fileGeneration: Int64?
}

/// What an answer did.
struct RenewalEffect: Sendable {
  /// The record now stored, `nil` when none was changed.
  var record: LicenceRecord?
  var error: KollusError?
  /// The content is to be deleted: its key first, then its file.
  var isDeletion = false
}

/// A content about which nobody answered.
struct RenewalFailure: Sendable {
  let id: Int64
  let error: KollusError
  /// Unix seconds before which the server asked not to be called again, 0 for none.
  let notBefore: Int64
}

/// Renewals in the library (design §6): a batch and its answers.
extension Library {
  /// The condition on contents that were downloaded and are still here, be they damaged: a repair leaves the licence.
  fileprivate static let isHeld =
    "(state = 'ready' OR state = 'failed' AND content.error_code = \(KollusCode.damaged) AND downloaded_time > 0)"

  /// Shows every content that is here, or those with these keys.
  private func forEachSubject(_ keys: [String]? = nil, _ body: (RenewalSubject) -> Void) throws(KollusError) {
    let condition =
      keys == nil ? "\(Self.isHeld) ORDER BY content.id" : "mck = ?"
    do throws(SQLiteError) {
      for key in keys ?? [""] {
        try db.withStatement("\(Self.subjectSelect) WHERE \(condition)") { row throws(SQLiteError) in
          if keys != nil { try row.bind([.text(key)]) }
          while try row.step() { body(RenewalSubject(row)) }
        }
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Shows what `scope` means now, each with what speaks for a renewal.
  func forEachDue(
    _ scope: RenewalScope, within seconds: Int64, at device: Int64,
    _ body: @Sendable (RenewalSubject, String) -> Void
  ) throws(KollusError) {
    try search(scope, within: seconds, at: device, body)
  }

  /// The numbers of the contents that `scope` means now.
  func dueContents(_ scope: RenewalScope, within seconds: Int64, at device: Int64) throws(KollusError)
    -> [Int64]
  {
    var ids: [Int64] = []
    try search(scope, within: seconds, at: device) { subject, _ in ids.append(subject.content.id) }
    return ids
  }

  private func search(
    _ scope: RenewalScope, within seconds: Int64, at device: Int64, _ body: (RenewalSubject, String) -> Void
  ) throws(KollusError) {
    let ledger = try ledger()
    let keys: [String]? = if case .named(let keys) = scope { keys } else { nil }
    try forEachSubject(keys) { subject in
      guard keys != nil || isLicensed(subject.content) else { return }
      if let reason = reason(for: subject, in: scope, within: seconds, ledger: ledger, at: device) {
        body(subject, reason)
      }
    }
  }

  /// Whether a content is under licence, by its row or else by the number in its file.
  private func isLicensed(_ content: Content) -> Bool {
    content.needsLicence || !content.drmCallback.isEmpty || content.licence != nil
      || (fileGeneration(of: content.mediaContentKey) ?? 0) > 0
  }

  /// The subjects with these numbers, in their order, as they stand now.
  func subjects(_ ids: some Collection<Int64>) throws(KollusError) -> [RenewalSubject] {
    do throws(SQLiteError) { return try db.subjects(ids) } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  static let subjectSelect = """
    SELECT content.id, mck, state, duration, client_user_id, user_values, needs_licence, drm_callback, title,
    answers, exchange.not_before, batch, is_answered, exchange.error_kind, exchange.error_code, exchange.error_message,
    \(isHeld), \(LicenceRecord.columns)
    FROM content LEFT JOIN licence ON licence.content_id = content.id LEFT JOIN exchange ON exchange.content_id = content.id
    """

  // MARK: Batches

  /// The batch that is open for a scope, begun at or after a time in Unix seconds.
  func openBatch(_ scope: String, since time: Int64) throws(KollusError) -> Int64? {
    try number(
      "SELECT max(id) FROM renewal_batch WHERE is_open = 1 AND scope = ? AND begun_at >= ?", .text(scope),
      .integer(time))
  }

  /// The batch that a renewer at work now is about: the last open one begun at or after a time in Unix seconds, else
  /// the next one, which it has yet to begin.
  func currentBatch(since time: Int64) throws(KollusError) -> Int64 {
    try number(
      """
      SELECT coalesce(max(CASE WHEN is_open = 1 AND begun_at >= ? THEN id END), max(id) + 1) FROM renewal_batch
      """, .integer(time)) ?? 1
  }

  private func number(_ sql: String, _ values: Value...) throws(KollusError) -> Int64? {
    do throws(SQLiteError) {
      return try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind(values)
        return try row.step() && !row.isNull(at: 0) ? row.integer(at: 0) : nil
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
  }

  /// Begins a batch, or goes on with one; where not even this can be saved, nothing is asked for.
  func beginBatch(_ scope: String, at time: Int64, goingOnWith open: Int64?) async throws -> Int64 {
    try await record { db throws(SQLiteError) in
      if let open {
        try db.execute("UPDATE renewal_batch SET is_open = 1 WHERE id = ?", .integer(open))
        return open
      }
      // Only the last batches can ever be gone on with.
      try db.execute("DELETE FROM renewal_batch WHERE id <= (SELECT max(id) FROM renewal_batch) - 16")
      try db.execute(
        "INSERT INTO renewal_batch (scope, begun_at, is_open) VALUES (?, ?, 1)", .text(scope), .integer(time))
      return db.lastRowID
    }
  }

  /// Ends a batch, of which nothing is left; without a number all are ended.
  func closeBatch(_ id: Int64?) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute(
        "UPDATE renewal_batch SET is_open = 0 WHERE ?1 IS NULL OR id = ?1", id.map { .integer($0) } ?? .null)
    }
  }

  /// Whether the last renewal of any content that is still there failed.
  func hasFailedRenewals() throws(KollusError) -> Bool {
    try number(
      """
      SELECT 1 FROM exchange JOIN content ON content.id = content_id
      WHERE exchange.error_kind IS NOT NULL AND kind = 3 AND \(Self.isHeld) LIMIT 1
      """) != nil
  }

  // MARK: Answers

  /// Applies the answers of one request, all in one commit that survives a power cut: the files hear of the
  /// new numbers only after it.
  func apply(_ answers: [RenewalAnswer], batch: Int64, _ clock: ServerClock) async throws -> [RenewalEffect] {
    let (home, identity) = (home, home.identity)
    return try await record(.durable) { db throws(SQLiteError) in
      let now = try db.take(clock, home)
      var effects: [RenewalEffect] = []
      for answer in answers {
        let effect = try db.apply(answer, now: now, device: clock.device, identity)
        try db.noteExchange(
          of: answer.subject.content.id, kind: .play, at: clock.device, batch: batch, isAnswered: true,
          effect.error)
        effects.append(effect)
      }
      return effects
    }
  }

  /// Nobody answered: the failures are kept, and the session keys stay the same for the next time.
  func noteUnanswered(_ failures: [RenewalFailure], batch: Int64, at time: Int64) async throws {
    try await record { db throws(SQLiteError) in
      for failure in failures {
        try db.noteExchange(
          of: failure.id, kind: .play, at: time, batch: batch, isAnswered: false,
          notBefore: failure.notBefore,
          failure.error)
      }
    }
  }
}

extension Connection {
  fileprivate borrowing func subjects(_ ids: some Collection<Int64>) throws(SQLiteError) -> [RenewalSubject] {
    var found: [RenewalSubject] = []
    try withStatement("\(Library.subjectSelect) WHERE content.id = ?") { row throws(SQLiteError) in
      for id in ids {
        row.reset()
        try row.bind([.integer(id)])
        if try row.step() { found.append(RenewalSubject(row)) }
      }
    }
    return found
  }

  fileprivate borrowing func apply(
    _ answer: RenewalAnswer, now: Int64, device: Int64, _ identity: DeviceIdentity
  )
    throws(SQLiteError) -> RenewalEffect
  {
    let content = answer.subject.content
    let entry: DRMAnswer
    switch answer.result {
    case .failure(let error): return RenewalEffect(error: error)
    case .success(let given): entry = given
    }
    guard
      try withStatement(
        // One whose file was found gone meanwhile keeps its licence, and so its renewal.
        "SELECT 1 FROM content WHERE id = ? AND mck = ? AND (state = 'missing' OR \(Library.isHeld))",
        { row throws(SQLiteError) in
          try row.bind([.integer(content.id), .text(content.mediaContentKey)])
          return try row.step()
        })
    else { return RenewalEffect(error: Downloader.removed) }
    let stored = try licence(of: content, identity)
    let trusted = stored.flatMap { $0.contradiction(by: answer.fileGeneration) == nil ? $0.licence : nil }
    switch (trusted ?? Licence()).renewed(
      by: entry, sessionKey: answer.sessionKey, now: now, device: device)
    {
    case .refuse(let error): return RenewalEffect(error: error)
    case .delete(let error):
      try setDeleted(content, identity, error)
      return RenewalEffect(error: error, isDeletion: true)
    case .keep(let licence, let error):
      // What was edited is no ground to build on: only new rights in full, or an expiry, replace it.
      guard trusted != nil || entry.isReset || entry.isExpired else {
        return RenewalEffect(
          error: KollusError(
            .licence, code: KollusCode.damaged,
            "the stored licence cannot be trusted, and the server's answer does not reset it",
            hint: "ask the people who run the callback server for a reset"))
      }
      let generation = max(stored?.generation ?? 0, answer.fileGeneration ?? 0)
      let record = try write(licence, isComplete: true, after: generation, of: content, identity)
      return RenewalEffect(record: record, error: error)
    }
  }
}
