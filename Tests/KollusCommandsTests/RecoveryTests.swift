import Foundation
import JSONKit
import KollusTestSupport
import SQLiteKit
import SystemKit
import Testing

@testable import KollusCore

/// A home of which a part was lost: what is wrong is said, nothing is taken for sound that is not, and the doctor brings
/// back what can be had.
@Suite(.temporaryDirectory, .timeLimit(.minutes(2))) struct RecoveryTests {
  let bench: LicenceStage

  init() throws {
    bench = try LicenceStage()
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes).with { $0.title = "1강. 소리와 빛" })
  }

  var mck: String { LicenceStage.mck }
  var home: String { bench.tool.home }
  var database: String { "\(home)/library.db" }

  /// One content without a callback, one under a licence.
  func stock() async throws {
    await bench.run("download", "plain", "--folder", "물리/1").expect(0)
    await bench.download(.granted(plays: 7))
  }

  func damage(_ path: String, _ change: (FileHandle) throws -> Void) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try change(file)
    try file.close()
  }

  func loseLibrary() throws {
    for suffix in ["", "-wal", "-shm"] { try Files.remove(database + suffix) }
  }

  func expectPlain(at location: SourceLocation = #_sourceLocation) async throws {
    await bench.run("play-check", "plain", "--deep").expect(0, at: location)
    let target = "\(TemporaryDirectory.path)/exported"
    await bench.run("export", "plain", "-o", target).expect(0, at: location)
    #expect(try Array(Data(contentsOf: URL(filePath: target))) == bench.bytes, sourceLocation: location)
  }

  @discardableResult
  func doctor(_ words: String...) async -> CommandStage.Run {
    await bench.commands.run(["doctor"] + words)
  }

  // MARK: A library that is gone

  enum Loss: CaseIterable { case deleted, emptied, deletedWithoutItsLog }

  @Test(arguments: Loss.allCases, ["list", "play-check", "doctor"])
  func `a lost library is found again from its files`(_ loss: Loss, _ first: String) async throws {
    try await stock()
    switch loss {
    case .deleted: try loseLibrary()
    case .emptied:
      try loseLibrary()
      try Files.write([], to: database)
    case .deletedWithoutItsLog:
      try loseLibrary()
      try Files.write([1, 2, 3], to: "\(database)-wal")
    }
    switch first {
    case "doctor":
      #expect(await doctor().expect(65).output.contains("the library is gone"))
      await doctor("--fix").expect(0)
    case "list":
      let run = await bench.run("list").expect(0)
      #expect(run.errors.contains("2 contents were found again from their files, 1 of them need a renewal"))
      #expect(run.output.contains("1강. 소리와 빛"))
    default:
      // Plays at once, and what needs a licence does not.
      await bench.run("play-check", "plain").expect(0)
    }
    try await expectPlain()
    #expect(try await bench.commands.listed().sorted() == [mck, "plain"].sorted())
    try await bench.expectHealing("tampered", -8646)
    if loss == .deletedWithoutItsLog {
      let kept = try FileManager.default.subpathsOfDirectory(atPath: "\(home)/aside")
      #expect(kept.contains { $0.hasSuffix("/library.db-wal") })
    }
  }

  @Test func `used up counters do not come back with a new library`() async throws {
    await bench.run("download", "plain").expect(0)
    await bench.download(.granted(plays: 1))
    try loseLibrary()
    try await bench.check().expect(77, [("tampered", -8646)])
    bench.answer(3, .init())
    // An answer without a reset grants nothing that is not known.
    await bench.run("renew", mck).expect(77)
    try await bench.check().expect(77, [("tampered", -8646)])
    bench.answer(3, .granted(plays: 2))
    await bench.run("renew").expect(0)
    try await bench.check().expect(0, [])
  }

  @Test func `who it was downloaded for is found again too`() async throws {
    answerAll()
    await bench.run("download", mck, "--cuid", "learner-9", "--uservalue", "3=course").expect(0)
    try loseLibrary()
    bench.answer(3, .granted(plays: 2))
    await bench.run("renew", "--all").expect(0)
    let item = try #require(bench.callback.items(of: mck).last)
    #expect(item.json.rawText.contains(#""client_user_id":"learner-9""#))
    #expect(item.json.rawText.contains(#""uservalue3":"course""#))
  }

  private func answerAll() { bench.answer(1, .granted(plays: 7)) }

  @Test func `an unfinished download is not taken for a whole one, and goes on`() async throws {
    let content = OriginContent("long", bytes: randomBytes(6 << 16)).with { $0.segmentSize = 1 << 16 }
    try bench.site.publish(content)
    bench.site.answerMedia(of: "long") { content.handler($0).cut(after: 100_000) }
    await bench.run("download", "long", "--connections", "1").expect(75)
    try loseLibrary()
    let list = try await bench.run("list", "--json").expect(0).json
    let item = try #require(Array(list.elements).first)
    #expect(try item.string("state") == "registered")
    #expect(try item.integer("downloadSize") ?? 0 > 0)
    bench.site.answerMedia(of: "long", with: content.handler)
    let sent = bench.site.mediaBytes(of: "long")
    await bench.run("download", "long").expect(0)
    #expect(bench.site.mediaBytes(of: "long") - sent < 6 << 16)
    await bench.run("play-check", "long", "--deep").expect(0)
  }

  @Test func `files that no row names are found by the doctor, under whatever name`() async throws {
    try await stock()
    let stage = try CommandStage(origin: bench.site.url, name: "other", DRMCallback.settings())
    try Files.makeFolder(stage.tool.home)
    try Files.copy("\(home)/device.key", to: "\(stage.tool.home)/device.key")
    await stage.run("list").expect(0)
    let media = "\(stage.tool.home)/media"
    try Files.makeFolder(media)
    for (number, path) in try bench.commands.sealedFiles().enumerated() {
      try Files.copy(path, to: "\(media)/\(number).sealed")
    }
    try Files.write([1, 2, 3], to: "\(media)/stranger.sealed")
    let found = await stage.run("doctor").expect(1)
    #expect(found.output.contains("3 sealed files are in no row"))
    #expect(try await stage.listed() == [])
    let fixed = await stage.run("doctor", "--fix")
    #expect(fixed.status == 0, "\(fixed)")
    #expect(try await stage.listed().sorted() == [mck, "plain"].sorted())
    await stage.run("play-check", "plain", "--deep").expect(0)
    await stage.run("play-check", mck).expect(77)
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: "\(media)/aside").contains {
        $0.hasSuffix("stranger.sealed")
      })
  }

  // MARK: A library that is damaged

  enum Damage: CaseIterable { case zeroed, magic, cut, noise, text }

  private func damageLibrary(_ damage: Damage) throws {
    try self.damage(database) { file in
      let size = try file.seekToEnd()
      switch damage {
      case .zeroed:
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(count: Int(size)))
      case .magic:
        try file.seek(toOffset: 3)
        try file.write(contentsOf: Data([0]))
      case .cut: try file.truncate(atOffset: size / 2)
      case .noise:
        for page in stride(from: UInt64(4_096), to: size, by: 3 * 4_096) {
          try file.seek(toOffset: page)
          try file.write(contentsOf: Data(randomBytes(200)))
        }
      case .text: try file.truncate(atOffset: 0); try file.write(contentsOf: Data("not a database".utf8))
      }
    }
  }

  @Test(arguments: Damage.allCases)
  func `a damaged library is told, kept, and what reads of it is saved`(_ damage: Damage) async throws {
    try await stock()
    try mark()
    try damageLibrary(damage)
    let damaged = try Data(contentsOf: URL(filePath: database))
    let run = await bench.run("list")
    if damage != .noise { run.expect(65) }
    if run.status != 0 { #expect(run.errors.contains("doctor --fix"), "\(run.errors)") }
    await doctor().expect(65)
    #expect(try Data(contentsOf: URL(filePath: database)) == damaged)
    await doctor("--fix").expect(0)
    await doctor().expect(0)
    let kept = try FileManager.default.subpathsOfDirectory(atPath: "\(home)/aside").filter {
      $0.hasSuffix("library.db")
    }
    #expect(try kept.map { try Data(contentsOf: URL(filePath: "\(home)/aside/\($0)")) } == [damaged])
    try await expectPlain()
    let check = try await bench.check()
    if check.status == 0 {
      #expect(try await bench.shown().integer("drmExpireCount") == 7)
    } else {
      try await bench.expectHealing("tampered", -8646)
    }
    // Nothing but the magic was lost: all of it is there again.
    if damage == .magic {
      #expect(check.status == 0)
      #expect(try await bench.commands.listed("--folder", "물리") == ["plain"])
      #expect(try marks() == 1)
    }
  }

  /// As one turned bit does in the text of the schema, or in its number.
  @Test(
    arguments: [
      ("batch INTEGER NOT NULL", "batgh INTEGER NOT NULL"),
      ("snapshot TEXT NOT NULL", "snapshmt TEXT NOT NULL"),
      ("WHERE state = 'sent'", "WHERE state } 'sent'"), ("CREATE TABLE content (", "CREATE TABLE cnntent ("),
      ("CREATE TABLE report", "CREATD TABLE report"), ("tablelicence", "tabmelicence"),
      ("sqlite_autoindex_content_1content", "sqlite_autoindex_conuent_1content"),
      ("bookmarkbookmark", "cookmarkbookmark"), (") STRICT, WITHOUT ROWID", ") STRICT, WITIOUT ROWID"),
    ])
  func `a schema in which a bit has turned is told, and costs no row`(_ sound: String, _ flipped: String)
    async throws
  {
    try await stock()
    try mark()
    try Connection(path: database).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    var bytes = try Data(contentsOf: URL(filePath: database))
    let place = try #require(bytes.range(of: Data(sound.utf8)), "\(sound)")
    bytes.replaceSubrange(place, with: Data(flipped.utf8))
    try bytes.write(to: URL(filePath: database))
    await doctor().expect(65)
    let fixed = await doctor("--fix").expect(0)
    #expect(fixed.output.contains("2 of content"), "\(fixed.output)")
    await doctor().expect(0)
    try await bench.check("--deep").expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 7)
    #expect(try await bench.commands.listed("--folder", "물리") == ["plain"])
    #expect(try marks() == 1)
    try await expectPlain()
  }

  /// A row of a table that has no row numbers.
  private func mark() throws {
    try Connection(path: database).execute(
      "INSERT INTO bookmark SELECT id, 'user', 5, '', 'here', 1, 0 FROM content WHERE mck = 'plain'")
  }

  private func marks() throws -> Int64 {
    try Connection(path: database).withStatement("SELECT COUNT(*) FROM bookmark WHERE label = 'here'") {
      row throws(SQLiteError) in try row.step() ? row.integer(at: 0) : 0
    }
  }

  @Test(arguments: 0..<KillTests.kills)
  func `kill -9 while a library is saved loses nothing`(_ trial: Int) async throws {
    bench.answer(1, .granted(plays: 7))
    (try await bench.tool.run("download", "plain", mck)).expect(0)
    try damageLibrary(.magic)
    let process = try bench.tool.start("doctor", "--fix")
    try await Task.sleep(for: .milliseconds(Int.random(in: 0...120)))
    process.kill(SIGKILL)
    _ = await process.wait()
    let next = try await bench.tool.run("list")
    #expect([0, 65].contains(next.status ?? -1), "\(next)")
    let status = try await bench.tool.run("doctor", "--fix")
    status.expect(0)
    (try await bench.tool.run("play-check", "plain", mck, "--deep")).expect(0)
  }

  // MARK: The device key

  enum KeyFault: CaseIterable { case zeroed, cut, deleted, flipped, open, another }

  @Test(arguments: KeyFault.allCases)
  func `a key that is damaged, gone or another one is told, and its copy put in place`(_ fault: KeyFault)
    async throws
  {
    try await stock()
    let path = "\(home)/device.key"
    let sound = try Data(contentsOf: URL(filePath: path))
    switch fault {
    case .zeroed: try Data(count: sound.count).write(to: URL(filePath: path))
    case .cut: try sound.prefix(sound.count / 2).write(to: URL(filePath: path))
    case .deleted: try Files.remove(path)
    case .flipped: try flipOneBit(in: path)
    case .open: try Files.setMode(path, 0o644)
    case .another:
      let other = try CommandStage(name: "other")
      await other.run("list").expect(0)
      try Data(contentsOf: URL(filePath: "\(other.tool.home)/device.key")).write(to: URL(filePath: path))
    }
    if fault != .open, fault != .deleted { try Files.setMode(path, 0o600) }
    for words in [["list"], ["play-check", "plain"], ["download", "plain"]] {
      let run = await bench.commands.run(words).expect(78)
      #expect(run.errors.contains(fault == .open ? "chmod 600" : "doctor --fix"), "\(run.errors)")
    }
    await doctor().expect(78)
    await doctor("--fix").expect(0)
    #expect(try Data(contentsOf: URL(filePath: path)) == sound)
    #expect(try Files.information(path)?.mode == 0o600)
    try await expectPlain()
    try await bench.check("--deep").expect(0, [])
  }

  @Test func `without key and copy nothing is made anew over what is there`() async throws {
    try await stock()
    for name in ["device.key", "device.key.copy"] { try Files.remove("\(home)/\(name)") }
    await bench.run("list").expect(78)
    try loseLibrary()
    await bench.run("list").expect(78)
    await doctor("--fix").expect(78)
    #expect(try bench.commands.sealedFiles().count == 2)
  }
}
