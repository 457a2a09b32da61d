import KollusTestSupport
import SQLiteKit
import SealKit
import SystemKit
import Testing

@testable import KollusCore

/// Licences, answers and stored contents that the tests of licences begin with.
enum LicenceStage {
  /// A time to judge at, in Unix seconds.
  static let now: Int64 = 1_780_000_000
  static let day: Int64 = 86_400
  static let sessionKey = "s-000041"
  static let mediaContentKey = "AbCd1234"

  /// A licence that plays, of which some is used.
  static let held: Licence = {
    var licence = Licence()
    licence.expirationDate = .value(now + 30 * day)
    licence.plays = Allowance(.value(10), used: 3)
    licence.playTime = Allowance(.value(3_600), used: 600)
    licence.asksBeforeRenewal = true
    licence.offlineBookmark = OfflineBookmark(download: 1, isReadOnly: true)
    return licence
  }()

  static func licence(_ change: (inout Licence) -> Void) -> Licence {
    var licence = Licence()
    change(&licence)
    return licence
  }

  static func entry(_ kind: DRMItem.Kind, _ members: [String]) -> String {
    let always = [#""kind":\#(kind.rawValue)"#, #""media_content_key":"\#(mediaContentKey)""#]
    return "{\((always + members).joined(separator: ","))}"
  }

  /// What a signed answer with this one entry comes to.
  static func result(_ kind: DRMItem.Kind, _ members: [String], _ keys: SecurityKeys) throws -> Result<
    DRMAnswer, KollusError
  > {
    let reply = try DRMReply(
      CoreStage.head(200, ["X-Kollus-UserKey": "custom"]),
      body: Array(DRMClientTests.signed(#"{"data":[\#(entry(kind, members))]}"#).utf8),
      to: [DRMClientTests.item(mediaContentKey, kind)], from: CoreStage.address("https://cb.example/"),
      at: Double(now), keys: keys)
    return try #require(reply.results.first)
  }

  static func verdict(_ licence: Licence, at time: Int64 = now) -> Verdict {
    Verdict(
      .init(state: .ready, file: .sound, holding: .held(licence), ledger: TimeLedger(seen: time)), at: time)
  }
}

/// A home with a library of contents under licences, each with its media file.
struct LicenceHome {
  let home: Home
  let library: Library

  init(_ name: String = "home") throws {
    home = try Home(opening: "\(TemporaryDirectory.path)/\(name)", machineID: "machine")
    library = try Library(home) { Double(LicenceStage.now) }
  }

  /// The number of a licence after approval, which begins with the time, and completion.
  static let firstNumber = LicenceStage.now + 2

  var clock: ServerClock {
    ServerClock(date: LicenceStage.now, device: LicenceStage.now, isTrusted: true)
  }

  func filePath(_ key: String) -> String { home.mediaPath(of: key) }

  /// A ready content with this licence; the file knows its number, which is `firstNumber`.
  @discardableResult
  func add(_ licence: Licence, _ key: String = LicenceStage.mediaContentKey) async throws -> Content {
    let stored = try await library.register(
      LibraryStage.content(key) { $0.needsLicence = true }, source: [1], playURL: nil, folder: nil)
    try Files.makeFolder(home.mediaPath)
    _ = try CoreStage.sealedFile(
      at: filePath(key), plain: randomBytes(100), mediaContentKey: key, deviceKey: home.identity.key)
    try await library.approve(stored, licence, clock)
    let ready = try await library.complete(stored, stamp: 7, clock: clock, error: nil) { $0 }
    let content = try #require(ready)
    try home.keepGeneration(#require(content.licence).generation, of: key)
    return content
  }

  func content(_ key: String = LicenceStage.mediaContentKey) async throws -> Content {
    try #require(try await library.content(key))
  }

  /// The verdict as a command would have it: licence, number in the file and clock.
  func verdict(_ key: String = LicenceStage.mediaContentKey) async throws -> Verdict {
    library.verdict(
      try await content(key), fileGeneration: library.fileGeneration(of: key),
      ledger: try await library.ledger(), at: LicenceStage.now)
  }

  func run(_ sql: String, _ values: [Value] = []) async throws {
    try await library.record { db throws(SQLiteError) in
      try db.withStatement(sql) { row throws(SQLiteError) in
        try row.bind(values)
        while try row.step() {}
      }
    }
  }

  /// Applies an answer of kind 3, as a renewal does, and lets the file know.
  @discardableResult
  func renew(
    _ result: Result<DRMAnswer, KollusError>, _ key: String = LicenceStage.mediaContentKey,
    clock: ServerClock? = nil
  ) async throws -> RenewalEffect {
    let content = try await content(key)
    let subject = try #require(try await library.subjects([content.id]).first)
    let answer = RenewalAnswer(
      subject: subject, sessionKey: LicenceStage.sessionKey, result: result,
      fileGeneration: library.fileGeneration(of: key))
    let effect = try #require(
      try await library.apply([answer], batch: 1, clock ?? self.clock).first)
    if let record = effect.record { try home.keepGeneration(record.generation, of: key) }
    return effect
  }
}
