import KollusTestSupport
import SQLiteKit
import SealKit
import Testing

@testable import KollusCore

/// Stored licences: what was written is read back, and what was edited shows.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceRecordTests {
  static let key = LicenceStage.mediaContentKey

  static let full = LicenceStage.licence {
    $0.expirationDate = .value(LicenceStage.now + 5)
    ($0.plays, $0.playTime) = (Allowance(.value(1_000), used: 999), Allowance(.value(604_800), used: 1))
    ($0.playTimeType, $0.checkDate, $0.expired) = (.clock, .value(1), .checkDate)
    ($0.asksBeforeRenewal, $0.checksVirtualMachine, $0.checksAbuse) = (true, false, true)
    $0.offlineBookmark = OfflineBookmark(download: 2, isReadOnly: true)
  }

  static let licences: [Licence] =
    [Licence(), full, LicenceStage.held]
    + [Limit.unlimited, .value(1), .value(.max)].map { limit in
      LicenceStage.licence {
        ($0.expirationDate, $0.checkDate) = (limit, limit)
        ($0.plays, $0.playTime) = (Allowance(limit, used: .max), Allowance(limit, used: .max))
      }
    } + Licence.Cause.allCases.map { cause in LicenceStage.licence { $0.expired = cause } }

  /// One change of each thing that a record holds.
  static let changes: [@Sendable (inout Licence) -> Void] = [
    { $0.expirationDate = .value(LicenceStage.now + 6) }, { $0.expirationDate = .unlimited },
    { $0.expirationDate = .none }, { $0.plays.limit = .value(999) }, { $0.plays.limit = .unlimited },
    { $0.plays.limit = .none }, { $0.plays.used = 998 }, { $0.playTime.limit = .value(604_799) },
    { $0.playTime.limit = .unlimited }, { $0.playTime.limit = .none }, { $0.playTime.used = 0 },
    { $0.playTimeType = .media }, { $0.checkDate = .value(2) }, { $0.checkDate = .unlimited },
    { $0.checkDate = .none }, { $0.expired = nil }, { $0.expired = .date }, { $0.asksBeforeRenewal = false },
    { $0.checksVirtualMachine = true }, { $0.checksAbuse = false }, { $0.offlineBookmark.download = 1 },
    { $0.offlineBookmark.isReadOnly = false }, { ($0.plays.used, $0.playTime.used) = (1, 999) },
    { ($0.expirationDate, $0.checkDate) = ($0.checkDate, $0.expirationDate) },
    { ($0.plays.limit, $0.playTime.limit) = ($0.playTime.limit, $0.plays.limit) },
  ]

  private func identity(_ key: SymmetricKey? = nil) throws -> DeviceIdentity {
    try DeviceIdentity.made(machineID: "m", key: key)
  }

  // MARK: The seal

  @Test func `any change of any field breaks the seal`() throws {
    let identity = try identity()
    let record = LicenceRecord(Self.full, generation: 7, isComplete: true, of: Self.key, by: identity)
    func seal(
      _ licence: Licence = Self.full, generation: Int64 = 7, isComplete: Bool = true, player: String? = nil,
      code: [UInt8]? = nil, of key: String = Self.key
    ) -> LicenceRecord.Seal {
      LicenceRecord(
        stored: licence, generation: generation, isComplete: isComplete, playerID: player ?? record.playerID,
        code: code ?? record.code
      ).seal(of: key, by: identity)
    }
    #expect(seal() == .intact)
    for change in Self.changes {
      var licence = Self.full
      change(&licence)
      #expect(licence != Self.full)
      #expect(seal(licence) == .broken, "\(licence)")
    }
    for generation: Int64 in [6, 8, 0, -7, 7 << 8, .max, .min] {
      #expect(seal(generation: generation) == .broken)
    }
    #expect(seal(isComplete: false) == .broken)
    for player in ["", record.playerID.uppercased() + "x", record.playerID + "\0"] {
      #expect(seal(player: player) == .broken)
    }
    for code in [[], Array(record.code.dropLast()), record.code + [0]] {
      #expect(seal(code: code) == .broken)
    }
    for index in record.code.indices {
      var code = record.code
      code[index] ^= 1
      #expect(seal(code: code) == .broken)
    }
    for key in ["", "AbCd123", "abcd1234", "AbCd1234 ", "AbCd12345"] { #expect(seal(of: key) == .broken) }
  }

  @Test func `keys are told apart byte for byte`() throws {
    let identity = try identity()
    let record = LicenceRecord(Self.full, generation: 1, isComplete: false, of: "\u{AC00}", by: identity)
    #expect(record.seal(of: "\u{AC00}", by: identity) == .intact)
    #expect(record.seal(of: "\u{1100}\u{1161}", by: identity) == .broken)
  }

  @Test func `another player id is foreign, another home is nothing`() throws {
    let first = try identity()
    let record = LicenceRecord(Self.full, generation: 1, isComplete: true, of: Self.key, by: first)
    #expect(try record.seal(of: Self.key, by: identity(first.key)) == .foreign)
    #expect(try record.seal(of: Self.key, by: identity()) == .broken)
    var content = Content(mediaContentKey: Self.key)
    #expect(content.holding(by: first) == .notNeeded)
    content.needsLicence = true
    #expect(content.holding(by: first) == .absent)
    content.licence = record
    #expect(content.holding(by: first) == .held(Self.full))
    for other in [try identity(first.key), try identity()] {
      guard case .altered = content.holding(by: other) else { Issue.record("taken"); return }
    }
  }

  // MARK: Rows

  @Test func `what is written is read back`() async throws {
    let stage = try LicenceHome()
    for (index, licence) in Self.licences.enumerated() {
      let key = "한/\(index)"
      try await stage.add(licence, key)
      let record = try #require(try await stage.content(key).licence)
      #expect(record.licence == licence && record.generation == LicenceHome.firstNumber && record.isComplete)
      #expect(record.seal(of: key, by: stage.home.identity) == .intact)
      #expect(record.playerID == stage.home.identity.playerID)
      #expect(!record.licence.summary.isEmpty)
    }
  }

  /// What the sqlite3 shell may do to one column.
  private static func edits(of column: String) -> [String] {
    let own =
      switch column {
      case "player_id":
        ["''", "upper(player_id) || 'x'", "player_id || char(0)", "CAST(x'ff00fe' AS TEXT)", "'\(key)'"]
      case "mac": ["x''", "zeroblob(32)", "substr(mac, 1, 31)", "zeroblob(33)", "zeroblob(100000)"]
      default:
        [
          "0", "1", "2", "-1", "NULL", "\(column) + 1", "\(column) - 1", "-\(column)", "\(column) * 256",
          "9223372036854775807", "-9223372036854775808", "4294967296", "1152921504606846976", "-8680",
          "-8643", "NOT \(column)",
        ]
      }
    return own.map { "UPDATE licence SET \(column) = \($0)" }
  }

  static let columns = [
    "generation", "player_id", "is_complete", "expiration_date", "expiration_count", "used_count",
    "expiration_playtime", "used_playtime", "expiration_playtime_type", "check_expiration_date", "expired",
    "expiration_refresh_popup", "vmcheck", "check_abuse", "bookmark_download", "bookmark_readonly", "mac",
  ]

  @Test func `every column of the table is looked at here`() async throws {
    let stage = try LicenceHome()
    let names = try await stage.library.record { db throws(SQLiteError) in
      try db.withStatement("SELECT name FROM pragma_table_info('licence')") { row throws(SQLiteError) in
        var names: [String] = []
        while try row.step() { names.append(row.text(at: 0) ?? "") }
        return names
      }
    }
    #expect(Set(names) == Set(Self.columns + ["content_id"]))
  }

  @Test(arguments: columns) func `an edited column is noticed or means the same`(_ column: String)
    async throws
  {
    let stage = try LicenceHome()
    var licence = LicenceStage.held
    licence.checkDate = .value(LicenceStage.now + 9)
    let before = try await stage.add(licence)
    let record = try #require(before.licence)
    try await stage.run("CREATE TABLE before AS SELECT * FROM licence")
    var noticed = 0
    for edit in Self.edits(of: column) {
      // The table itself takes no NULL where there has to be something.
      do { try await stage.run(edit) } catch { continue }
      let content = try await stage.content()
      let verdict = try await stage.verdict()
      if content.licence == record {
        #expect(verdict.mayPlay, "\(edit)")
      } else if case .held(let seen) = content.holding(by: stage.home.identity) {
        Issue.record("taken for \(seen): \(edit)")
      } else {
        noticed += 1
        #expect(verdict.reasons.map(\.code) == [-8_646] && verdict.canBeRenewed, "\(edit)")
        #expect(content.licence?.licence.summary.isEmpty == false)
      }
      try await stage.run("INSERT OR REPLACE INTO licence SELECT * FROM before")
    }
    #expect(noticed >= 3)
    #expect(try await stage.verdict().mayPlay)
  }

  @Test func `a row taken away or put to another content is noticed`() async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held, "a")
    try await stage.add(Licence(), "b")
    try await stage.run("CREATE TABLE before AS SELECT * FROM licence")
    try await stage.run(
      "INSERT OR REPLACE INTO licence SELECT CASE content_id WHEN 1 THEN 2 ELSE 1 END, generation, "
        + "\(LicenceRecord.columns.split(separator: ",").dropFirst().joined(separator: ",")) FROM before")
    for key in ["a", "b"] { #expect(try await stage.verdict(key).code == -8_646) }
    try await stage.run("DELETE FROM licence")
    for key in ["a", "b"] { #expect(try await stage.verdict(key).code == -8_646) }
    // Not even when the content claims that it needs none.
    try await stage.run("UPDATE content SET needs_licence = 0")
    for key in ["a", "b"] { #expect(try await stage.verdict(key).code == -8_646) }
  }

  @Test func `a deletion that was written by hand costs no file`() async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    try await stage.run("UPDATE licence SET expired = -8680")
    try await stage.library.tidy(RecordingSink())
    #expect(SealedFile.exists(stage.filePath(Self.key)))
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_646])
  }

  // MARK: The file's word, and healing

  @Test(
    arguments: [
      (1, nil, false), (1, 0, true), (1, 1, true), (2, nil, false), (2, 0, false), (2, 1, true), (2, 2, true),
      (2, 3, false), (9, 1, true), (9, 10, false), (.max, .max, true), (1, .max, false),
    ] as [(Int64, Int64?, Bool)])
  func `a file that knows more, or nothing any more, speaks against a row`(
    _ row: Int64, _ file: Int64?, _ isFine: Bool
  ) {
    let record = LicenceRecord(
      stored: Licence(), generation: row, isComplete: true, playerID: "", code: [])
    #expect((record.contradiction(by: file) == nil) == isFine)
  }

  enum Harm: String, CaseIterable, Sendable {
    case date = "UPDATE licence SET expiration_date = 1893455999"
    case count = "UPDATE licence SET used_count = 0"
    case number = "UPDATE licence SET generation = 1152921504606846976"
    case largestNumber = "UPDATE licence SET generation = 9223372036854775807"
    case lowestNumber = "UPDATE licence SET generation = -9223372036854775808"
    case gone = "DELETE FROM licence"
    case olderRow = "INSERT OR REPLACE INTO licence SELECT * FROM older"
  }

  @Test(arguments: Harm.allCases) func `one renewal heals what was edited`(_ harm: Harm) async throws {
    let stage = try LicenceHome()
    let keys = SecurityKeys(try DRMClientTests.settings())
    try await stage.add(LicenceStage.held)
    try await stage.run("CREATE TABLE older AS SELECT * FROM licence")
    let plain = try LicenceStage.result(.play, [#""result":1"#], keys)
    let reset = try LicenceStage.result(
      .play, [#""result":1,"expiration_count":5"#, LicencePrecedenceTests.reset], keys)
    for step: Int64 in 1...2 {
      #expect(try await stage.renew(plain).record?.generation == LicenceHome.firstNumber + step)
    }
    try await stage.run(harm.rawValue)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_646])
    // Nothing is built on what was edited.
    let refused = try await stage.renew(plain)
    #expect(refused.record == nil && refused.error?.code == -8_646)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_646])
    let healed = try await stage.renew(reset)
    #expect(healed.error == nil)
    #expect(healed.record?.licence == LicenceStage.licence { $0.plays = Allowance(.value(5)) })
    #expect(try await stage.verdict().mayPlay)
    // The numbers go on growing, so that what was healed can be put back no more than anything else.
    try await stage.run("CREATE TABLE healed AS SELECT * FROM licence")
    let next = try await stage.renew(reset)
    #expect(try #require(next.record).generation > #require(healed.record).generation)
    for table in ["older", "healed"] {
      try await stage.run("INSERT OR REPLACE INTO licence SELECT * FROM \(table)")
      #expect(try await stage.verdict().code == -8_646, "\(table)")
    }
  }

  /// A repair of such a content asks for approval and tells the completion, as a download does.
  @Test(arguments: [Harm.gone, .lowestNumber, .largestNumber, .number, .count])
  func `a new approval heals what was edited too`(_ harm: Harm) async throws {
    let stage = try LicenceHome()
    let keys = SecurityKeys(try DRMClientTests.settings())
    let content = try await stage.add(LicenceStage.held)
    let plain = try LicenceStage.result(.play, [#""result":1"#], keys)
    for _ in 1...4 { try await stage.renew(plain) }
    try await stage.run(harm.rawValue)
    try await stage.library.approve(content, LicenceStage.held, stage.clock)
    let ready = try await stage.library.complete(content, stamp: 7, clock: stage.clock, error: nil) { $0 }
    let generation = try #require(ready?.licence?.generation)
    let number = LicenceHome.firstNumber + 4
    #expect((number + 1...number + 3).contains(generation), "not what the edited row said: \(generation)")
    try stage.home.keepGeneration(generation, of: Self.key)
    #expect(try await stage.verdict().mayPlay)
    #expect(try await stage.renew(plain).record?.generation == generation + 1)
  }

  @Test func `a forced expiry replaces what was edited too`() async throws {
    let stage = try LicenceHome()
    let keys = SecurityKeys(try DRMClientTests.settings())
    try await stage.add(LicenceStage.held)
    try await stage.run(Harm.count.rawValue)
    let effect = try await stage.renew(
      LicenceStage.result(.play, [#""result":1,"content_expired":1"#], keys))
    #expect(effect.error?.code == -8_658)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_658])
  }
}
