import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// What the tool makes of its own surroundings: configuration, home, keys it does not know.
@Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct HomeTests {
  let site: OriginSite

  init() throws { site = try OriginSite() }

  func publish(_ keys: String...) throws {
    for (number, key) in keys.enumerated() {
      try site.publish(OriginContent(key, bytes: randomBytes(200_000 + number, seed: UInt64(number))))
    }
  }

  @Test func `an unknown key is 66`() async throws {
    let tool = try Tool(origin: site.url)
    let outcome = try await tool.run("download", "nobody")
    outcome.expect(66)
    #expect(outcome.standardError.contains("nobody"))
    for words in [
      ["show", "nobody"], ["verify", "nobody"], ["remove", "nobody"], ["export", "nobody", "-o", "x"],
    ] {
      (try await tool.run(words)).expect(66)
    }
  }

  @Test(arguments: [
    (404, "", 66), (404, #"{"code":-4012,"message":"no such content"}"#, 66),
    (403, #"{"code":-4085,"message":"not yours"}"#, 69), (401, "", 69), (500, "", 75), (502, "<html>", 75),
  ])
  func `an origin's refusal has its status`(_ status: Int, body: String, exit: Int) async throws {
    site.answerManifest(of: "a") { _ in Answer(status, text: body, type: "application/json") }
    let tool = try Tool(origin: site.url, ["retries": "1"])
    let run = DownloadRun(try await tool.start("download", "a", "--events", "jsonl").wait())
    run.outcome.expect(exit)
    if body.contains("-4085") { #expect(run.errorCode == -4085) }
  }

  @Test func `an origin where nobody listens is 75`() async throws {
    let tool = try Tool(origin: "http://127.0.0.1:\(try unusedPort())", ["retries": "1"])
    (try await tool.run("download", "a")).expect(75)
  }

  @Test func `an origin that never answers is 75`() async throws {
    let silent = try SilentServer()
    defer { withExtendedLifetime(silent) {} }
    let tool = try Tool(origin: silent.url, ["retries": "0", "timeout": "\"1s\""])
    (try await tool.run("download", "a")).expect(75)
  }

  @Test func `a batch with mixed results is 1, with one cause that cause`() async throws {
    try publish("a", "b")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a", "nobody", "b")).expect(1)
    (try await tool.run("download", "nobody", "noone")).expect(66)
    let list = try JSON(parsing: try await tool.run("list", "--json").standardOutput)
    #expect(try list.elements.compactMap { try $0.string("mediaContentKey") }.sorted() == ["a", "b"])
  }

  @Test func `many contents go through few jobs`() async throws {
    let keys = (1...12).map { "lecture \($0)" }
    for key in keys { try publish(key) }
    let tool = try Tool(origin: site.url)
    let words = ["download", "--jobs", "3", "--events", "jsonl"] + keys
    let run = DownloadRun(try await tool.start(words).wait())
    run.outcome.expect(0)
    for key in keys {
      try run.expectDownloaded(key)
      #expect(site.mediaBytes(of: key) == 200_000)
    }
  }

  @Test func `keys come from standard input and go to a folder`() async throws {
    try publish("a", "b")
    let tool = try Tool(origin: site.url)
    let words = ["download", "--from", "-", "--folder", "term/1", "--json"]
    let outcome = try await tool.run(words, input: Array("a\n\nb\n".utf8))
    outcome.expect(0)
    #expect(try JSON(parsing: outcome.standardOutput).kind == .array)
    let show = try JSON(parsing: try await tool.run("show", "b", "--json").standardOutput)
    #expect(try show.string("folder")?.contains("term/1") == true)
  }

  @Test func `a dry run fetches nothing`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a", "--dry-run")).expect(0)
    #expect(site.mediaExchanges(of: "a").isEmpty)
    let list = try JSON(parsing: try await tool.run("list", "--json").standardOutput)
    #expect(try !list.elements.contains { try $0.string("state") == "ready" })
  }

  @Test func `a limited rate is kept`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    let start = ContinuousClock.now
    (try await tool.run("download", "a", "--limit-rate", "100K")).expect(0)
    let time = ContinuousClock.now - start
    #expect(time > .milliseconds(900) && time < .seconds(30), "\(time)")
  }

  @Test func `a listed content has the SDK's members`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    let list = try JSON(parsing: try await tool.run("list", "--json").standardOutput)
    let content = try #require(Array(list.elements).first)
    let names = Set(content.members.map(\.name))
    let wanted: Set = [
      "mediaContentKey", "title", "company", "course", "teacher", "synopsis", "descriptionURL", "snapshot",
      "thumbnail", "contentType", "fileSize", "downloadSize", "downloadProgress", "downloaded",
      "downloadStopSize", "downloadedTime", "duration", "position", "naturalSize", "state", "error", "folder",
      "encodingProfile", "contentProviderKey", "contentIndex", "DRMExpired",
    ]
    #expect(wanted.subtracting(names).isEmpty)
    #expect(try content.string("state") == "ready")
    #expect(try content.bool("downloaded") == true)
    #expect(try content.integer("fileSize") == 200_000)
    #expect(try content.integer("downloadSize") == 200_000)
    #expect(try content.integer("downloadProgress") == 100)
    #expect(try content.member("naturalSize")?.rawText == "[1280,720]")
    #expect(try content.member("error")?.isNull == true)
  }

  @Test func `two runs on two contents do not disturb each other`() async throws {
    try publish("a", "b")
    let tool = try Tool(origin: site.url)
    let processes = try ["a", "b"].map { try tool.start("download", $0, "--events", "jsonl") }
    for (process, key) in zip(processes, ["a", "b"]) {
      let run = DownloadRun(await process.wait())
      run.outcome.expect(0)
      try run.expectDownloaded(key)
    }
  }

  @Test func `quiet is silent when all is well or merely offline`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url, ["retries": "0"])
    let done = try await tool.run("download", "a", "--quiet")
    done.expect(0)
    #expect(done.standardOutput.isEmpty && done.standardError.isEmpty, "\(done)")
    site.server.stop()
    let offline = try await tool.run("download", "b", "--quiet")
    offline.expect(75)
    #expect(offline.standardOutput.isEmpty && offline.standardError.isEmpty, "\(offline)")
  }

  @Test func `nothing of the media is stored in the clear`() async throws {
    let bytes = randomBytes(300_000)
    try site.publish(OriginContent("a", bytes: bytes).with { $0.title = "Unmistakable title" })
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    let runs = [bytes[1_024..<1_088], bytes[150_016..<150_080], bytes[299_900..<299_964]]
    for name in try FileManager.default.subpathsOfDirectory(atPath: "\(tool.home)/media") {
      // Folders have no contents.
      let data = FileManager.default.contents(atPath: "\(tool.home)/media/\(name)") ?? Data()
      for run in runs { #expect(data.range(of: Data(run)) == nil, "\(name)") }
      #expect(data.range(of: Data("Unmistakable".utf8)) == nil, "\(name)")
    }
  }

  @Test(arguments: 0..<5) func `a home that many processes make at once is one home`(_ round: Int)
    async throws
  {
    let tool = try Tool(origin: site.url)
    let processes = try (0..<8).map { _ in try tool.start("list", "--json") }
    for process in processes { await process.wait().expect(0) }
  }

  @Test func `a home of a newer version is refused`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    // The user version of an SQLite file: four bytes at offset 60.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(tool.home)/library.db"))
    try file.seek(toOffset: 60)
    try file.write(contentsOf: Data([0, 0, 3, 0xe7]))
    try file.close()
    for words in [["list"], ["download", "a"], ["show", "a"]] { (try await tool.run(words)).expect(78) }
  }

  @Test func `a database that is none is damage`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    try Data(randomBytes(8_192)).write(to: URL(fileURLWithPath: "\(tool.home)/library.db"))
    let outcome = try await tool.run("list")
    outcome.expect(65, 74)
    #expect(!outcome.standardError.isEmpty)
  }

  @Test(arguments: [
    "", "{", "[]", "{\"origin\":5}", "{\"timeout\":\"soon\"}", "{\"retries\":-1}", "{\"reserve\":true}",
    "{\"origin\":\"ftp://127.0.0.1/\"}", "{\"origin\":\"not a url\"}",
  ])
  func `an invalid configuration is 78`(_ text: String) async throws {
    let tool = try Tool(origin: site.url)
    try text.write(toFile: tool.configuration, atomically: true, encoding: .utf8)
    let outcome = try await tool.run("download", "a")
    outcome.expect(78)
    #expect(outcome.standardError.contains(tool.configuration) || outcome.standardError.contains("config"))
  }

  @Test func `a configuration that was named but cannot be read is 78`() async throws {
    let tool = try Tool(origin: site.url)
    try FileManager.default.removeItem(atPath: tool.configuration)
    (try await tool.run("download", "a")).expect(78)
    try FileManager.default.createDirectory(atPath: tool.configuration, withIntermediateDirectories: false)
    (try await tool.run("download", "a")).expect(78)
  }

  @Test func `plain http beyond the loopback needs permission`() async throws {
    let tool = try Tool(origin: "http://192.0.2.1", ["retries": "0", "timeout": "\"1s\""])
    (try await tool.run("download", "a")).expect(69, 78)
  }

  @Test func `a device key that others can read is refused`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    let key = "\(tool.home)/device.key"
    let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
    let outcome = try await tool.run("export", "a", "-o", "\(TemporaryDirectory.path)/x")
    outcome.expect(78)
    #expect(outcome.standardError.contains("device.key"))
    (try await tool.run("download", "a")).expect(78)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write anywhere"))
  func `a home that cannot be written is told`() async throws {
    let folder = "\(TemporaryDirectory.path)/locked"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o500])
    let tool = try Tool(home: "\(folder)/home", origin: site.url)
    (try await tool.run("download", "a")).expect(74)
  }

  @Test func `a home that is a file is told`() async throws {
    let path = "\(TemporaryDirectory.path)/file"
    try Data().write(to: URL(fileURLWithPath: path))
    let tool = try Tool(home: path, origin: site.url)
    (try await tool.run("download", "a")).expect(74, 78)
  }

  @Test func `home and files are private`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    for name in try FileManager.default.subpathsOfDirectory(atPath: tool.home) + [""] {
      let path = "\(tool.home)/\(name)"
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(try #require(mode) & 0o077 == 0, "\(name)")
    }
  }

  @Test(arguments: [
    [], ["frobnicate"], ["download"], ["download", "a", "--connections", "0"],
    ["download", "a", "--connections", "many"], ["download", "a", "--limit-rate", "-1"],
    ["download", "a", "--events", "xml"], ["export", "a", "b", "c"],
  ])
  func `wrong usage is 64`(_ words: [String]) async throws {
    let outcome = try await Tool(origin: site.url).run(words)
    outcome.expect(64)
    #expect(outcome.standardOutput.isEmpty)
  }

  @Test func `an export never replaces a file by half of one`() async throws {
    try publish("a")
    let tool = try Tool(origin: site.url)
    (try await tool.run("download", "a")).expect(0)
    let path = "\(TemporaryDirectory.path)/out.mp4"
    (try await tool.run("export", "a", "-o", path)).expect(0)
    #expect(FileManager.default.contents(atPath: path)?.count == 200_000)
    (try await tool.run("export", "a", "-o", "\(TemporaryDirectory.path)/missing/out.mp4")).expect(74)
    (try await tool.run("remove", "a")).expect(0)
    (try await tool.run("export", "a", "-o", path)).expect(66)
  }
}
