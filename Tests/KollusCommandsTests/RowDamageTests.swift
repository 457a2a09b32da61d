import Foundation
import Glibc
import JSONKit
import KollusTestSupport
import SQLiteKit
import SystemKit
import Testing

@testable import KollusCore

/// Rows of a sound database that hold what this program never wrote there, as a bit that turned on a disk leaves them.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RowDamageTests {
  let bench: LicenceStage
  let bytes = randomBytes(200_000)

  init() throws {
    bench = try LicenceStage()
    try bench.site.publish(OriginContent("plain", bytes: bytes))
  }

  private var mck: String { LicenceStage.mck }
  private var home: String { bench.tool.home }

  private func stock() async throws {
    await bench.download(.granted(plays: 7))
    await bench.run("download", "plain").expect(0)
  }

  private func edit(_ sql: String) throws { try Connection(path: "\(home)/library.db").execute(sql) }

  private func ready() async throws -> [String] {
    try await bench.commands.listed("--state", "ready").sorted()
  }

  private func expectAll() async throws {
    await bench.run("play-check", "plain", "--deep").expect(0)
    try await bench.check("--deep").expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 7)
    #expect(try await ready() == [mck, "plain"].sorted())
    await bench.run("doctor").expect(0)
  }

  @Test(arguments: ["'x' || substr(file_name, 2)", "''", "'../library.db'", "'/etc/passwd'"])
  func `a wrong name of a file is put right, for it follows from the key`(_ name: String) async throws {
    try await stock()
    try edit("UPDATE content SET file_name = \(name)")
    try await expectAll()
  }

  @Test func `a wrong key is put right from the file, with the licence that it has`() async throws {
    try await stock()
    try edit("UPDATE content SET mck = 'AbCd1235' WHERE mck = '\(mck)'")
    await bench.run("play-check", "AbCd1235").expect(65)
    #expect(await bench.run("doctor").status != 0)
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test(arguments: ["media_identity = 'x'", "file_size = file_size + 1"])
  func `a row that does not fit its file is not called ready by a check, and put right`(_ change: String)
    async throws
  {
    try await stock()
    try edit("UPDATE content SET \(change) WHERE mck = 'plain'")
    await bench.run("play-check", "plain").expect(65)
    #expect(try await ready() == [mck])
    await bench.run("doctor").expect(65)
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test func `the doctor finds rows that do not fit before anybody plays them`() async throws {
    try await stock()
    try edit("UPDATE content SET media_identity = 'x'")
    await bench.run("doctor").expect(65)
    #expect(try await ready() == [])
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test func `a wrong mark of the key does not lock the home whose media it opens`() async throws {
    try await stock()
    try edit("UPDATE device SET key_check = zeroblob(length(key_check))")
    let run = await bench.run("doctor").expect(78)
    #expect(run.output.contains("the key opens the media"))
    try await expectAll()
  }

  @Test func `a state that there is not is put right from the file`() async throws {
    try await stock()
    try edit("UPDATE content SET state = 'reade'")
    #expect(try await ready() == [])
    await bench.run("doctor").expect(65)
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test(arguments: ["http://127.0.0.1:9/nowhere", "htzp://x"])
  func `a wrong callback is put right from what the origin named`(_ address: String) async throws {
    try await stock()
    try edit("UPDATE content SET drm_callback = '\(address)' WHERE mck = '\(mck)'")
    #expect(await bench.run("doctor").status != 0)
    let fixed = await bench.run("doctor", "--fix")
    #expect(fixed.output.contains("its DRM callback is not the one"), "\(fixed)")
    bench.answer(3, .granted(plays: 7))
    await bench.run("renew", mck).expect(0)
    try await expectAll()
  }

  @Test func `a report in no state is found again and waits`() async throws {
    try await stock()
    try edit(
      """
      INSERT INTO report (viewing_id, stream, mck, client_user_id, start_at, play_status, url, body, state, created_at,
      attempts, next_at, not_before) VALUES (1, 0, 'plain', '', 1, 'play', 'http://127.0.0.1:9/lms', 'a=b', 'qending', 1,
      0, 0, 0)
      """)
    #expect(await bench.run("doctor").status != 0)
    #expect(await bench.run("doctor", "--fix").output.contains("1 reports are damaged"))
    let list = try await bench.run("lms", "list", "--json").expect(0).json
    #expect(try list.elements.map { try $0.string("state") } == ["pending"])
  }

  @Test(arguments: [7, 4, 2, 0, 70, -6])
  func `a wrong number of the schema is told and put right`(_ version: Int) async throws {
    try await stock()
    try edit("PRAGMA user_version = \(version)")
    await bench.run("doctor").expect(65)
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test(arguments: [
    "events.jsonl", "events.1.jsonl", "locks", "clock", "ballast", "media/.kollus", "device.key.copy",
  ])
  func `a pipe in place of a file holds nobody up`(_ name: String) async throws {
    try await stock()
    try? Files.remove("\(home)/\(name)")
    #expect(mkfifo("\(home)/\(name)", 0o600) == 0)
    await bench.run("list").expect(name == "locks" ? 74 : 0)
    #expect([0, 74].contains(await bench.run("events").status))
    #expect(await bench.run("doctor").status != 0)
    await bench.run("doctor", "--fix").expect(0)
    try await expectAll()
  }

  @Test func `a renewal beside a repair keeps what it got`() async throws {
    try await stock()
    let callback = bench.callback
    let home = try Home(opening: home, machineID: bench.commands.machineID)
    callback.answer { item in
      // While the server thinks, a check finds the file damaged.
      if item.kind == 3 { try? Connection(path: home.libraryPath).execute(Self.damage) }
      return item.kind == 3 ? .granted(plays: 5) : .init()
    }
    await bench.run("renew", mck).expect(0)
    await bench.run("verify", "--repair", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 5)
  }

  @Test func `a damaged content can be renewed, and plays after its repair`() async throws {
    try await stock()
    try edit(Self.damage)
    bench.answer(3, .granted(plays: 5))
    await bench.run("renew", "--all").expect(0)
    await bench.run("renew", mck).expect(0)
    #expect(bench.kinds == [1, 2, 3, 3])
    await bench.run("verify", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 5)
  }

  @Test(arguments: ["remove", "cancel"])
  func `what cannot be removed stays as it was`(_ command: String) async throws {
    try await stock()
    let path = "\(home)/media/\(Home.mediaName(of: "plain"))"
    if command == "cancel" { try edit("UPDATE content SET state = 'fetching' WHERE mck = 'plain'") }
    let aside = TemporaryDirectory.path + "/aside"
    try FileManager.default.moveItem(atPath: path, toPath: aside)
    try Files.makeFolder(path + "/more")
    await bench.run(command, "plain").expect(74)
    #expect(try await bench.commands.listed().contains("plain"))
    #expect(try await !bench.commands.listed("--state", "cancelled").contains("plain"))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: aside, toPath: path)
    await bench.run("download", "plain").expect(0)
    try await expectAll()
  }

  enum PictureFault: CaseIterable { case deleted, emptied, changed, folder }

  @Test(arguments: PictureFault.allCases)
  func `a picture that is lost is told and fetched again`(_ fault: PictureFault) async throws {
    let picture = randomBytes(3_000)
    bench.site.answer("/snapshot.jpg", with: ScriptedServer.object(picture, etag: nil, type: "image/jpeg"))
    try bench.site.publish(
      OriginContent("plain", bytes: bytes).with {
        $0.members["snapshot"] = .some(#"{"url":"\#(bench.site.url)/snapshot.jpg","size":3000}"#)
      })
    await bench.run("download", "plain").expect(0)
    let path = "\(home)/media/\(Home.mediaName(of: "plain")).snapshot"
    #expect(try Array(Data(contentsOf: URL(filePath: path))) == picture)
    switch fault {
    case .deleted: try Files.remove(path)
    case .emptied: try Data().write(to: URL(filePath: path))
    case .changed: try Data(picture.dropLast()).write(to: URL(filePath: path))
    case .folder:
      try Files.remove(path)
      try Files.makeFolder(path)
      await bench.run("remove", "plain").expect(74)
    }
    if fault == .changed {
      await bench.run("verify", "--repair").expect(0)
    } else {
      await bench.run("doctor").expect(fault == .folder ? 1 : 65)
      await bench.run("doctor", "--fix").expect(0)
    }
    #expect(try Array(Data(contentsOf: URL(filePath: path))) == picture)
    await bench.run("play-check", "plain", "--deep").expect(0)
    await bench.run("remove", "plain", "plain").expect(0)
  }

  @Test func `a link in place of the mark of the media makes nothing elsewhere`() async throws {
    try await stock()
    let target = TemporaryDirectory.path + "/elsewhere"
    try Files.remove("\(home)/media/.kollus")
    try FileManager.default.createSymbolicLink(atPath: "\(home)/media/.kollus", withDestinationPath: target)
    await bench.run("list").expect(0)
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  private static let damage = """
    UPDATE content SET state = 'failed', error_kind = 'badData', error_code = -8646, error_message = 'x', \
    file_stamp = 0, download_size = 0 WHERE mck = '\(LicenceStage.mck)'
    """
}
