import SystemKit
import Testing

@testable import KollusCore

@Suite struct VerdictTests {
  typealias Name = Verdict.Reason.Name

  /// A reason as a script sees it.
  struct Found: Equatable, CustomStringConvertible {
    let name: Name
    let code: Int
    var description: String { "\(name) \(code)" }

    init(_ name: Name, _ code: Int) { (self.name, self.code) = (name, code) }
  }

  /// A limit that is reached, and how it is told.
  static let limits: [(cause: Licence.Cause, found: Found, reach: @Sendable (inout Licence) -> Void)] = [
    (.checkDate, Found(.checkDate, -8_687), { $0.checkDate = .value(LicenceStage.now) }),
    (.date, Found(.date, -8_643), { $0.expirationDate = .value(LicenceStage.now) }),
    (.count, Found(.count, -8_644), { $0.plays = Allowance(.value(2), used: 2) }),
    (.playTime, Found(.playTime, -8_683), { $0.playTime = Allowance(.value(60), used: 61) }),
  ]

  enum Clock: CaseIterable { case right, setBack, unknown }

  private func found(_ verdict: Verdict) -> [Found] { verdict.reasons.map { Found($0.name, $0.code) } }

  private func ledger(_ clock: Clock) -> TimeLedger? {
    switch clock {
    case .right: TimeLedger(seen: LicenceStage.now)
    case .setBack: TimeLedger(seen: LicenceStage.now + 1_800)
    case .unknown: nil
    }
  }

  /// Which reasons a licence gives, by the order of PROTO §6.1.
  private func expected(_ reached: Int, _ sticky: Licence.Cause?, isDated: Bool, _ clock: Clock) -> [Found] {
    var reasons: [Found] = isDated && clock != .right ? [Found(.clock, -8_664)] : []
    switch sticky {
    case .completion: reasons.append(Found(.forced, -8_656))
    case .forced: reasons.append(Found(.forced, -8_658))
    case .deletion: reasons.append(Found(.forced, -8_680))
    default: break
    }
    for (index, limit) in Self.limits.enumerated() where reached & 1 << index != 0 || sticky == limit.cause {
      reasons.append(limit.found)
    }
    return reasons
  }

  @Test(arguments: [nil] + Licence.Cause.allCases.map(Optional.some), 0..<16)
  func `every reason is listed, in the order of weight`(_ sticky: Licence.Cause?, _ reached: Int) {
    for hasLaterDate in [false, true] {
      var licence = LicenceStage.licence { $0.expired = sticky }
      if hasLaterDate { licence.expirationDate = .value(LicenceStage.now + 1_801) }
      for (index, limit) in Self.limits.enumerated() where reached & 1 << index != 0 { limit.reach(&licence) }
      let isDated = hasLaterDate || reached & 0b11 != 0
      for clock in Clock.allCases {
        let own = expected(reached, sticky, isDated: isDated, clock)
        for state in Content.State.allCases {
          for file in [Verdict.FileState.unknown, .sound, .damaged("segment 3 of 9 is damaged")] {
            var reasons: [Found] = state == .ready ? [] : [Found(.notReady, -8_629)]
            if case .damaged = file { reasons.append(Found(.damaged, -8_646)) }
            let verdict = Verdict(
              .init(state: state, file: file, holding: .held(licence), ledger: ledger(clock)),
              at: LicenceStage.now)
            #expect(found(verdict) == reasons + own)
            #expect(verdict.mayPlay == (reasons + own).isEmpty)
            #expect(verdict.code == (reasons + own).first?.code ?? 0)
            #expect(verdict.canBeRenewed == (reasons.isEmpty && !own.isEmpty))
            #expect(verdict.isExpired == own.contains { $0.name != .clock })
          }
        }
      }
    }
  }

  @Test(arguments: Content.State.allCases, Clock.allCases)
  func `without a licence the clock does not matter`(_ state: Content.State, _ clock: Clock) {
    func judge(_ holding: Verdict.Holding) -> Verdict {
      Verdict(
        .init(state: state, file: .sound, holding: holding, ledger: ledger(clock)), at: LicenceStage.now)
    }
    let notReady = state == .ready ? [] : [Found(.notReady, -8_629)]
    #expect(found(judge(.notNeeded)) == notReady)
    #expect(!judge(.notNeeded).isExpired && !judge(.notNeeded).canBeRenewed)
    // One that is not downloaded has not lost anything.
    #expect(found(judge(.absent)) == (state == .ready ? [Found(.tampered, -8_646)] : notReady))
    #expect(found(judge(.altered("x"))) == notReady + [Found(.tampered, -8_646)])
    #expect(judge(.altered("x")).isExpired)
    #expect(judge(.altered("x")).canBeRenewed == (state == .ready))
    #expect(judge(.altered("how it shows")).reasons.last?.message.contains("how it shows") == true)
  }

