import KollusTestSupport
import Testing

@testable import KollusCore

/// The order in which an answer is obeyed (PROTO §2.5).
@Suite(.temporaryDirectory) struct LicencePrecedenceTests {
  static let reset = #""content_expire_reset":1,"session_key":"\#(LicenceStage.sessionKey)""#
  static let foreignReset = #""content_expire_reset":1,"session_key":"other""#
  static let expire = #""content_expired":1"#
  static let message = #""message":"Ask the school.""#
  static let limits =
    #""expiration_date":1800000000,"expiration_count":7,"expiration_playtime":900,"check_expiration_date":1790000000,"check_abuse":1"#
  /// What `limits` say, on top of a licence.
  static func limited(_ licence: Licence) -> Licence {
    var licence = licence
    (licence.expirationDate, licence.plays.limit) = (.value(1_800_000_000), .value(7))
    (licence.playTime.limit, licence.checkDate) = (.value(900), .value(1_790_000_000))
    licence.checksAbuse = true
    return licence
  }

  private let held = LicenceStage.held

  private func answer(_ kind: DRMItem.Kind, _ members: [String]) throws -> DRMAnswer {
    try LicenceStage.result(kind, members, SecurityKeys(DRMClientTests.settings())).get()
  }

  private func renewed(
    _ licence: Licence? = nil, _ members: String..., now: Int64 = LicenceStage.now
  ) throws -> Licence.Change {
    (licence ?? held).renewed(
      by: try answer(.play, members), sessionKey: LicenceStage.sessionKey, now: now)
  }

  private func kept(_ change: Licence.Change) throws -> Licence {
    guard case .keep(let licence, _) = change else { throw KollusError(.internalFailure, "\(change)") }
    return licence
  }

  private func error(_ change: Licence.Change) -> KollusError? {
    switch change {
    case .keep(_, let error): error
    case .delete(let error), .refuse(let error): error
    }
  }

  // MARK: content_delete

