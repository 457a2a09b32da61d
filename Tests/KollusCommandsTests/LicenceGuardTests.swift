import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// What remembers a licence besides its row: the media file, the sealed source, the second copy of the time ledger.
@Suite(
  .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: LicenceStage.hasShell)
) struct LicenceGuardTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }
  private var library: String { "\(bench.tool.home)/library.db" }
  private var clock: String { "\(bench.tool.home)/clock" }
  private let files = FileManager.default

  // MARK: The need of a licence

  /// Where the callback of the content was named.
  static let origins = ["manifest", "configuration"]

  private func configure(_ callback: DRMCallback?) throws {
    var settings = try DRMCallback.settings()
    settings["origin"] = bench.site.url.jsonQuoted
    settings["retries"] = "0"
    settings["drmCallback"] = callback?.url.jsonQuoted
    try bench.tool.configure(settings)
  }

  private func download(_ origin: String) async throws {
    if origin == "configuration" {
      try configure(bench.callback)
      // Of several segments, so that one damaged leaves a file to repair.
      try bench.site.publish(OriginContent(mck, bytes: bench.bytes).with { $0.segmentSize = 65_536 })
    }
    await bench.download(.granted(plays: 3))
    try await bench.check().expect(0, [])
  }

  /// Wipes all that the library knows of the licence.
  private func wipeRows() throws {
    try bench.edit("DELETE FROM licence; UPDATE content SET needs_licence = 0, drm_callback = ''")
  }

  /// Wipes what the media file knows of it, but for its sealed header.
  private func wipeSlots() throws {
    try bench.changeMedia { file in
      try file.seek(toOffset: 4_096)
      try file.write(contentsOf: Data(count: 8_192))
    }
  }

  private func expectHeld(at location: SourceLocation = #_sourceLocation) async throws {
    try await bench.check().expect(77, [("tampered", -8646)], at: location)
    let path = TemporaryDirectory.path + "/plain"
    await bench.run("export", mck, "-o", path).expect(77, at: location)
    #expect(!files.fileExists(atPath: path), sourceLocation: location)
    #expect(try await bench.commands.listed("--expired") == [mck], sourceLocation: location)
    let shown = await bench.run("show", mck).expect(0, at: location)
    #expect(shown.output.contains("needs a licence and none is stored"), sourceLocation: location)
    let json = try await bench.shown()
    #expect(try json.bool("licenceNeeded") == true, sourceLocation: location)
    #expect(try json.bool("DRMExpired") == true, sourceLocation: location)
    #expect(bench.kinds == [1, 2], sourceLocation: location)
  }

  @Test(arguments: origins)
  func `a content is not freed by wiping rows and slots, and renewed by name`(_ origin: String) async throws {
    try await download(origin)
    try wipeRows()
    try wipeSlots()
    try await expectHeld()
    bench.answer(3, .granted(plays: 9))
    await bench.run("renew", mck).expect(0)
    #expect(bench.kinds == [1, 2, 3])
    try await bench.check().expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 9)
    await bench.run("export", mck, "-o", "/dev/null").expect(77)
    // The licence is back in all its places: the row may be lost again.
    try wipeRows()
    try await bench.check().expect(77, [("tampered", -8646)])
  }

  @Test(arguments: origins, ["renew --all", "renew", "play-check AbCd1234 --renew"])
  func `a content is not freed by wiping rows, and found by its file's number`(
    _ origin: String, _ words: String
  ) async throws {
    try await download(origin)
    try wipeRows()
    try await expectHeld()
    let plan = await bench.run("renew", "--all", "--dry-run", "--json").expect(0)
    #expect(try plan.json.elements.map { try $0.string("mediaContentKey") } == [mck])
    bench.answer(3, .granted(plays: 9))
    await bench.commands.run(words.split(separator: " ").map(String.init)).expect(0)
    #expect(bench.kinds == [1, 2, 3])
    try await bench.check().expect(0, [])
  }

  @Test func `a repair does not forget that a licence is needed`() async throws {
    try await download("configuration")
    try wipeRows()
    try configure(nil)
    try bench.damage()
    await bench.run("verify", mck).expect(65)
    await bench.run("download", mck)
    #expect(bench.kinds == [1, 2])
    #expect(try await bench.check().status != 0)
    await bench.run("export", mck, "-o", "/dev/null").expect(77)
  }

  @Test func `the callback comes from the sealed source, not from the configuration`() async throws {
    try await download("manifest")
    let other = try DRMCallback { _ in .granted() }
    try configure(other)
    try wipeRows()
    bench.answer(3, .granted(plays: 9))
    await bench.run("renew", mck).expect(0)
    #expect(bench.kinds == [1, 2, 3])
    #expect(other.items.isEmpty, "a local file took the place of the school's server")
  }

  @Test func `without any callback the renewal says so and the content stays held`() async throws {
    try await download("configuration")
    try wipeRows()
    try wipeSlots()
    try configure(nil)
    #expect(await bench.run("renew", mck).expect(78).errors.contains("callback"))
    try await expectHeld()
  }

  // MARK: What the file knows

  private func backUp() throws { try files.copyItem(atPath: library, toPath: library + ".old") }

  private func putBack() throws {
    for suffix in ["", "-wal", "-shm"] where files.fileExists(atPath: library + suffix) {
      try files.removeItem(atPath: library + suffix)
    }
    try files.copyItem(atPath: library + ".old", toPath: library)
  }

  /// `show` and `list --expired` say what `play-check` says.
  private func expectShown(_ words: String, at location: SourceLocation = #_sourceLocation) async throws {
    try await bench.check().expect(77, [("tampered", -8646)], words, at: location)
    #expect(try await bench.commands.listed("--expired") == [mck], sourceLocation: location)
    #expect(await bench.run("list", "--expired").output.contains(mck), sourceLocation: location)
    let shown = await bench.run("show", mck).expect(0, at: location).output
    #expect(shown.contains(words) && shown.contains("-8646"), "\(shown)", sourceLocation: location)
    #expect(try await bench.shown().bool("DRMExpired") == true, sourceLocation: location)
  }

  @Test func `an older library is told by show and list`() async throws {
    try await download("manifest")
    try backUp()
    bench.answer(3, .init(["result": "1", "expiration_count": "1"]))
    await bench.run("renew", mck).expect(0)
    try putBack()
    try await expectShown("an older library was put back")
  }

  @Test func `wiped slots are told by show and list`() async throws {
    try await download("manifest")
    try wipeSlots()
    try await expectShown("the media file's own record")
  }

  /// Zeroes the header and its copy, with the key in them.
  private func loseHeader() throws {
    try bench.changeMedia { file in
      try file.write(contentsOf: Data(count: 4_096))
      try file.seek(toOffset: try file.seekToEnd() - 4_096)
      try file.write(contentsOf: Data(count: 4_096))
    }
  }

  @Test(arguments: [true, false])
  func `a media file without its header is marked damaged by a check`(_ isLicensed: Bool) async throws {
    if !isLicensed { try bench.site.publish(OriginContent(mck, bytes: bench.bytes)) }
    await bench.download(.granted(plays: 3))
    try loseHeader()
    #expect(try await bench.check().status == 65)
    let list = try await bench.run("list", "--json").expect(0).json
    #expect(try list.elements.map { try $0.string("state") } == ["failed"])
    #expect(await bench.run("list").output.contains("failed"))
    let again = try await bench.check()
    #expect(again.status == 65)
    #expect(try again.reasons().contains { $0.name == "damaged" && $0.code == -8646 })
    await bench.run("download", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
  }

  /// What the library does not read it learns of by the time stamp.
  @Test(
    arguments: [
      ("", false), ("list", false), ("play-check", true), ("play-check", false), ("verify", true),
      ("verify", false), ("renew", false),
    ])
  func `a licensed content without its header is a new download, whoever finds out first`(
    _ finder: String, _ keepsStamp: Bool
  ) async throws {
    try await download("manifest")
    try loseHeader()
    if !keepsStamp { try files.setAttributes([.modificationDate: Date()], ofItemAtPath: bench.mediaFile()) }
    if !finder.isEmpty { _ = await bench.commands.run(finder == "list" ? [finder] : [finder, mck]) }
    let before = bench.site.mediaBytes(of: mck)
    let asked = bench.kinds
    bench.answer(1, .init(["result": "0", "message": #""Not again.""#]))
    for _ in 0..<2 {
      #expect(await bench.run("download", mck).expect(69).errors.contains("Not again."))
    }
    #expect(bench.kinds == asked + [1, 1])
    #expect(bench.site.mediaBytes(of: mck) == before, "fetched without an approval")
    #expect(try await bench.check().status == 65)
    bench.answer(1, .granted(plays: 5))
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == asked + [1, 1, 1, 2])
    #expect(try await bench.shown().integer("drmExpireCount") == 5)
    try await bench.check("--deep").expect(0, [])
  }

  // MARK: The time ledger's second copy

  private static let hour = 3_600

  private func downloadDated() async throws {
    await bench.download(.granted(until: LicenceStage.now + 7 * 86_400))
    try bench.publish("undated")
    bench.callback.answer { _ in .init() }
    await bench.run("download", "undated").expect(0)
    try await bench.check().expect(0, [])
  }

  /// The ledger does not let the dated licence play until one renewal; the other one plays on.
  private func expectClock(_ words: String, at location: SourceLocation = #_sourceLocation) async throws {
    await bench.run("play-check", "undated").expect(0, at: location)
    try await bench.check().expect(77, [("clock", -8664)], words, at: location)
    let list = await bench.run("list").expect(0, at: location)
    #expect(list.output.contains("refused: clock"), sourceLocation: location)
    #expect(try await bench.commands.listed("--expired").contains(mck), sourceLocation: location)
    bench.answer(3, .init())
    await bench.run("renew", mck).expect(0, at: location)
    try await bench.check().expect(0, [], at: location)
    try await bench.later(120).check().expect(0, [], at: location)
    try await bench.check().expect(0, [], at: location)
  }

  @Test func `an older library put back with the clock set back is refused`() async throws {
    try await downloadDated()
    try backUp()
    try await bench.later(Self.hour).check().expect(0, [])
    try putBack()
    try await expectClock("behind a time already seen")
  }

  @Test(arguments: [
    "gone", "empty", "cut", "number", "time", "lag", "code", "zeros", "of another home",
  ])
  func `a copy that is gone or was edited counts as an edited ledger`(_ what: String) async throws {
    try await downloadDated()
    var bytes = try #require(files.contents(atPath: clock))
    #expect(bytes.count == 56)
    switch what {
    case "gone": try files.removeItem(atPath: clock)
    case "empty": bytes = Data()
    case "cut": bytes.removeLast()
    case "number": bytes[0] ^= 1
    case "time": bytes[8] ^= 1
    case "lag": bytes[16] ^= 1
    case "code": bytes[24] ^= 1
    case "zeros": bytes = Data(count: 56)
    default:
      let stage = try CommandStage(origin: bench.site.url, name: "other", DRMCallback.settings())
      await stage.run("download", mck).expect(0)
      bytes = try #require(files.contents(atPath: "\(stage.tool.home)/clock"))
    }
    if what != "gone" { try bytes.write(to: URL(fileURLWithPath: clock)) }
    try await expectClock("the record of the time last seen")
    #expect(files.contents(atPath: clock)?.count == 56)
  }

  @Test func `an older copy put back changes nothing`() async throws {
    try await downloadDated()
    let old = try #require(files.contents(atPath: clock))
    try await bench.later(Self.hour).check().expect(0, [])
    #expect(files.contents(atPath: clock) != old)
    try old.write(to: URL(fileURLWithPath: clock))
    try await bench.later(Self.hour).check().expect(0, [])
    try await expectClock("behind a time already seen")
  }

  @Test(arguments: ["", "DELETE FROM ledger", "UPDATE ledger SET change = 0"])
  func `a copy made anew is not outdone by an older library`(_ sql: String) async throws {
    try await downloadDated()
    try bench.publish("other")
    await bench.run("download", "other").expect(0)
    for minute in 1...9 { try await bench.later(minute * 120).check().expect(0, []) }
    try backUp()
    try files.removeItem(atPath: clock)
    if !sql.isEmpty { try bench.edit(sql) }
    // A renewal of another content makes the ledger anew.
    await bench.at(LicenceStage.now + Self.hour).run("renew", "other").expect(0)
    bench.callback.override(nil)
    try putBack()
    try await expectClock("behind a time already seen")
  }

  // MARK: Dates in lists

  @Test(arguments: [
    (1_893_455_999, "UTC", "2029-12-31"), (1_893_455_999, "Asia/Seoul", "2030-01-01"),
    (1_893_376_800, "UTC", "2029-12-31"), (1_893_376_800, "America/Los_Angeles", "2029-12-30"),
  ])
  func `list tells dates in local time`(_ date: Int, _ zone: String, _ text: String) async throws {
    bench.answer(1, .granted(until: date))
    (try await bench.tool.run("download", mck)).expect(0)
    var tool = bench.tool
    tool.environment["TZ"] = zone
    let list = try await tool.run("list")
    list.expect(0)
    #expect(list.standardOutput.contains("until \(text)"), "\(list.standardOutput)")
  }
}
