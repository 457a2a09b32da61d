import Foundation
import Glibc
import JSONKit
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

/// Files of a home besides its library and its key.
extension RecoveryTests {
  @Test(
    arguments: ["locks", "ballast", "media/.kollus", "clock", "device.key.copy", "events.jsonl"],
    [true, false])
  func `a small file that is gone or zeroed costs nothing, or is told`(_ name: String, _ isDeleted: Bool)
    async throws
  {
    try await stock()
    if isDeleted {
      try Files.remove("\(home)/\(name)")
    } else {
      let size = try Files.information("\(home)/\(name)")?.size ?? 0
      try Data(count: Int(size)).write(to: URL(filePath: "\(home)/\(name)"))
      try Files.setMode("\(home)/\(name)", 0o600)
    }
    await bench.run("list").expect(0)
    await doctor("--fix").expect(0)
    try await expectPlain()
    try await bench.check("--deep").expect(0, [])
  }

  @Test func `a log that cannot be written is told and set aside, and no command fails by it`() async throws {
    try await stock()
    try Files.remove("\(home)/events.jsonl")
    try Files.makeFolder("\(home)/events.jsonl")
    let run = await bench.run("download", "plain").expect(0)
    #expect((run.output + run.errors).contains("what happens is not kept in the log"))
    await bench.run("events").expect(74)
    await doctor().expect(74)
    await doctor("--fix").expect(0)
    await bench.run("verify").expect(0)
    await bench.run("events").expect(0)
  }

  @Test func `a library found again is told in the log`() async throws {
    try await stock()
    for name in ["library.db", "library.db-wal", "library.db-shm"] { try Files.remove("\(home)/\(name)") }
    await bench.run("list").expect(0)
    let events = await bench.run("events", "--events", "jsonl").expect(0)
    #expect(events.output.contains(#""note":"recovered""#))
  }

  static let ownFiles = [
    "library.db", "device.key", "device.key.copy", "clock", "locks", "ballast", "events.jsonl",
    "media/.kollus",
  ]

  @Test(arguments: ownFiles)
  func `a folder in place of a file is told and set aside`(_ name: String) async throws {
    try await stock()
    for file in [name] + (name == "library.db" ? ["library.db-wal", "library.db-shm"] : [])
    where SealedFile.exists("\(home)/\(file)") {
      try Files.remove("\(home)/\(file)")
    }
    try Files.makeFolder("\(home)/\(name)")
    let list = await bench.run("list")
    if ["library.db", "device.key", "locks"].contains(name) {
      #expect([74, 78].contains(list.status) && list.errors.contains("kollus doctor"), "\(list.errors)")
    } else {
      list.expect(0)
    }
    #expect(await doctor().status != 0)
    // The licence needs a renewal without its row, and without the second clock nothing but that.
    let fixed = await doctor("--fix")
    #expect([0, 77].contains(fixed.status), "\(fixed)")
    #expect(fixed.output.contains("\(name) is no file"))
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: home).contains {
        $0.contains("aside/") && $0.hasSuffix("/\(name.split(separator: "/").last ?? "")")
      })
    try await expectPlain()
    bench.answer(3, .granted(plays: 7))
    await bench.run("renew", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
  }

  @Test(arguments: ownFiles + ["plain"])
  func `a file that its owner may not read is told and made usable`(_ name: String) async throws {
    try await stock()
    let path = name == "plain" ? "\(home)/media/\(Home.mediaName(of: name))" : "\(home)/\(name)"
    try Files.setMode(path, 0)
    let list = await bench.run("list", "--json", "--state", "ready")
    // Whoever may read all files has nothing to complain of, and no file is changed.
    if list.status == 0, geteuid() != 0, name == "plain" {
      #expect(try list.json.elements.map { try $0.string("mediaContentKey") } == [mck])
    }
    #expect(await doctor().status != 0)
    let fixed = await doctor("--fix").expect(0)
    #expect(fixed.output.contains("its owner may not read and write"))
    #expect(try Files.information(path)?.mode == 0o600)
    try await expectPlain()
    try await bench.check("--deep").expect(0, [])
  }

  @Test func `a copy of the clock that cannot be written makes way for a new one`() async throws {
    await bench.download(.granted(until: LicenceStage.now + 86_400, plays: 7))
    try Files.remove("\(home)/clock")
    try Files.makeFolder("\(home)/clock")
    try await bench.check().expect(77, [("clock", -8664)])
    bench.answer(3, .granted(until: LicenceStage.now + 86_400, plays: 7))
    await bench.run("renew", mck).expect(0)
    try await bench.check().expect(0, [])
  }

  @Test func `a clock that was lost is told where a licence has a date`() async throws {
    await bench.download(.granted(until: LicenceStage.now + 86_400, plays: 7))
    try Files.remove("\(home)/clock")
    try await bench.check().expect(77, [("clock", -8664)])
    let run = await doctor("--fix").expect(77)
    #expect(run.output.contains("kollus renew"))
    bench.answer(3, .granted(plays: 7))
    await bench.run("renew", mck).expect(0)
    await doctor().expect(0)
  }

  enum MediaFault: CaseIterable { case zeroed, cut, deleted, folder }

  @Test(arguments: MediaFault.allCases)
  func `a media file that is gone or damaged is never shown as ready`(_ fault: MediaFault) async throws {
    try await stock()
    let path = try #require(
      try bench.commands.sealedFiles().first { $0.hasSuffix(Home.mediaName(of: "plain")) })
    switch fault {
    case .zeroed: try Data(count: 200_000).write(to: URL(filePath: path))
    case .cut: try damage(path) { try $0.truncate(atOffset: 60_000) }
    case .deleted: try Files.remove(path)
    case .folder:
      try Files.remove(path)
      try Files.makeFolder(path)
    }
    let list = try await bench.run("list", "--json", "--state", "ready").expect(0).json
    #expect(try list.elements.map { try $0.string("mediaContentKey") } == [mck])
    await bench.run("play-check", "plain").expect(65)
    let statuses: [MediaFault: Int32] = [.deleted: 0, .folder: 1]
    await doctor().expect(statuses[fault] ?? 65)
    // One that has no licence to lose is fetched anew; one that was deleted may be meant to be gone.
    await doctor("--fix").expect(0)
    if fault == .deleted { await bench.run("download", "plain").expect(0) }
    try await expectPlain()
  }
}
