import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// The folder of all media lies on a disk of its own, which may not be mounted.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct MountTests {
  let bench: LicenceStage

  init() throws {
    bench = try LicenceStage()
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes))
  }

  private var mck: String { bench.mck }
  private var media: String { "\(bench.tool.home)/media" }
  private var mark: String { "\(media)/.kollus" }
  private var disk: String { "\(TemporaryDirectory.path)/disk" }
  private let files = FileManager.default

  /// Leaves an empty folder in the place of the disk, or nothing at all.
  private func unmount(leavingFolder: Bool = true) throws {
    try files.moveItem(atPath: media, toPath: disk)
    guard leavingFolder else { return }
    try files.createDirectory(atPath: media, withIntermediateDirectories: false)
  }

  private func mount() throws {
    if files.fileExists(atPath: media) { try files.removeItem(atPath: media) }
    try files.moveItem(atPath: disk, toPath: media)
  }

  private func stock() async throws {
    bench.answer(1, .granted(plays: 5))
    await bench.run("download", mck, "plain").expect(0)
    try await bench.check().expect(0, [])
  }

  /// States by key, as `list` has them.
  private func states() async throws -> [String: String] {
    let words = ["ready", "missing", "failed"].flatMap { ["--state", $0] }
    let list = try await bench.commands.run(["list", "--json"] + words).expect(0).json
    let pairs = try list.elements.map {
      (try $0.string("mediaContentKey") ?? "", try $0.string("state") ?? "")
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  static let commands = [
    "download AbCd1234", "download plain", "download new", "renew --all", "renew AbCd1234",
    "play-check AbCd1234", "play-check plain --deep", "play-check AbCd1234 --renew", "remove AbCd1234",
    "remove plain", "remove --all", "verify", "verify plain", "export plain -o /dev/null",
  ]

  @Test(arguments: [true, false])
  func `nothing is marked, removed or fetched while the disk is not mounted`(_ leavingFolder: Bool)
    async throws
  {
    try bench.publish("new")
    try await stock()
    try unmount(leavingFolder: leavingFolder)
    let asked = (bench.site.server.exchanges.count, bench.callback.items.count)
    for words in Self.commands.map({ $0.split(separator: " ").map(String.init) }) {
      let run = await bench.commands.run(words).expect(74)
      #expect(run.errors.contains("mount its disk"), "\(words): \(run.errors)")
      #expect(!run.output.contains("missing"), "\(words): \(run.output)")
      let json = await bench.commands.run(words + ["--json"]).expect(74)
      if !json.output.isEmpty { _ = try json.json }
      #expect(!(json.output + json.errors).contains("\"mayPlay\":true"))
    }
    #expect(try await states() == [mck: "ready", "plain": "ready"])
    await bench.run("show", mck).expect(0)
    #expect(bench.callback.items.count == asked.1, "asked for licences without their files")
    #expect(bench.site.server.exchanges.count == asked.0, "asked the origin")
    #expect(files.fileExists(atPath: media) == leavingFolder)
    if leavingFolder { #expect(try files.contentsOfDirectory(atPath: media).isEmpty) }
    try mount()
    #expect(try await states() == [mck: "ready", "plain": "ready"])
    try await bench.check("--deep").expect(0, [])
    await bench.run("verify").expect(0)
    await bench.run("download", "new").expect(0)
    await bench.run("remove", "--all").expect(0)
    #expect(try bench.commands.sealedFiles().isEmpty)
  }

  @Test func `the way out of the hint works`() async throws {
    try await stock()
    try unmount()
    let hint = try #require(
      await bench.run("download", mck).expect(74).errors.firstMatch(of: /run: (mkdir .*)/)?.output.1)
    let shell = try ChildProcess("/bin/sh", ["-c", String(hint)], environment: ["PATH": "/usr/bin:/bin"])
    await shell.wait().expect(0)
    #expect(try await states() == [mck: "missing", "plain": "missing"])
    await bench.run("download", mck, "plain").expect(0)
    try await bench.check().expect(0, [])
    #expect(bench.kinds == [1, 2, 1, 2], "the file was lost, so this is a new download")
  }

  @Test func `what holds no file can be removed without the disk`() async throws {
    try bench.publish("refused")
    try await stock()
    bench.answer(1, .init(["result": "0"]))
    await bench.run("download", "refused").expect(69)
    try unmount()
    await bench.run("remove", "refused").expect(0)
    #expect(try await bench.commands.listed() == [mck, "plain"])
  }

  @Test func `a library without ready contents takes an empty folder for its own`() async throws {
    try await stock()
    await bench.run("remove", "--all").expect(0)
    try files.removeItem(atPath: media)
    await bench.run("download", mck).expect(0)
    #expect(files.fileExists(atPath: mark))
    try await bench.check().expect(0, [])
  }

  // MARK: Files that come back

  @Test func `a content whose file comes back unchanged is ready again`() async throws {
    try await stock()
    await bench.run("remove", "plain").expect(0)
    let path = try bench.mediaFile()
    try files.moveItem(atPath: path, toPath: path + ".away")
    #expect(try await states() == [mck: "missing"])
    try await bench.check().expect(65, [("notReady", -8629)])
    try files.moveItem(atPath: path + ".away", toPath: path)
    #expect(try await states() == [mck: "ready"])
    let shown = try await bench.shown()
    #expect(try shown.integer("downloadSize") == shown.integer("fileSize"))
    #expect(try shown.integer("downloadProgress") == 100 && shown.bool("downloaded") == true)
    try await bench.check("--deep").expect(0, [])
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2], "nothing was lost, so nothing is asked for")
  }

  @Test func `a file with another time stamp is not taken for the one that was gone`() async throws {
    try await stock()
    await bench.run("remove", "plain").expect(0)
    let path = try bench.mediaFile()
    try files.moveItem(atPath: path, toPath: path + ".away")
    #expect(try await states() == [mck: "missing"])
    try files.moveItem(atPath: path + ".away", toPath: path)
    try files.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
    #expect(try await states() == [mck: "missing"])
    #expect(try await bench.check().status == 65)
  }

  @Test func `what its server deleted does not come back from a copy`() async throws {
    try await stock()
    await bench.run("remove", "plain").expect(0)
    let path = try bench.mediaFile()
    let old = TemporaryDirectory.path + "/old"
    let copy = try ChildProcess("/bin/cp", ["-p", path, old], environment: [:])
    await copy.wait().expect(0)
    bench.answer(3, .init(["result": "1", "content_delete": "1"]))
    #expect(await bench.run("renew", mck).status != 0)
    #expect(!files.fileExists(atPath: path))
    try files.moveItem(atPath: old, toPath: path)
    #expect(try await states() == [mck: "failed"])
    #expect(!files.fileExists(atPath: path), "the copy is destroyed when it is seen")
    #expect(try await bench.check().status == 65)
  }

  @Test func `an expired licence comes back with its file as it was`() async throws {
    try await stock()
    await bench.run("remove", "plain").expect(0)
    bench.answer(3, .init(["result": "1", "content_expired": "1"]))
    await bench.run("renew", mck).expect(77)
    let path = try bench.mediaFile()
    try files.moveItem(atPath: path, toPath: path + ".away")
    #expect(try await states() == [mck: "missing"])
    try files.moveItem(atPath: path + ".away", toPath: path)
    try await bench.check().expect(77, [("forced", -8658)])
  }

  // MARK: Homes from before there was a mark

  @Test func `a home without the mark works as long as it holds a file`() async throws {
    try bench.publish("new")
    try await stock()
    bench.answer(3, .granted(plays: 9))
    for words in [
      "list", "show plain", "play-check AbCd1234 --deep", "renew --all", "export plain -o /dev/null",
      "remove plain", "download new", "verify",
    ] {
      if files.fileExists(atPath: mark) { try files.removeItem(atPath: mark) }
      await bench.commands.run(words.split(separator: " ").map(String.init)).expect(0)
    }
    #expect(files.fileExists(atPath: mark), "it is made where it was not")
    #expect(try await states() == [mck: "ready", "new": "ready"])
  }

  @Test func `in a home without the mark a file that is gone is still missing`() async throws {
    try await stock()
    let path = try #require(try bench.commands.sealedFiles().first)
    try files.removeItem(atPath: mark)
    try files.removeItem(atPath: path)
    #expect(try await states().values.sorted() == ["missing", "ready"])
  }

  @Test func `a home without the mark is not taken for an unmounted one when all is removed`() async throws {
    try await stock()
    try files.removeItem(atPath: mark)
    await bench.run("remove", "--all").expect(0)
    await bench.run("download", "plain").expect(0)
    #expect(try await states() == ["plain": "ready"])
  }
}
