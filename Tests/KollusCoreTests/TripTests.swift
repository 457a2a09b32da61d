import Testing

@testable import KollusCore

/// Whether a licence will last: for a trip, and until the next renewal.
@Suite struct TripTests {
  static let now = LicenceStage.now

  struct Row: Sendable, CustomTestStringConvertible {
    let trip: Trip
    let codes: [Int]
    let licence: Licence
    var testDescription: String { "\(trip) \(codes)" }

    init(_ trip: Trip, _ codes: [Int], _ change: (inout Licence) -> Void = { _ in }) {
      (self.trip, self.codes, licence) = (trip, codes, LicenceStage.licence(change))
    }
  }

  static let rows: [Row] = [
    Row(Trip(), []), Row(Trip(until: .max, plays: .max, watch: .max), []),
    Row(Trip(until: .max, plays: .max, watch: .max), []) {
      ($0.expirationDate, $0.checkDate) = (.unlimited, .unlimited)
      ($0.plays, $0.playTime) = (Allowance(.unlimited, used: 9), Allowance(.unlimited, used: 9))
    },
    Row(Trip(until: now + 99), []) { $0.expirationDate = .value(now + 100) },
    Row(Trip(until: now + 100), [-8_643]) { $0.expirationDate = .value(now + 100) },
    Row(Trip(until: now + 99), []) { $0.checkDate = .value(now + 100) },
    Row(Trip(until: now + 100), [-8_687]) { $0.checkDate = .value(now + 100) },
    Row(Trip(until: .max), [-8_687, -8_643]) {
      ($0.expirationDate, $0.checkDate) = (.value(now + 1), .value(now + 2))
    },
    Row(Trip(plays: 3), []) { $0.plays = Allowance(.value(10), used: 7) },
    Row(Trip(plays: 4), [-8_644]) { $0.plays = Allowance(.value(10), used: 7) },
    Row(Trip(plays: 1), [-8_644]) { $0.plays = Allowance(.value(10), used: .max) },
    Row(Trip(plays: .max), [-8_644]) { $0.plays = Allowance(.value(1_000)) },
    Row(Trip(watch: 3_000), []) { $0.playTime = Allowance(.value(3_600), used: 600) },
    Row(Trip(watch: 3_001), [-8_683]) { $0.playTime = Allowance(.value(3_600), used: 600) },
    // Only what was asked for counts.
    Row(Trip(plays: 1), []) {
      ($0.expirationDate, $0.playTime) = (.value(now + 1), Allowance(.value(60), used: 59))
      $0.plays = Allowance(.value(1))
    },
    Row(Trip(plays: 1), [-8_657]) { $0.checksAbuse = true },
    Row(Trip(until: now + 9, plays: 9, watch: 9), [-8_687, -8_643, -8_644, -8_683, -8_657]) {
      ($0.expirationDate, $0.checkDate) = (.value(now + 9), .value(now + 9))
      ($0.plays, $0.playTime) = (Allowance(.value(10), used: 2), Allowance(.value(60), used: 52))
      $0.checksAbuse = true
    },
  ]

  @Test(arguments: rows) func `a trip is told all that will not last`(_ row: Row) {
    let shortfalls = row.trip.shortfalls(of: row.licence)
    #expect(shortfalls.map(\.code) == row.codes)
    #expect(shortfalls.allSatisfy { !$0.hint.isEmpty && !$0.message.isEmpty })
  }

  @Test func `a shortfall names both sides`() {
    let licence = LicenceStage.licence {
      ($0.expirationDate, $0.plays) = (.value(1_800_000_000), Allowance(.value(3), used: 1))
    }
    let messages = Trip(until: 1_900_000_000, plays: 7).shortfalls(of: licence).map(\.message)
    #expect(
      messages == [
        "the licence ends at 2027-01-15T08:00:00Z, before 2030-03-17T17:46:40Z",
        "2 plays are left, 7 are wanted",
      ])
  }

  @Test func `an empty trip asks nothing`() {
    #expect(Trip().isEmpty)
    for trip in [Trip(until: 0), Trip(plays: 0), Trip(watch: 0)] { #expect(!trip.isEmpty) }
  }

  // MARK: Soon

  struct Soon: Sendable {
    let isSoon: Bool
    let licence: Licence
    let within: Int64
    let duration: Double

    init(
      _ isSoon: Bool, within: Int64 = 259_200, duration: Double = 600,
      _ change: (inout Licence) -> Void = { _ in }
    ) {
      (self.isSoon, self.within, self.duration) = (isSoon, within, duration)
      licence = LicenceStage.licence(change)
    }
  }

  static let soon: [Soon] = [
    Soon(false), Soon(true) { $0.expirationDate = .value(now + 259_200) },
    Soon(false) { $0.expirationDate = .value(now + 259_201) },
    Soon(true) { $0.checkDate = .value(now + 259_200) },
    Soon(false) { $0.checkDate = .value(now + 259_201) },
    Soon(true) { $0.expirationDate = .value(1) }, Soon(true) { $0.expirationDate = .value(now) },
    Soon(false, within: 0) { $0.expirationDate = .value(now + 1) },
    Soon(true, within: .max) { $0.expirationDate = .value(.max) },
    Soon(false, within: .max) { $0.expirationDate = .unlimited },
    Soon(false) { $0.plays = Allowance(.value(1_000), used: 998) },
    Soon(true) { $0.plays = Allowance(.value(1_000), used: 999) },
    Soon(true) { $0.plays = Allowance(.value(1)) },
    Soon(true) { $0.plays = Allowance(.value(3), used: .max) },
    Soon(false) { $0.plays = Allowance(.unlimited, used: 9) },
    Soon(false) { $0.plays = Allowance(.none, used: 9) },
    Soon(false) { $0.playTime = Allowance(.value(3_600), used: 3_000) },
    Soon(true) { $0.playTime = Allowance(.value(3_600), used: 3_001) },
    Soon(true, duration: 600.5) { $0.playTime = Allowance(.value(600)) },
    Soon(false) { $0.playTime = Allowance(.unlimited, used: 9) },
    // Of a length that nobody knows only the end can be told.
    Soon(false, duration: 0) { $0.playTime = Allowance(.value(60), used: 59) },
  ]

  @Test(arguments: soon.indices) func `what ends soon is known`(_ index: Int) {
    let row = Self.soon[index]
    let reason = row.licence.soon(Self.now, within: row.within, duration: row.duration)
    #expect((reason != nil) == row.isSoon, "\(row.licence.summary): \(reason ?? "not soon")")
  }

  @Test func `the nearest of all limits is not hidden by another`() {
    let licence = LicenceStage.licence {
      ($0.expirationDate, $0.checkDate) = (.value(Self.now + 1 << 30), .value(Self.now + 60))
    }
    #expect(licence.soon(Self.now, within: 3_600, duration: 0) == "check date in 60 s")
  }
}
