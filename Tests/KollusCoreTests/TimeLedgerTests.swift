import KollusTestSupport
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct TimeLedgerTests {
  static let now = LicenceStage.now
  static let year: Int64 = 365 * 86_400
  static let day = LicenceStage.day
  static let extremes: [Int64] = [
    .min, .min + 1, -1 << 62, -1 << 41, -1, 0, 1, 299, 300, 301, LicenceStage.now, 1 << 40, 1 << 41, 1 << 62,
    .max - 1, .max,
  ]

  // MARK: Reading

  @Test(
    arguments: [
      (0, nil), (1, nil), (299, nil), (300, nil), (301, 301), (1_800, 1_800), (86_400, 86_400),
      (5 * year, 5 * year),
    ] as [(Int64, Int64?)])
  func `a clock is set back when it is more than five minutes behind`(_ behind: Int64, _ setBack: Int64?) {
    var ledger = TimeLedger(seen: Self.now)
    let expected: TimeLedger.Reading = setBack.map { .setBack(by: $0) } ?? .time(Self.now)
    #expect(ledger.read(Self.now - behind) == expected)
    #expect(ledger.time(Self.now - behind) == Self.now)
    ledger.advance(Self.now - behind)
    #expect(ledger == TimeLedger(seen: Self.now), "the time seen never falls")
  }

  @Test(arguments: [1, 300, 86_400, 5 * year] as [Int64])
  func `a clock that is ahead is believed`(_ ahead: Int64) {
    var ledger = TimeLedger(seen: Self.now)
    #expect(ledger.read(Self.now + ahead) == .time(Self.now + ahead))
    #expect(ledger.seen == Self.now, "reading notes nothing")
    ledger.advance(Self.now + ahead)
    #expect(ledger == TimeLedger(seen: Self.now + ahead))
  }

  /// Five minutes at a time, however often, are five minutes in all.
  @Test func `small steps back do not add up`() {
    var ledger = TimeLedger(seen: Self.now)
    for step in 1...100 as ClosedRange<Int64> { ledger.advance(Self.now - 4 * 60 * step) }
    #expect(ledger.seen == Self.now)
    #expect(ledger.read(Self.now - 301) == .setBack(by: 301))
  }

  @Test func `five years ahead and back is refused until a server tells the time`() {
    var ledger = TimeLedger(seen: Self.now)
    ledger.advance(Self.now + 5 * Self.year)
    #expect(ledger.read(Self.now + 60) == .setBack(by: 5 * Self.year - 60))
    ledger.set(to: Self.now + 60, device: Self.now + 60)
    #expect(ledger == TimeLedger(seen: Self.now + 60))
    #expect(ledger.read(Self.now + 61) == .time(Self.now + 61))
  }

  // MARK: A clock that stays wrong

  @Test(arguments: [600, 1_800, 86_400, 5 * year] as [Int64])
  func `a clock that stays behind is understood after an exchange`(_ lag: Int64) {
    var ledger = TimeLedger(seen: Self.now)
    ledger.set(to: Self.now, device: Self.now - lag)
    #expect(ledger == TimeLedger(seen: Self.now, lag: lag))
    for passed: Int64 in [0, 60, 200, 250] {
      #expect(ledger.read(Self.now - lag + passed) == .time(Self.now + passed))
      ledger.advance(Self.now - lag + passed)
      #expect(ledger == TimeLedger(seen: Self.now + passed, lag: lag))
    }
    // Further back than it was is set back all the same.
    let device = Self.now + 250 - lag - 301
    #expect(ledger.read(device) == .setBack(by: lag + 301))
  }

  @Test(arguments: [-5 * year, -1, 0, 1, 300] as [Int64])
  func `a clock that is right or ahead has no lag`(_ behind: Int64) {
    var ledger = TimeLedger(seen: 5, lag: 7)
    ledger.set(to: Self.now, device: Self.now - behind)
    #expect(ledger == TimeLedger(seen: Self.now))
  }

  /// Once the clock is right, its old fault must not be added to what it reads later: that would end licences
  /// early, and put the time seen into the future.
  @Test(arguments: [1_800, 20 * 86_400, 5 * year] as [Int64])
  func `a clock that was put right is not corrected any more`(_ lag: Int64) {
    var ledger = TimeLedger()
    ledger.set(to: Self.now, device: Self.now - lag)
    ledger.advance(Self.now + 100)
    #expect(ledger == TimeLedger(seen: Self.now + 100))
    #expect(ledger.read(Self.now + 100 - 1_800) == .setBack(by: 1_800))
    ledger.advance(Self.now + 100 - 1_800)
    #expect(ledger.seen == Self.now + 100)
  }

  /// Whatever is done to the clock, the time never falls, but by a server's word.
  @Test(arguments: 0..<20 as Range<UInt64>) func `no sequence of clocks gains time`(_ seed: UInt64) {
    var random = Dice(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
    var ledger = TimeLedger()
    ledger.set(to: Self.now, device: Self.now - Int64.random(in: -100_000...100_000, using: &random))
    var last = ledger.seen
    for _ in 0..<2_000 {
      let device = last + Int64.random(in: -200_000...1_000, using: &random)
      let time = ledger.time(device)
      #expect(time >= last && time <= last + 200_000)
      if case .time(let read) = ledger.read(device) { #expect(read == time) }
      ledger.advance(device)
      #expect(ledger.seen == time && ledger.lag >= 0)
      last = time
    }
  }

  // MARK: Extremes

  @Test(arguments: extremes) func `no clock and no date can stop the program`(_ first: Int64) throws {
    let identity = try DeviceIdentity.made(machineID: "m")
    for second in Self.extremes {
      for third in Self.extremes {
        var ledger = TimeLedger(seen: first, lag: second)
        let before = ledger.seen
        #expect(ledger.time(third) >= before)
        ledger.advance(third)
        #expect(ledger.seen >= before)
        ledger.set(to: second, device: third)
        ledger.advance(first)
        // What is kept can be read again.
        #expect(ledger.isValid(ledger.code(by: identity), by: identity))
        #expect(TimeLedger(seen: ledger.seen, lag: ledger.lag) == ledger)
      }
    }
  }

  // MARK: Stored

  @Test func `the stored ledger counts only as it was written`() throws {
    let identity = try DeviceIdentity.made(machineID: "m")
    let other = try DeviceIdentity.made(machineID: "m")
    let ledger = TimeLedger(seen: Self.now, lag: 400)
    let code = ledger.code(by: identity)
    #expect(ledger.isValid(code, by: identity))
    #expect(!ledger.isValid(code, by: other))
    for changed in [
      TimeLedger(seen: Self.now + 1, lag: 400), TimeLedger(seen: Self.now, lag: 401),
      TimeLedger(seen: Self.now), TimeLedger(seen: 400, lag: Self.now),
      TimeLedger(seen: Self.now, lag: 400, change: 1),
    ] {
      #expect(!changed.isValid(code, by: identity))
    }
    for wrong in [[], Array(code.dropLast()), code + [0], code.reversed()] {
      #expect(!ledger.isValid(wrong, by: identity))
    }
  }

  @Test(arguments: [
    "UPDATE ledger SET seen = seen - 1", "UPDATE ledger SET seen = -1",
    "UPDATE ledger SET seen = 9223372036854775807", "UPDATE ledger SET seen = -9223372036854775808",
    "UPDATE ledger SET lag = 1", "UPDATE ledger SET lag = 9223372036854775807",
    "UPDATE ledger SET change = change + 1", "UPDATE ledger SET change = 9223372036854775807",
    "UPDATE ledger SET mac = x''", "UPDATE ledger SET mac = zeroblob(32)", "DELETE FROM ledger",
  ]) func `an edited ledger stops dated licences until one renewal`(_ edit: String) async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    try await stage.add(LicenceStage.licence { $0.plays = Allowance(.value(2)) }, "undated")
    try await stage.run(edit)
    #expect(try await stage.library.ledger() == nil)
    // Time that passes mends nothing.
    try await stage.library.noteTime(Self.now + 7_200)
    let verdict = try await stage.verdict()
    #expect(verdict.reasons.map(\.code) == [-8_664] && verdict.reasons.first?.name == .clock)
    #expect(try await stage.verdict("undated").mayPlay)
    let keys = SecurityKeys(try DRMClientTests.settings())
    try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys))
    let healed = try #require(try await stage.library.ledger())
    #expect(healed.seen == Self.now && healed.lag == 0)
    #expect(try await stage.verdict().mayPlay)
  }

  /// The device may be wrong by years: the answer that just came tells better.
  @Test(arguments: [5 * year, -5 * year])
  func `a renewal with a wrong clock expires nothing`(_ offset: Int64) async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    let keys = SecurityKeys(try DRMClientTests.settings())
    let clock = ServerClock(date: Self.now, device: Self.now + offset, isTrusted: true)
    let effect = try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys), clock: clock)
    #expect(effect.error == nil)
    #expect(effect.record?.licence == LicenceStage.held)
    #expect(try await stage.verdict().mayPlay, "with the clock put right it plays")
  }

  @Test func `a date that nobody vouches for lowers nothing`() async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    let keys = SecurityKeys(try DRMClientTests.settings())
    let later = Self.now + 40 * 86_400
    try await stage.library.noteTime(later)
    let clock = ServerClock(date: Self.now, device: Self.now, isTrusted: false)
    let effect = try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys), clock: clock)
    // Only the ledger says that the date has passed: that is told, but not kept for good.
    #expect(effect.record?.licence.expired == nil && effect.error?.code == -8_643)
    #expect(try await stage.library.ledger()?.seen == later)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_664, -8_643])
  }

  /// Whose clock has passed the date, and whether a renewal without a reset keeps that for good.
  @Test(arguments: [
    (device: 31 * day, server: 31 * day, isKept: true), (31 * day, 29 * day, false),
    (29 * day, 31 * day, false), (29 * day, 29 * day, false), (5 * year, 31 * day, true),
    (31 * day, 5 * year, true), (30 * day - 1, 30 * day, false), (30 * day, 30 * day, true),
  ])
  func `an expiry by date is kept for good only when both clocks tell it`(
    _ device: Int64, _ server: Int64, _ isKept: Bool
  ) async throws {
    let keys = SecurityKeys(try DRMClientTests.settings())
    for isTrusted in [true, false] {
      let stage = try LicenceHome(isTrusted ? "trusted" : "untrusted")
      try await stage.add(LicenceStage.held)
      // The ledger has seen the server's time in both cases.
      try await stage.library.noteTime(Self.now + server)
      let clock = ServerClock(date: Self.now + server, device: Self.now + device, isTrusted: isTrusted)
      let effect = try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys), clock: clock)
      // What the ledger has seen is the later one when no server may set it.
      let told = isTrusted ? server : max(server, device)
      #expect(effect.error?.code == (told >= 30 * Self.day ? -8_643 : nil))
      let isKept = isTrusted ? isKept : min(device, told) >= 30 * Self.day
      #expect(effect.record?.licence.expired == (isKept ? .date : nil), "trusted: \(isTrusted)")
    }
  }

  /// 2026-01-01T00:00:00Z: no server's clock is right that is behind this program.
  static let dawn: Int64 = 1_767_225_600

  @Test(arguments: [0, 1, 784_111_777, dawn - 1, dawn, dawn + 1, -1, .min] as [Int64])
  func `a trusted date from before this program was made sets no ledger`(_ date: Int64) async throws {
    let stage = try LicenceHome()
    try await stage.add(LicenceStage.held)
    let keys = SecurityKeys(try DRMClientTests.settings())
    let clock = ServerClock(date: date, device: Self.now + 60, isTrusted: true)
    try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys), clock: clock)
    let seen = try await stage.library.ledger()?.seen
    #expect(seen == (date >= Self.dawn ? date : Self.now + 60))
  }
}

/// Numbers that are the same in every run.
private struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
  }
}
