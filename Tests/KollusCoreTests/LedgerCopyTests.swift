import Foundation
import KollusTestSupport
import SQLiteKit
import SystemKit
import Testing

@testable import KollusCore

/// The second copy of the time ledger.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LedgerCopyTests {
  static let now = LicenceStage.now

  let stage: LicenceHome

  init() throws { stage = try LicenceHome() }

  private var home: Home { stage.home }
  private var path: String { home.clockPath }

  private func bytes() throws -> [UInt8] {
    try [UInt8](#require(FileManager.default.contents(atPath: path)))
  }

  private func put(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

  /// The row of the library alone.
  private func stored() async throws -> TimeLedger? {
    var found: TimeLedger?
    found = try await stage.library.record { db throws(SQLiteError) in
      try db.withStatement("SELECT seen, lag, change FROM ledger") { row throws(SQLiteError) -> TimeLedger? in
        guard try row.step() else { return nil }
        return TimeLedger(
          seen: row.integer(at: 0), lag: row.integer(at: 1), change: row.integer(at: 2))
      }
    }
    return found
  }

  // MARK: The file

  @Test(arguments: [
    TimeLedger(), TimeLedger(seen: now), TimeLedger(seen: now, lag: 400, change: 1),
    TimeLedger(seen: .max, lag: .max, change: .max), TimeLedger(seen: .min, lag: .min, change: .min),
    TimeLedger(seen: 1 << 40, lag: 1, change: 1 << 62),
  ])
  func `what is written is read again`(_ ledger: TimeLedger) throws {
    LedgerCopy.write(ledger, home)
    #expect(LedgerCopy.read(home) == ledger)
    #expect(LedgerCopy.read(home)?.change == ledger.change)
    LedgerCopy.write(TimeLedger(seen: 7), home)
    #expect(LedgerCopy.read(home) == TimeLedger(seen: 7))
  }

  @Test func `nobody else may read the file`() throws {
    LedgerCopy.write(TimeLedger(seen: Self.now), home)
    #expect(try Files.information(path)?.mode == 0o600)
  }

  @Test func `where there is no file there is no copy`() { #expect(LedgerCopy.read(home) == nil) }

  @Test func `a turned bit anywhere, or a missing byte, makes it no copy`() throws {
    LedgerCopy.write(TimeLedger(seen: Self.now, lag: 400, change: 9), home)
    let whole = try bytes()
    #expect(whole.count == 56)
    for index in whole.indices {
      for bit in 0..<8 as Range<UInt8> {
        var changed = whole
        changed[index] ^= 1 << bit
        try put(changed)
        #expect(LedgerCopy.read(home) == nil, "byte \(index), bit \(bit)")
      }
      try put(Array(whole[..<index]))
      #expect(LedgerCopy.read(home) == nil, "\(index) bytes")
    }
    try put(whole)
    #expect(LedgerCopy.read(home)?.change == 9)
  }

  @Test func `the copy of another home does not count`() throws {
    let other = try LicenceHome("other")
    LedgerCopy.write(TimeLedger(seen: Self.now, change: 9), other.home)
    try FileManager.default.copyItem(atPath: other.home.clockPath, toPath: path)
    #expect(LedgerCopy.read(home) == nil)
  }

  @Test(arguments: ["fifo", "link", "folder"])
  func `something else in its place holds nobody up, is not followed, and makes way`(_ thing: String) throws {
    let target = TemporaryDirectory.path + "/target"
    LedgerCopy.write(TimeLedger(seen: Self.now), home)
    try FileManager.default.moveItem(atPath: path, toPath: target)
    let before = FileManager.default.contents(atPath: target)
    switch thing {
    case "fifo": #expect(mkfifo(path, 0o600) == 0)
    case "link": #expect(symlink(target, path) == 0)
    default: #expect(mkdir(path, 0o700) == 0)
    }
    #expect(LedgerCopy.read(home) == nil)
    LedgerCopy.write(TimeLedger(seen: Self.now + 1), home)
    #expect(LedgerCopy.read(home)?.seen == Self.now + 1)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: home.path + "/aside").count == 2)
    #expect(FileManager.default.contents(atPath: target) == before)
  }

  // MARK: Both copies

  @Test func `both copies grow with each change, and only with a change`() async throws {
    try await stage.add(LicenceStage.held)
    var last = try #require(try await stored()).change
    #expect(last > 0)
    for minute in 1...5 as ClosedRange<Int64> {
      try await stage.library.noteTime(Self.now + 60 * minute)
      let row = try #require(try await stored())
      #expect(row.change == last + 1)
      #expect(row.seen == Self.now + 60 * minute)
      #expect(LedgerCopy.read(home) == row)
      #expect(try await stage.library.ledger() == row)
      last = row.change
    }
    let before = try bytes()
    try await stage.library.noteTime(Self.now + 359)
    try await stage.library.noteTime(Self.now)
    #expect(try await stored()?.change == last)
    #expect(try bytes() == before)
  }

  @Test func `of two copies the later one counts`() async throws {
    try await stage.add(LicenceStage.held)
    let first = try #require(try await stored())
    let old = try bytes()
    try await stage.library.noteTime(Self.now + 3_600)
    let later = try #require(try await stage.library.ledger())
    #expect(later.seen == Self.now + 3_600 && later.change == first.change + 1)
    // An older copy: the library's own counts.
    let new = try bytes()
    try put(old)
    #expect(try await stage.library.ledger() == later)
    // An older library: the copy counts, and the next change goes on from it.
    try put(new)
    try await stage.run(
      "UPDATE ledger SET change = ?, seen = ?, lag = ?, mac = ?",
      [
        .integer(first.change), .integer(first.seen), .integer(first.lag),
        .blob(first.code(by: home.identity)),
      ])
    #expect(try await stage.library.ledger() == later)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_664])
    try await stage.library.noteTime(Self.now + 7_200)
    #expect(try await stored()?.change == later.change + 1)
    #expect(LedgerCopy.read(home)?.seen == Self.now + 7_200)
  }

  /// A commit that failed leaves a copy that is ahead.
  @Test func `a copy that is ahead of its library is believed`() async throws {
    try await stage.add(LicenceStage.held)
    let row = try #require(try await stored())
    LedgerCopy.write(TimeLedger(seen: row.seen + 60, change: row.change + 1), home)
    #expect(try await stage.library.ledger()?.seen == row.seen + 60)
    #expect(try await stage.verdict().mayPlay)
    try await stage.library.noteTime(Self.now + 600)
    #expect(try await stored()?.change == row.change + 2)
  }

  @Test(arguments: ["gone", "edited"])
  func `without its copy the ledger stops dated licences until one renewal`(_ what: String) async throws {
    try await stage.add(LicenceStage.held)
    try await stage.add(LicenceStage.licence { $0.plays = Allowance(.value(2)) }, "undated")
    let before = try #require(try await stored())
    if what == "gone" {
      try FileManager.default.removeItem(atPath: path)
    } else {
      try put(bytes().map { ~$0 })
    }
    #expect(try await stage.library.ledger() == nil)
    // Time that passes mends nothing.
    try await stage.library.noteTime(Self.now + 7_200)
    #expect(try await stage.library.ledger() == nil)
    #expect(try await stage.verdict().reasons.map(\.code) == [-8_664])
    #expect(try await stage.verdict("undated").mayPlay)
    let keys = SecurityKeys(try DRMClientTests.settings())
    try await stage.renew(LicenceStage.result(.play, [#""result":1"#], keys))
    let healed = try #require(try await stage.library.ledger())
    #expect(healed.seen == Self.now)
    #expect(healed.change > before.change, "an older library could take its place")
    #expect(LedgerCopy.read(home) == healed)
    #expect(try await stage.verdict().mayPlay)
  }
}
