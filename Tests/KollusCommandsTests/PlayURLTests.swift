import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Play URLs against the built `kollus-origin`.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayURLTests {
  let bytes = randomBytes(300_000)

  /// Runs `download` with a play URL; its token may stand in neither stream, nor a part of it.
  func download(
    _ token: String, from origin: OriginProgram, by stage: CommandStage, more: String = "",
    customKey: String = OriginProgram.customKey, _ words: String...
  ) async -> CommandStage.Run {
    let url = origin.playURL(token, customKey: customKey, more: more)
    let run = await stage.run(["download", url] + words)
    expectSecret(token, in: run.output + run.errors)
    return run
  }

  func expectSecret(_ token: String, in text: String, at location: SourceLocation = #_sourceLocation) {
    for part in token.split(separator: ".") {
      #expect(!text.contains(part.prefix(24)), "\(text)", sourceLocation: location)
    }
  }

  func code(_ run: CommandStage.Run) throws -> Int64? {
    try run.failures.last?.object("error")?.integer("code")
  }

  @Test func `a signed play URL downloads, and its user and values are kept`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("unit-1", bytes)
    let stage = try CommandStage(["cuid": "\"somebody\""])
    let token = OriginProgram.token(OriginProgram.claims("unit-1"))
    let more = "&uservalue0=a%20b&uservalue12=%ED%95%9C&uservalue100=no&download"
    let run = await download(token, from: origin, by: stage, more: more).expect(0)
    #expect(run.output.hasSuffix("unit-1 (Title of unit-1): downloaded, 293.0 KiB\n"), "\(run.output)")
    #expect(await stage.run("show", "unit-1").output.contains("user            learner-17\n"))
    let path = TemporaryDirectory.path + "/out"
    await stage.run("export", "unit-1", "-o", path).expect(0)
    let isSame = FileManager.default.contents(atPath: path) == Data(bytes)
    #expect(isSame)
    if SQLiteProgram.isInstalled {
      let rows = try await SQLiteProgram.rows("SELECT user_values FROM content", of: stage.tool)
      #expect(rows == [#"{"uservalue0":"a b","uservalue12":"한"}"#])
    }
    // Again, now that it is here: nobody is asked.
    let (asked, sent) = (origin.log.count, origin.media.exchanges.count)
    await download(token, from: origin, by: stage, more: more).expect(0)
    #expect(origin.log.count == asked && origin.media.exchanges.count == sent)
    for name in try FileManager.default.subpathsOfDirectory(atPath: stage.tool.home) {
      let data = FileManager.default.contents(atPath: "\(stage.tool.home)/\(name)") ?? Data()
      #expect(data.range(of: Data(token.suffix(24).utf8)) == nil, "\(name) holds the token")
    }
  }

  @Test func `entries download in order and an intro is skipped`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("intro", bytes, "--intro")
    try await origin.publish("one", bytes)
    try await origin.publish("two", Array(bytes.dropLast()))
    let stage = try CommandStage()
    let token = OriginProgram.token(OriginProgram.claims("intro", "one", "two"))
    let run = await download(token, from: origin, by: stage, "--json", "--events", "jsonl").expect(0)
    let items = Array(try run.json.elements)
    #expect(try items.map { try $0.string("mediaContentKey") } == ["one", "two"])
    #expect(try items.map { try $0.bool("downloaded") } == [true, true])
    let skipped = try #require(try run.failures.first { try $0.string("note") == "skipped" })
    #expect(try skipped.string("mediaContentKey") == "intro")
    #expect(try skipped.string("message")?.contains("-8803") == true)
    #expect(origin.media.exchanges(under: "/intro").isEmpty)
    #expect(try await stage.listed().sorted() == ["one", "two"])
  }

  @Test func `what one entry lacks is fetched by the next run`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("one", bytes)
    try await origin.publish("two", Array(bytes.dropLast()))
    let stage = try CommandStage(["retries": "0"])
    origin.answer("one") { _ in Answer(503) }
    let token = OriginProgram.token(OriginProgram.claims("one", "two"))
    await download(token, from: origin, by: stage).expect(1)
    #expect(try await stage.listed("--state", "ready") == ["two"])
    origin.answer("one", with: ScriptedServer.object(bytes))
    let run = await download(token, from: origin, by: stage, "--json").expect(0)
    #expect(Array(try run.json.elements).count == 2)
    #expect(try await stage.listed("--state", "ready").sorted() == ["one", "two"])
  }

  @Test func `a refused play URL has its status and code`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("a", bytes)
    let stage = try CommandStage(["retries": "0"])
    let claims = OriginProgram.claims("a")
    let past = #"{"expt":1000000000,"mc":[{"mckey":"a"}]}"#
    let special = #"{"mc":[{"mckey":"a","drm_policy":{"kind":"inka","streaming_type":"dash"}}]}"#
    let table: [(token: String, customKey: String, status: Int32, code: Int64)] = [
      (OriginProgram.token(past), "demo", 69, -4085),
      (OriginProgram.token(claims, key: "another key"), "demo", 69, -4007),
      (OriginProgram.token(claims), "stranger", 69, -4004),
      (OriginProgram.token(OriginProgram.claims("nobody")), "demo", 66, -4012),
      (OriginProgram.token(special), "demo", 69, -1010),
      (OriginProgram.token(#"{"mc":[]}"#), "demo", 69, -4083),
    ]
    for row in table {
      let run = await download(
        row.token, from: origin, by: stage, customKey: row.customKey, "--json"
      ).expect(row.status)
      #expect(try code(run) == row.code)
      let plain = await download(row.token, from: origin, by: stage, customKey: row.customKey)
      #expect(plain.status == row.status && plain.errors.contains("(\(row.code))"), "\(plain.errors)")
      if row.code == -4085 { #expect(plain.errors.contains("fresh URL")) }
    }
    #expect(origin.media.exchanges.isEmpty)
    #expect(try await stage.listed().isEmpty)
  }

  @Test func `a multi-DRM policy is refused even when the origin answers`() async throws {
    let site = try OriginSite()
    let content = OriginContent("a", bytes: bytes)
    site.answerMedia(of: "a", with: content.handler)
    site.answer("/s") { _ in
      Answer(200, text: content.manifest(mediaURL: site.mediaURL(of: "a")), type: "application/json")
    }
    let stage = try CommandStage()
    let token = OriginProgram.token(#"{"mc":[{"mckey":"a","drm_policy":{"kind":"inka"}}]}"#)
    let run = await stage.run("download", "\(site.url)/s?custom_key=demo&jwt=\(token)", "--json").expect(69)
    #expect(try code(run) == -1010)
    expectSecret(token, in: run.output + run.errors)
    #expect(site.mediaExchanges(of: "a").isEmpty)
    #expect(try await stage.listed().isEmpty)
  }

  @Test func `a one-time URL that was cut off waits for a fresh one`() async throws {
    let origin = try await OriginProgram("--one-time")
    let large = randomBytes(8 << 20)
    try await origin.publish("a", large, "--segment-size", "64K")
    let sound = ScriptedServer.object(large)
    origin.answer("a") { sound($0).throttled(to: 1 << 20) }
    let stage = try CommandStage()
    let tool = stage.tool
    let url = origin.playURL(OriginProgram.token(OriginProgram.claims("a")))
    let words = ["download", url, "--events", "jsonl", "--connections", "2"]
    let process = try tool.start(words)
    _ = await process.line { line in
      // Notes have none.
      ((try? JSON(parsing: String(line)).integer("downloadSize")).flatMap { $0 } ?? 0) > 0
    }
    // Written once a second; at once it may not be in the library yet.
    var stored: Int64 = 0
    for _ in 0..<100 where stored == 0 {
      let show = try await tool.run("show", "a", "--json")
      stored = try JSON(parsing: show.standardOutput).integer("downloadStopSize") ?? 0
    }
    #expect(stored > 0)
    process.kill(SIGKILL)
    _ = await process.wait()
    let asked = origin.media.exchanges.count
    origin.answer("a", with: sound)

    let second = DownloadRun(try await tool.start(words).wait())
    second.outcome.expect(69)
    #expect(second.errorCode == -8645)
    #expect(origin.media.exchanges.count == asked)
    let show = try JSON(parsing: try await tool.run("show", "a", "--json").standardOutput)
    #expect(try show.integer("downloadStopSize") ?? 0 >= stored)

    let before = origin.media.bodyBytes(under: "/a")
    let fresh = origin.playURL(OriginProgram.token(OriginProgram.claims("a", salt: 1)))
    let third = DownloadRun(try await tool.start(["download", fresh, "--events", "jsonl"]).wait())
    third.outcome.expect(0)
    #expect(third.notes(of: "a").contains("resumed"))
    #expect(Int64(origin.media.bodyBytes(under: "/a") - before) <= Int64(large.count) - stored)
    for run in [second, third] {
      #expect(!(run.outcome.standardOutput + run.outcome.standardError).contains("jwt=ey"))
    }
    let path = TemporaryDirectory.path + "/out"
    (try await tool.run("export", "a", "-o", path)).expect(0)
    let isSame = FileManager.default.contents(atPath: path) == Data(large)
    #expect(isSame)
  }

  @Test func `a one-time URL that was cut off early asks for a fresh one too`() async throws {
    let origin = try await OriginProgram("--one-time")
    try await origin.publish("a", randomBytes(4 << 20))
    origin.answer("a") { _ in Answer(503).delayed(by: .seconds(1)) }
    let stage = try CommandStage()
    let url = origin.playURL(OriginProgram.token(OriginProgram.claims("a")))
    let process = try stage.tool.start(["download", url])
    #expect(await eventually { !origin.media.exchanges.isEmpty })
    process.kill(SIGKILL)
    _ = await process.wait()
    let outcome = try await stage.tool.run(["download", url])
    outcome.expect(69)
    #expect(outcome.standardError.contains("hint: ") && outcome.standardError.contains("fresh URL"))
  }

  @Test func `a content that had a DRM callback stays refused`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("a", bytes, "--drm-callback", "https://127.0.0.1:9/drm")
    let stage = try CommandStage(origin: origin.url)
    let token = OriginProgram.token(OriginProgram.claims("a"))
    // Without a security key no answer could be believed, so nobody is asked.
    for _ in 0..<2 {
      let run = await download(token, from: origin, by: stage, "--json").expect(78)
      #expect(try code(run) == -8634)
    }
    await stage.run("download", "a").expect(78)
    await stage.run("download", "a", "--dry-run").expect(0)
    try await origin.publish("a", bytes)
    await stage.run("download", "a").expect(78)
    await stage.run("export", "a", "-o", TemporaryDirectory.path + "/out").expect(77)
    let run = await download(token, from: origin, by: stage, "--json").expect(78)
    #expect(try code(run) == -8634)
    #expect(origin.media.exchanges.isEmpty)
  }

  @Test func `a partial content whose manifest gains a DRM callback stays refused`() async throws {
    let origin = try await OriginProgram()
    try await origin.publish("a", bytes)
    origin.answer("a") { _ in Answer(503) }
    let stage = try CommandStage(origin: origin.url, ["retries": "0"])
    await stage.run("download", "a").expect(75)
    try await origin.publish("a", bytes, "--drm-callback", "https://127.0.0.1:9/drm")
    await stage.run("download", "a").expect(78)
    try await origin.publish("a", bytes)
    await stage.run("download", "a").expect(78)
  }
}
