import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Licences edited by hand, older libraries put back, other machines: refused with the reason, healed by one renewal.
@Suite(
  .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: LicenceStage.hasShell)
) struct LicenceTamperTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }
  private var library: String { "\(bench.tool.home)/library.db" }

  private func download(plays: Int = 3) async throws {
    await bench.download(.granted(until: LicenceStage.now + 86_400, plays: plays, seconds: 600))
    try await bench.check().expect(0, [])
  }

  @Test(arguments: [
    "expiration_date = 1893455999", "expiration_date = NULL", "expiration_date = 0",
    "expiration_count = 1000", "expiration_count = 0", "expiration_count = NULL", "used_count = 1",
    "used_count = -5", "expiration_playtime = 604800", "used_playtime = -9223372036854775808",
    "expiration_playtime_type = 1", "check_expiration_date = 1893455999", "expired = -8658", "expired = 1",
    "expiration_refresh_popup = 1", "vmcheck = 0", "check_abuse = 1", "bookmark_download = 2",
    "is_complete = 0", "generation = 1", "generation = 9223372036854775807", "player_id = 'me'",
    "mac = x''",
    "mac = x'0000000000000000000000000000000000000000000000000000000000000000'",
  ])
  func `an edited row is refused, and one renewal heals it`(_ change: String) async throws {
    try await download()
    try bench.edit("UPDATE licence SET \(change)")
    #expect(try await bench.commands.listed("--expired") == [mck])
    #expect(await bench.run("show", mck).expect(0).output.contains("-8646"))
    try await bench.expectHealing("tampered", -8646, "its row in the library was changed")
  }

  @Test(arguments: [
    Entry(["result": "1", "expiration_count": "7"]), Entry(["result": "1", "expiration_date": "1893455999"]),
    Entry(), Entry(["result": "0"]),
    Entry(["result": "1", "content_expire_reset": "1", "session_key": #""x""#]),
    .missing,
  ])
  func `an answer without a reset does not bless an edited row`(_ entry: Entry) async throws {
    try await download()
    try bench.edit("UPDATE licence SET expiration_count = 1000")
    bench.answer(3, entry)
    #expect(await bench.run("renew", mck).status != 0)
    try await bench.expectHealing("tampered", -8646)
  }

  @Test func `a forced expiry is not undone by a deleted row`() async throws {
    try await download()
    bench.answer(3, .init(["result": "1", "content_expired": "1"]))
    await bench.run("renew", mck).expect(77)
    try bench.edit("DELETE FROM licence")
    try await bench.check().expect(77, [("tampered", -8646)])
    await bench.run("renew", mck).expect(77)
    try await bench.check().expect(77, [("forced", -8658)])
    try await bench.expectHealing("forced", -8658)
  }

  @Test(arguments: [
    "DELETE FROM licence", "UPDATE content SET needs_licence = 0; DELETE FROM licence",
    "UPDATE content SET needs_licence = 0, drm_callback = drm_callback; DELETE FROM licence; DELETE FROM exchange",
  ])
  func `a licence that is gone is missed, and one renewal heals it`(_ sql: String) async throws {
    try await download()
    try bench.edit(sql)
    try await bench.expectHealing("tampered", -8646, "needs a licence and none is stored")
    await bench.run("export", mck, "-o", TemporaryDirectory.path + "/x").expect(77)
  }

  @Test func `that no licence is needed is not believed`() async throws {
    await bench.download(.granted(until: LicenceStage.now + 60))
    try bench.edit("UPDATE content SET needs_licence = 0")
    try await bench.check().expect(0, [])
    try await bench.later(120).check().expect(77, [("date", -8643)])
    await bench.run("export", mck, "-o", TemporaryDirectory.path + "/x").expect(77)
    bench.answer(3, .granted())
    await bench.run("renew", "--all").expect(0)
    #expect(bench.kinds == [1, 2, 3])
  }

  @Test func `a licence that is gone is renewed with all others`() async throws {
    try await download()
    try bench.edit("UPDATE content SET needs_licence = 0; DELETE FROM licence")
    #expect(try await bench.commands.listed("--expired") == [mck])
    bench.answer(3, .granted(plays: 9))
    await bench.run("renew", "--all").expect(0)
    try await bench.check().expect(0, [])
  }

  @Test func `the licence of another content does not fit`() async throws {
    try await download()
    try bench.publish("b")
    bench.answer(1, .granted(plays: 1_000))
    await bench.run("download", "b").expect(0)
    try bench.edit(
      """
      CREATE TEMP TABLE other AS SELECT * FROM licence WHERE content_id = 2; UPDATE other SET content_id = 1;
      REPLACE INTO licence SELECT * FROM other
      """)
    try await bench.check().expect(77, [("tampered", -8646)], "its row in the library was changed")
    await bench.run("play-check", "b").expect(0)
  }

  // MARK: Steps that were skipped

  /// Leaves a download behind whose completion nobody took yet.
  private func fetch() async throws {
    bench.callback.override { request, answer in
      String(decoding: request.body, as: UTF8.self).contains("%22kind%22%3A2")
        ? DRMCallback.answer("no token") : answer
    }
    await bench.run("download", mck).expect(65)
    bench.callback.override(nil)
  }

  @Test(arguments: [
    "", ", download_size = file_size, error_kind = NULL, error_code = NULL, error_message = NULL",
  ])
  func `a content that was made ready by hand is refused without its completion`(_ more: String) async throws
  {
    try await fetch()
    try bench.edit("UPDATE content SET state = 'ready'\(more)")
    try await bench.expectHealing("tampered", -8646, "completion")
  }

  @Test(arguments: ["UPDATE licence SET is_complete = 1", "DELETE FROM licence"])
  func `an approval that was changed is asked for anew`(_ sql: String) async throws {
    try await fetch()
    try bench.edit(sql)
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 1, 2])
    try await bench.check().expect(0, [])
  }

  @Test func `an approval is of one player id`() async throws {
    try await fetch()
    await bench.run("identity", "new").expect(0)
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 1, 2])
    #expect(Set(bench.callback.items.compactMap { $0.text("player_id") }).count == 2)
    try await bench.check().expect(0, [])
  }

  // MARK: The ledger

  @Test(arguments: [
    "UPDATE ledger SET seen = seen - 3600", "UPDATE ledger SET lag = 3600", "UPDATE ledger SET mac = x''",
    "DELETE FROM ledger", "UPDATE ledger SET seen = -1", "UPDATE ledger SET seen = 9223372036854775807",
  ])
  func `an edited ledger is refused for dated licences, and one renewal heals it`(_ sql: String) async throws
  {
    try await download()
    try bench.publish("undated")
    bench.callback.answer { _ in .init() }
    await bench.run("download", "undated").expect(0)
    try bench.edit(sql)
    await bench.run("play-check", "undated").expect(0)
    try await bench.check().expect(77, [("clock", -8664)], "the record of the time last seen")
    bench.callback.answer { _ in .init() }
    await bench.run("renew", mck).expect(0)
    try await bench.check().expect(0, [])
  }

  // MARK: Older libraries

  /// Keeps a copy of the library, as an operator makes it after a clean exit.
  private func backUp() throws {
    try FileManager.default.copyItem(atPath: library, toPath: library + ".old")
  }

  private func putBack() throws {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: library + suffix) }
    try FileManager.default.copyItem(atPath: library + ".old", toPath: library)
  }

  @Test func `yesterday's library is refused after a renewal, and one renewal heals it`() async throws {
    try await download()
    try backUp()
    bench.answer(3, .init(["result": "1", "expiration_count": "1"]))
    await bench.run("renew", mck).expect(0)
    #expect(try await bench.shown().integer("drmExpireCount") == 1)
    try putBack()
    try await bench.expectHealing("tampered", -8646, "an older library was put back")
  }

  @Test func `yesterday's library does not undo a forced expiry`() async throws {
    try await download()
    try backUp()
    bench.answer(3, .init(["result": "1", "content_expired": "1"]))
    await bench.run("renew", mck).expect(77)
    try putBack()
    bench.answer(3, .init())
    await bench.run("renew", mck).expect(77)
    try await bench.expectHealing("tampered", -8646, "an older library was put back")
  }

  @Test func `an honest restore loses nothing`() async throws {
    try await download()
    try bench.publish("b")
    bench.callback.answer { _ in .init() }
    await bench.run("download", "b").expect(0)
    try backUp()
    await bench.run("renew", "b").expect(0)
    try putBack()
    try await bench.check().expect(0, [])
    await bench.run("play-check", "b").expect(77)
    // A restore over another restore, and the same library twice.
    try putBack()
    try await bench.check().expect(0, [])
  }

  // MARK: Media files

  @Test func `a media file whose slots were wiped is refused, and one renewal heals it`() async throws {
    try await download()
    try bench.changeMedia { file in
      try file.seek(toOffset: 4_096)
      try file.write(contentsOf: Data(count: 8_192))
    }
    try await bench.expectHealing("tampered", -8646, "the media file's own record")
  }

  @Test func `slots with noise are refused, and one renewal heals it`() async throws {
    try await download()
    try bench.changeMedia { file in
      try file.seek(toOffset: 4_096)
      try file.write(contentsOf: Data(randomBytes(8_192)))
    }
    try await bench.expectHealing("tampered", -8646, "the media file's own record")
  }

  @Test func `the media file of another content is damage`() async throws {
    try await download()
    let path = try bench.mediaFile()
    try bench.publish("b")
    await bench.run("download", "b").expect(0)
    let other = try #require(try bench.commands.sealedFiles().first { $0 != path })
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: other, toPath: path)
    let check = try await bench.check()
    #expect(check.status == 65)
    #expect(try check.reasons().contains { $0.name == "damaged" })
    await bench.run("download", mck).expect(0)
    try await bench.check().expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 3)
  }

  @Test func `a used-up licence does not come back by an older copy of the media file`() async throws {
    try await download()
    let path = try bench.mediaFile()
    try FileManager.default.copyItem(atPath: path, toPath: path + ".old")
    bench.answer(3, .init(["result": "1", "content_expired": "1"]))
    await bench.run("renew", mck).expect(77)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: path + ".old", toPath: path)
    try await bench.check().expect(77, [("forced", -8658)])
  }

  // MARK: Other machines

  @Test func `a home on another machine says so, and a new identity keeps the contents`() async throws {
    try await download()
    let elsewhere = bench.commands.with { $0.machineID = "machine-2" }
    for words in [["play-check", mck], ["renew", mck], ["list"], ["show", mck]] {
      let run = await elsewhere.run(words).expect(78)
      #expect(run.errors.contains("other device") && run.errors.contains("kollus identity new"))
    }
    var moved = bench
    moved.commands = elsewhere
    await moved.run("identity", "new").expect(0)
    #expect(try await elsewhere.listed() == [mck])
    try await moved.check().expect(77, [("tampered", -8646)], "another player id")
    #expect(try await elsewhere.listed("--expired") == [mck])
    // It is a true licence, so that the server's plain yes is enough.
    bench.answer(3, .init())
    await moved.run("renew", mck).expect(0)
    let item = try #require(bench.callback.items.last)
    #expect(item.text("player_id") == (try await moved.run("identity", "--json").json.string("playerID")))
    #expect(item.number("content_expired") == 1)
    try await moved.check("--deep").expect(0, [])
    #expect(try await moved.shown().integer("drmExpireCount") == 3)
    await bench.run("play-check", mck).expect(78)
  }
}
