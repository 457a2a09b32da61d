import KollusTestSupport
import Testing

@testable import KollusCore

/// Every kind of value of every limit, in every kind of answer that may carry limits.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceTableTests {
  /// What a member is meant to say.
  enum Meaning: Equatable {
    case absent
    case says(Limit)
    case wrong
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    /// `nil` leaves the member out.
    let token: String?
    let meaning: Meaning
    var testDescription: String { token ?? "absent" }

    init(_ token: String?, _ meaning: Meaning) { (self.token, self.meaning) = (token, meaning) }
  }

  /// Which answer, and what it meets.
  enum Scene: CaseIterable, Sendable {
    case approval, reset, noReset
    /// Without a reset, for a licence whose date has passed before.
    case noResetWhenExpired

    var kind: DRMItem.Kind { self == .approval ? .download : .play }

    var members: [String] {
      switch self {
      case .approval: [#""result":1"#]
      case .reset: [#""result":1,"content_expire_reset":1,"session_key":"\#(LicenceStage.sessionKey)""#]
      case .noReset, .noResetWhenExpired: [#""result":1,"content_expire_reset":0"#]
      }
    }

    /// The licence before, `nil` where there is none.
    var held: Licence? {
      switch self {
      case .approval: return nil
      case .reset, .noReset: return LicenceStage.held
      case .noResetWhenExpired:
        var licence = LicenceStage.held
        licence.expirationDate = .value(LicenceStage.now - 1)
        return licence
      }
    }
  }

  static let names = ["expiration_date", "expiration_count", "expiration_playtime"]

  private static let wrongForAll = ["-1", "\"5000\"", "5000.0", "1.0", "1e3", "true", "false", "null"]

  private static func cells(_ valid: [Int64], above: String) -> [Cell] {
    [Cell(nil, .absent), Cell("0", .says(.unlimited))] + valid.map { Cell("\($0)", .says(.value($0))) }
      + ([above] + wrongForAll).map { Cell($0, .wrong) }
  }

  /// Smallest, used up or past, with something left, largest.
  static let dates = cells(
    [1, LicenceStage.now, LicenceStage.now + 1, 1_893_455_999], above: "1893456000")
  static let counts = cells([1, 3, 4, 1_000], above: "1001")
  static let playTimes = cells([60, 600, 601, 604_800], above: "604801")

  // MARK: The rules, told anew

  private struct Expected {
    var limits: [Limit]
    var used: [Int64]
    var isSticky = false
    /// In the order of their weight.
    var codes: [Int] {
      let passed = limits[0].value.map { $0 <= LicenceStage.now } ?? false
      let all = [(passed || isSticky, -8_643), (isUsedUp(1), -8_644), (isUsedUp(2), -8_683)]
      return all.filter(\.0).map(\.1)
    }

    private func isUsedUp(_ index: Int) -> Bool { limits[index].value.map { $0 <= used[index - 1] } ?? false }
  }

  /// What the licence is to be after an answer in which nothing is wrong.
  private func expected(_ scene: Scene, _ meanings: [Meaning]) -> Expected {
    let old: [Limit] =
      switch scene {
      case .approval, .reset: [.none, .none, .none]
      case .noReset: [.value(LicenceStage.now + 30 * LicenceStage.day), .value(10), .value(3_600)]
      case .noResetWhenExpired: [.value(LicenceStage.now - 1), .value(10), .value(3_600)]
      }
    let limits = zip(old, meanings).map { old, meaning in
      if case .says(let limit) = meaning { limit } else { old }
    }
    let keepsUse = scene == .noReset || scene == .noResetWhenExpired
    return Expected(
      limits: limits, used: keepsUse ? [3, 600] : [0, 0], isSticky: scene == .noResetWhenExpired)
  }

  private func changed(_ scene: Scene, by answer: DRMAnswer) -> Licence.Change {
    scene.held?.renewed(by: answer, sessionKey: LicenceStage.sessionKey, now: LicenceStage.now)
      ?? Licence.approved(by: answer)
  }

  private func check(_ scene: Scene, _ cells: [Cell], _ keys: SecurityKeys) throws {
    let given = zip(Self.names, cells).compactMap { name, cell in cell.token.map { "\"\(name)\":\($0)" } }
    let what = "\(scene) \(given)"
    let result = try LicenceStage.result(scene.kind, scene.members + given, keys)
    if let wrong = zip(Self.names, cells).first(where: { $0.1.meaning == .wrong }) {
      guard case .failure(let error) = result else { Issue.record("accepted: \(what)"); return }
      #expect(error.code == -8_636 && error.kind == .badData, "\(what)")
      #expect(error.message.contains("data[0].\(wrong.0): "), "\(what): \(error.message)")
      return
    }
    let expected = expected(scene, cells.map(\.meaning))
    guard case .keep(let licence, let error) = changed(scene, by: try result.get()) else {
      Issue.record("not kept: \(what)")
      return
    }
    #expect(
      [licence.expirationDate, licence.plays.limit, licence.playTime.limit] == expected.limits, "\(what)")
    #expect([licence.plays.used, licence.playTime.used] == expected.used, "\(what)")
    #expect(licence.expired == (expected.isSticky ? .date : nil), "\(what)")
    #expect(licence.checkDate == .none && !licence.checksAbuse, "\(what)")
    let verdict = LicenceStage.verdict(licence)
    #expect(verdict.reasons.map(\.code) == expected.codes, "\(what)")
    #expect(verdict.code == expected.codes.first ?? 0 && verdict.mayPlay == expected.codes.isEmpty)
    // A download may begin whatever the limits are; a renewal that does not help is a failure.
    #expect(error?.code == (scene == .approval ? nil : expected.codes.first), "\(what)")
  }

  @Test(arguments: Scene.allCases, dates)
  func `every date with every count and every play time`(_ scene: Scene, _ date: Cell) throws {
    let keys = SecurityKeys(try DRMClientTests.settings())
    for count in Self.counts {
      for playTime in Self.playTimes { try check(scene, [date, count, playTime], keys) }
    }
  }

  @Test(arguments: [DRMItem.Kind.complete, .play])
  func `the check date has the same table`(_ kind: DRMItem.Kind) throws {
    let keys = SecurityKeys(try DRMClientTests.settings())
    var held = LicenceStage.held
    held.checkDate = .value(LicenceStage.now + 5)
    for cell in Self.dates {
      let given = cell.token.map { [#""check_expiration_date":\#($0)"#] } ?? []
      let result = try LicenceStage.result(kind, [#""result":1"#] + given, keys)
      guard cell.meaning != .wrong else {
        let error = #expect(throws: KollusError.self) { try result.get() }
        #expect(error?.code == -8_636)
        continue
      }
      let answer = try result.get()
      let change =
        kind == .complete
        ? held.completed(by: answer)
        : held.renewed(by: answer, sessionKey: "", now: LicenceStage.now)
      guard case .keep(let licence, _) = change else { Issue.record("not kept"); continue }
      var expected = held
      if case .says(let limit) = cell.meaning { expected.checkDate = limit }
      #expect(licence == expected, "\(cell.testDescription)")
      let passed = expected.checkDate.value.map { $0 <= LicenceStage.now } ?? false
      #expect(LicenceStage.verdict(licence).reasons.map(\.code) == (passed ? [-8_687] : []))
    }
  }

  @Test func `an answer with anything wrong in it leaves the stored licence as it was`() async throws {
    let stage = try LicenceHome()
    let keys = SecurityKeys(try DRMClientTests.settings())
    let before = try await stage.add(LicenceStage.held)
    let subject = try #require(try await stage.library.subjects([before.id]).first)
    let wrong = zip(Self.names, [Self.dates, Self.counts, Self.playTimes]).flatMap { name, cells in
      cells.filter { $0.meaning == .wrong }.map { "\"\(name)\":\($0.token ?? "")" }
    }
    var answers: [RenewalAnswer] = []
    for scene in [Scene.reset, .noReset] {
      for member in wrong {
        let result = try LicenceStage.result(
          .play, scene.members + [member, #""check_expiration_date":1"#], keys)
        answers.append(
          RenewalAnswer(
            subject: subject, sessionKey: LicenceStage.sessionKey, result: result, fileGeneration: 2))
      }
    }
    let effects = try await stage.library.apply(answers, batch: 1, stage.clock)
    #expect(effects.count == 54)
    #expect(effects.allSatisfy { $0.record == nil && !$0.isDeletion && $0.error?.code == -8_636 })
    #expect(try await stage.content() == before)
    #expect(try await stage.verdict().mayPlay)
    let exchange = try #require(try await stage.library.lastExchange(of: before.id))
    #expect(exchange.kind == .play && exchange.error?.code == -8_636)
  }
}