  @Test(
    arguments: [DRMItem.Kind.complete, .play],
    [
      [], [#""result":0"#], [#""result":1"#], [#""result":1"#, expire],
      [#""result":1"#, foreignReset, limits],
    ])
  func `a deletion comes before everything else`(_ kind: DRMItem.Kind, _ members: [String]) throws {
    let answer = try answer(kind, members + [#""content_delete":1"#, Self.message])
    let change =
      kind == .complete
      ? held.completed(by: answer)
      : held.renewed(by: answer, sessionKey: LicenceStage.sessionKey, now: LicenceStage.now)
    guard case .delete(let error) = change else { Issue.record("\(change)"); return }
    #expect(error.code == -8_680 && error.kind == .licence && error.message == "Ask the school.")
  }

  // MARK: result

  @Test(arguments: ["", expire, reset, foreignReset, limits])
  func `a refusal comes before expiry, reset and limits, and changes nothing`(_ more: String) throws {
    let members = [#""result":0"#, Self.message, more].filter { !$0.isEmpty }
    let change = held.renewed(
      by: try answer(.play, members), sessionKey: LicenceStage.sessionKey, now: LicenceStage.now)
    guard case .refuse(let error) = change else { Issue.record("\(change)"); return }
    #expect(error.code == -8_657 && error.kind == .licence && error.message == "Ask the school.")
  }

  @Test func `a refused download has its own code`() throws {
    let change = Licence.approved(by: try answer(.download, [#""result":0"#, Self.message]))
    guard case .refuse(let error) = change else { Issue.record("\(change)"); return }
    #expect(error.code == -8_655 && error.kind == .refused && error.message == "Ask the school.")
  }

  @Test func `a refused completion expires by force, and a reset brings it back`() throws {
    let change = held.completed(by: try answer(.complete, [#""result":0"#, #""check_expiration_date":5"#]))
    #expect(error(change)?.code == -8_656)
    let expired = try kept(change)
    #expect(expired.expired == .completion)
    #expect(LicenceStage.verdict(expired).code == -8_656)
    #expect(try kept(renewed(expired, #""result":1"#, Self.limits)).expired == .completion)
    let back = try kept(renewed(expired, #""result":1"#, Self.reset))
    #expect(LicenceStage.verdict(back).mayPlay)
  }

  @Test func `a completion nobody answered expires by force`() throws {
    let (licence, error) = held.uncompleted(because: KollusError(.tryLater, code: -9_028, "no answer"))
    #expect(licence.expired == .completion)
    #expect(error.code == -8_656 && error.kind == .tryLater)
    #expect(error.message.contains("no answer") && error.message.contains("-9028"))
    #expect(LicenceStage.verdict(licence).reasons.map(\.code) == [-8_656])
  }

  // MARK: content_expired

  @Test(arguments: ["", reset, foreignReset, limits])
  func `a forced expiry comes before reset and limits`(_ more: String) throws {
    let members = [#""result":1"#, Self.expire, Self.message, more].filter { !$0.isEmpty }
    let change = held.renewed(
      by: try answer(.play, members), sessionKey: LicenceStage.sessionKey, now: LicenceStage.now)
    var expected = held
    expected.expired = .forced
    #expect(try kept(change) == expected)
    #expect(error(change)?.code == -8_658 && error(change)?.message == "Ask the school.")
    #expect(LicenceStage.verdict(expected).reasons.map(\.code) == [-8_658])
    // Zero does not revive it, a later reset does.
    #expect(try kept(renewed(expected, #""result":1,"content_expired":0"#)).expired == .forced)
    let back = try kept(renewed(expected, #""result":1,"content_expired":0"#, Self.reset))
    #expect(back.expired == nil && LicenceStage.verdict(back).mayPlay)
  }

  // MARK: content_expire_reset

  @Test(arguments: [
    "", #","session_key":null"#, #","session_key":"""#, #","session_key":"S-000041""#,
    #","session_key":"s-000041 ""#, #","session_key":"s-000041\u0000""#, #","session_key":"s-00004""#,
    #","session_key":"s-000042""#,
  ]) func `a reset for another session key changes nothing`(_ echo: String) throws {
    let change = try renewed(nil, #""result":1,"content_expire_reset":1\#(echo)"#, Self.limits)
    guard case .refuse(let error) = change else { Issue.record("\(change)"); return }
    #expect(error.code == -8_681 && error.kind == .badData)
  }

  @Test func `session keys are compared byte for byte`() throws {
    let answer = try answer(
      .play, [#""result":1,"content_expire_reset":1,"session_key":"\u1100\u1161""#])
    let change = held.renewed(by: answer, sessionKey: "\u{AC00}", now: LicenceStage.now)
    #expect(error(change)?.code == -8_681)
    guard case .refuse = change else { Issue.record("\(change)"); return }
  }

  @Test(arguments: ["", #","session_key":"other""#]) func `without a reset no session key is needed`(
    _ echo: String
  ) throws {
    #expect(try renewed(nil, #""result":1\#(echo)"#) == .keep(held, nil))
  }

  @Test func `a reset gives the new limits alone and counts anew`() throws {
    var before = held
    (before.checkDate, before.checksAbuse, before.expired) = (.value(9), true, .count)
    let plain = try kept(renewed(before, #""result":1"#, Self.reset))
    var expected = before
    (expected.expirationDate, expected.checkDate) = (.none, .none)
    (expected.plays, expected.playTime) = (Allowance(), Allowance())
    (expected.checksAbuse, expected.expired) = (false, nil)
    // What no answer of kind 3 is known to carry stays as the download had it.
    #expect(plain == expected && plain.asksBeforeRenewal && plain.offlineBookmark.download == 1)
    #expect(try kept(renewed(before, #""result":1"#, Self.reset, Self.limits)) == Self.limited(expected))
  }

  // MARK: Neither

  @Test func `without a reset given limits are taken and what was used is kept`() throws {
    let licence = try kept(renewed(nil, #""result":1"#, Self.limits))
    #expect(licence == Self.limited(held))
    #expect(licence.plays == Allowance(.value(7), used: 3))
    #expect(licence.playTime == Allowance(.value(900), used: 600))
    #expect(try kept(renewed(licence, #""result":1"#)) == licence)
    let lifted =
      #""result":1,"expiration_date":0,"expiration_count":0,"expiration_playtime":0,"check_abuse":0"#
    let free = try kept(renewed(licence, lifted))
    #expect((free.plays.limit, free.plays.used) == (.unlimited, 3))
    #expect(free.expirationDate == .unlimited && free.playTime.limit == .unlimited && !free.checksAbuse)
  }

  @Test(arguments: Licence.Cause.allCases)
  func `what has expired stays expired without a reset`(_ cause: Licence.Cause) throws {
    var expired = LicenceStage.licence { $0.expired = cause }
    let after = try renewed(expired, #""result":1"#, Self.limits)
    #expect(try kept(after).expired == cause)
    #expect(error(after)?.code == Int(cause.rawValue) && error(after)?.kind == .licence)
    #expect(LicenceStage.verdict(try kept(after)).code == Int(cause.rawValue))
    // So does what nobody had noticed yet.
    guard !cause.isForced else { return }
    expired = held
    switch cause {
    case .checkDate: expired.checkDate = .value(LicenceStage.now)
    case .date: expired.expirationDate = .value(LicenceStage.now)
    case .count: expired.plays.used = 10
    default: expired.playTime.used = 3_600
    }
    let noticed = try renewed(expired, #""result":1,"expiration_count":1000"#, Self.dates)
    #expect(try kept(noticed).expired == cause)
    #expect(error(noticed)?.code == Int(cause.rawValue))
    #expect(try kept(renewed(expired, #""result":1"#, Self.reset)).expired == nil)
  }

  private static let dates =
    #""expiration_date":1800000000,"check_expiration_date":1800000000,"expiration_playtime":604800"#

  /// A renewal and a look at the same licence must not differ about why it does not play.
  @Test(arguments: Licence.Cause.allCases, Licence.Cause.allCases)
  func `the failure of a renewal is the first reason of the verdict`(
    _ sticky: Licence.Cause, _ current: Licence.Cause
  ) throws {
    var licence = LicenceStage.licence { $0.expired = sticky }
    switch current {
    case .checkDate: licence.checkDate = .value(5)
    case .date: licence.expirationDate = .value(5)
    case .count: licence.plays = Allowance(.value(1), used: 1)
    case .playTime: licence.playTime = Allowance(.value(60), used: 60)
    default: break
    }
    let change = try renewed(licence, #""result":1"#)
    let verdict = LicenceStage.verdict(try kept(change))
    #expect(verdict.code != 0 && error(change)?.code == verdict.code)
  }

  // MARK: Completion

  @Test func `a completion may set the check date and nothing else`() throws {
    let answer = try answer(
      .complete,
      [
        #""result":1,"check_expiration_date":1790000000,"expiration_count":1,"content_expired":1"#,
        #""content_expire_reset":1"#,
      ])
    var expected = held
    expected.checkDate = .value(1_790_000_000)
    #expect(held.completed(by: answer) == .keep(expected, nil))
    #expect(try held.completed(by: self.answer(.complete, [#""result":1"#])) == .keep(held, nil))
  }
}