  @Test(arguments: [-1, 0, 1] as [Int64]) func `a date is the first second that does not play`(
    _ offset: Int64
  ) {
    for (name, path) in [(Name.date, \Licence.expirationDate), (.checkDate, \Licence.checkDate)] {
      let licence = LicenceStage.licence { $0[keyPath: path] = .value(LicenceStage.now + offset) }
      #expect(LicenceStage.verdict(licence).reasons.map(\.name) == (offset > 0 ? [] : [name]))
    }
  }

  @Test func `no limit limits nothing`() {
    for limit in [Limit.none, .unlimited] {
      let licence = LicenceStage.licence {
        ($0.expirationDate, $0.checkDate) = (limit, limit)
        ($0.plays, $0.playTime) = (Allowance(limit, used: .max), Allowance(limit, used: .max))
      }
      #expect(!licence.isDated && licence.causes(at: .max).isEmpty)
      let verdict = Verdict(
        .init(state: .ready, file: .unknown, holding: .held(licence), ledger: nil), at: .max)
      #expect(verdict.mayPlay)
      #expect((licence.plays.maximum, licence.plays.left) == (0, 0))
    }
  }

  /// Set back, the clock is no way round a date that has passed already.
  @Test func `dates are judged by the latest time seen`() {
    let licence = LicenceStage.licence { $0.expirationDate = .value(LicenceStage.now) }
    for seconds: Int64 in [60, 300, 301, 86_400 * 365] {
      let verdict = Verdict(
        .init(
          state: .ready, file: .sound, holding: .held(licence), ledger: TimeLedger(seen: LicenceStage.now)),
        at: LicenceStage.now - seconds)
      let clock = seconds > 300 ? [Found(.clock, -8_664)] : []
      #expect(found(verdict) == clock + [Found(.date, -8_643)])
    }
  }

  @Test(arguments: [0, 60, 300, 301, 86_400] as [Int64])
  func `an end that the ledger alone tells is told with both times`(_ behind: Int64) {
    let end = LicenceStage.now - 30
    for (name, path) in [(Name.date, \Licence.expirationDate), (.checkDate, \Licence.checkDate)] {
      let licence = LicenceStage.licence {
        $0[keyPath: path] = .value(end)
        $0.plays = Allowance(.value(1), used: 1)
      }
      let device = LicenceStage.now - behind
      let verdict = Verdict(
        .init(
          state: .ready, file: .sound, holding: .held(licence), ledger: TimeLedger(seen: LicenceStage.now)),
        at: device)
      for reason in verdict.reasons where reason.name != .clock {
        let isTold =
          reason.message.contains(WallClock.text(LicenceStage.now))
          && reason.message.hasSuffix("this clock says \(WallClock.text(device))")
        #expect(isTold == (reason.name == name && device < end), "\(reason.message)")
      }
    }
  }

  @Test func `an expiry of the past is told as such, and only once`() {
    var licence = LicenceStage.licence {
      ($0.expired, $0.expirationDate) = (.date, .value(LicenceStage.now + 9_000))
    }
    #expect(LicenceStage.verdict(licence).reasons.first?.message.contains("before") == true)
    licence.expirationDate = .value(LicenceStage.now - 9_000)
    let reasons = LicenceStage.verdict(licence).reasons
    #expect(reasons.count == 1 && reasons.first?.message.hasPrefix("the licence ended at 2026-") == true)
  }

  @Test func `every reason says what to do`() {
    let all = LicenceStage.licence { licence in
      licence.expired = .forced
      for limit in Self.limits { limit.reach(&licence) }
    }
    let verdict = Verdict(
      .init(state: .missing, file: .damaged("x"), holding: .held(all), ledger: nil), at: LicenceStage.now)
    #expect(
      verdict.reasons.map(\.name) == [
        .notReady, .damaged, .clock, .forced, .checkDate, .date, .count, .playTime,
      ])
    for reason in verdict.reasons {
      #expect(!reason.hint.isEmpty && reason.message.first?.isUppercase == false)
      #expect(!reason.message.hasSuffix("."))
    }
  }
}
