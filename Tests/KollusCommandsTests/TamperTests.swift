import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Stored state that was changed by hand, and words in the wrong place: nothing false is said, nothing wrong given.
@Suite(.temporaryDirectory) struct TamperTests {
  let site: OriginSite
  let stage: CommandStage
  let bytes = randomBytes(150_000)

  init() throws {
    site = try OriginSite()
    stage = try CommandStage(origin: site.url)
  }

  private var media: String { "\(stage.tool.home)/media" }
  private var exported: String { "\(TemporaryDirectory.path)/exported" }

  private func publish(
    _ key: String, _ bytes: [UInt8]? = nil, _ change: (inout OriginContent) -> Void = { _ in }
  )
    throws
  {
    try site.publish(OriginContent(key, bytes: bytes ?? self.bytes).with(change))
  }

  /// Runs SQL on the library as the sqlite3 shell would.
  private func edit(_ sql: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/sqlite3")
    process.arguments = ["\(stage.tool.home)/library.db", sql]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  private static let hasShell = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")

  @Test func `media files that changed places are noticed and healed`() async throws {
    try publish("a")
    try publish("b", Array(bytes.reversed()))
    await stage.run("download", "a", "b").expect(0)
    let names = try stage.sealedFiles().map { ($0 as NSString).lastPathComponent }.sorted()
    #expect(names.count == 2)
    try FileManager.default.moveItem(atPath: "\(media)/\(names[0])", toPath: "\(media)/x")
    try FileManager.default.moveItem(atPath: "\(media)/\(names[1])", toPath: "\(media)/\(names[0])")
    try FileManager.default.moveItem(atPath: "\(media)/x", toPath: "\(media)/\(names[1])")
    await stage.run("verify").expect(65)
    await stage.run("export", "a", "-o", exported).expect(65)
    await stage.run("download", "a", "b").expect(0)
    await stage.run("export", "a", "-o", exported).expect(0)
    #expect(FileManager.default.contents(atPath: exported) == Data(bytes))
  }

  @Test func `the file of an older version is not taken for the new one`() async throws {
    try publish("a", Array(bytes.reversed()))
    await stage.run("download", "a").expect(0)
    let file = try #require(try stage.sealedFiles().first)
    try FileManager.default.copyItem(atPath: file, toPath: exported + ".old")
    await stage.run("remove", "a").expect(0)
    try publish("a")
    await stage.run("download", "a").expect(0)
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.copyItem(atPath: exported + ".old", toPath: file)
    await stage.run("verify", "a").expect(65)
    await stage.run("export", "a", "-o", exported).expect(65)
  }

  @Test func `an unmounted disk is not damage, and all is well when it is back`() async throws {
    try publish("a")
    await stage.run("download", "a").expect(0)
    try FileManager.default.moveItem(atPath: media, toPath: media + ".away")
    await stage.run("verify").expect(74)
    await stage.run("export", "a", "-o", exported).expect(74)
    try FileManager.default.moveItem(atPath: media + ".away", toPath: media)
    await stage.run("verify").expect(0)
    await stage.run("export", "a", "-o", exported).expect(0)
  }

  @Test(
    .enabled(if: hasShell),
    arguments: [
      "file_size = 9223372036854775807", "file_size = -9223372036854775807",
      "download_size = 9223372036854775807",
      "download_size = -9223372036854775807, state = 'failed'", "duration = 1e300", "position = 9e999",
      "file_size = 0", "file_size = 150001", "natural_width = -1", "not_before = -5", "state = 'nonsense'",
    ])
  func `an edited row never traps and never gives wrong bytes`(_ change: String) async throws {
    try publish("a")
    try publish("b")
    await stage.run("download", "a", "b").expect(0)
    try edit("UPDATE content SET \(change) WHERE mck = 'a'")
    await stage.run("list").expect(0)
    await stage.run("list", "--json").expect(0)
    await stage.run("show", "a").expect(0)
    if await stage.run("export", "a", "-o", exported).status == 0 {
      #expect(FileManager.default.contents(atPath: exported) == Data(bytes))
    }
    _ = await stage.run("verify", "a")
    await stage.run("export", "b", "-o", exported).expect(0)
    await stage.run("remove", "a").expect(0)
  }

  @Test(.enabled(if: hasShell)) func `a manifest that gains a DRM callback in mid-download is refused`()
    async throws
  {
    try publish("a")
    site.answerMedia(of: "a") { _ in Answer(403) }
    let plain = OriginContent("a", bytes: bytes)
    let guarded = plain.with { $0.members = ["channel": #"{"drmCallback":"https://127.0.0.1:9/drm"}"#] }
    site.answerManifest(of: "a") { [site] request in
      let content = request.earlier == 0 ? plain : guarded
      return Answer(
        200, text: content.manifest(mediaURL: site.mediaURL(of: "a")), type: "application/json")
    }
    await stage.run("download", "a").expect(69)
    try publish("a")
    // No key is configured to believe its answers with.
    await stage.run("download", "a").expect(78)
    #expect(site.mediaExchanges(of: "a").count == 1)
  }

  @Test func `keys that look alike are different contents`() async throws {
    let run = await stage.run("download", "caf\u{e9}", "cafe\u{301}", "--json").expect(66)
    #expect(try run.json.count == 2)
    #expect(site.manifestExchanges.count == 2)
  }

  @Test func `a ready content stays what it is when a fresh URL shows another version`() async throws {
    try publish("a")
    await stage.run("download", "a").expect(0)
    try publish("a", randomBytes(250_000, seed: 9)) { $0.title = "New" }
    await stage.run("download", "\(site.url)/contents/a?jwt=x").expect(0)
    await stage.run("verify", "a").expect(0)
    await stage.run("export", "a", "-o", exported).expect(0)
    #expect(FileManager.default.contents(atPath: exported) == Data(bytes))
  }

  @Test func `export follows a link and spares the home`() async throws {
    try publish("a")
    await stage.run("download", "a").expect(0)
    for target in ["\(stage.tool.home)/library.db", "\(media)/x", TemporaryDirectory.path] {
      #expect(await stage.run("export", "a", "-o", target).status != 0)
    }
    await stage.run("export", "a", "-o", "/dev/null").expect(0)
    await stage.run("verify", "a").expect(0)
    let link = "\(TemporaryDirectory.path)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: exported)
    try Data([1]).write(to: URL(filePath: exported))
    await stage.run("export", "a", "-o", link).expect(0)
    #expect(FileManager.default.contents(atPath: exported) == Data(bytes))
  }

  @Test(arguments: [
    ["show"], ["verify"], ["remove"], ["list"], ["list", "--state"], ["identity"], ["config"],
    ["config", "jobs"],
    ["completions"], ["help"], ["download", "--jobs"], ["download", "a", "--uservalue"],
    ["download", "a", "--limit-rate"], ["nope"],
  ])
  func `a token in the wrong place is not repeated`(_ words: [String]) async {
    for json in [[], ["--json"]] {
      let run = await stage.run(words + ["https://origin.example/s?jwt=SECRET-TOKEN&custom_key=k"] + json)
      #expect(run.status != 0)
      #expect(!run.output.contains("SECRET") && !run.errors.contains("SECRET"), "\(run.errors)")
    }
  }

  @Test func `user values and the user id outlive a plain rerun`() async throws {
    try publish("a")
    site.answerMedia(of: "a") { _ in Answer(404) }
    await stage.run("download", "a", "--uservalue", "3=keep", "--cuid", "me").expect(69)
    try publish("a")
    await stage.run("download", "a", "--folder", "later").expect(0)
    #expect(await stage.run("show", "a").output.contains("me"))
    await stage.run("download", "a", "--folder", "elsewhere").expect(0)
    #expect(try await stage.run("show", "a", "--json").json.string("folder") == "elsewhere")
  }
}
