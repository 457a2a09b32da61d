import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// A download under a DRM callback: approval before the first byte, completion after the last.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceDownloadTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }
  private var mediaRequests: Int { bench.site.mediaExchanges(of: mck).count }

  private func events(_ run: CommandStage.Run) -> [JSON] { JSONLines(run.output).objects }

  @Test func `kind 1 comes before the first byte, kind 2 after the last`() async throws {
    let asked = Protected<[(kind: Int, media: Int)]>([])
    bench.callback.answer { [bench] item in
      let media = bench.site.mediaExchanges(of: bench.mck).count
      asked.withLock { $0.append((item.kind, media)) }
      return .init()
    }
    await bench.run("download", mck, "--cuid", "learner-17", "--uservalue", "3=course 9").expect(0)
    let order = asked.withLock { $0 }
    #expect(order.map(\.kind) == [1, 2])
    #expect(order.map(\.media) == [0, mediaRequests])
    for item in bench.callback.items {
      let player = try await bench.run("identity", "--json").json.string("playerID")
      #expect(item.text("player_id") == player)
      #expect(item.text("client_user_id") == "learner-17")
      #expect(item.text("device_name")?.isEmpty == false)
      #expect(abs((item.number("localtime") ?? 0) - LicenceStage.now) < 60)
      #expect(try item.json.member("uservalues")?.rawText == #"{"uservalue3":"course 9"}"#)
      for name in ["session_key", "start_at", "content_expired", "reset_req"] {
        #expect(try item.json.member(name) == nil, "\(name) is a member of kind 3 alone")
      }
    }
    for request in bench.callback.server.exchanges.map(\.request) {
      #expect(request.method == "POST" && request.path == "/cb/drm")
      let type = request.headers["content-type"]
      #expect(type?.hasPrefix("application/x-www-form-urlencoded") == true)
    }
  }

  @Test func `a refusal passes the message on, and an explicit download asks again`() async throws {
    bench.answer(1, .init(["result": "0", "message": #""Course has ended.""#]))
    let run = await bench.run("download", mck, "--events", "jsonl").expect(69)
    let last = try #require(try events(run).last?.object("error"))
    #expect(try last.integer("code") == -8655)
    #expect(try last.string("message") == "Course has ended.")
    let plain = await bench.run("download", mck).expect(69)
    #expect(plain.errors.contains("Course has ended. (-8655)"))
    #expect(bench.kinds == [1, 1])
    #expect(mediaRequests == 0)
    #expect(try bench.commands.sealedFiles().isEmpty)
    #expect(await bench.run("show", mck).output.contains("Course has ended."))
    try await bench.check().expect(65, [("notReady", -8629)])
    #expect(try await bench.shown().bool("DRMExpired") == false, "what was never granted has not expired")
    #expect(try await bench.commands.listed("--expired").isEmpty)
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
    try await bench.check().expect(0, [])
  }

  @Test(arguments: LicenceFault.unusable + LicenceFault.silent)
  func `without a usable answer to kind 1 nothing is downloaded`(_ fault: LicenceFault) async throws {
    fault.answer(1, of: bench.callback)
    let run = await bench.run("download", mck, "--json").expect(fault.status)
    #expect(try run.failures.first?.object("error")?.integer("code") == Int64(fault.code))
    #expect(bench.kinds == [1])
    #expect(mediaRequests == 0)
    #expect(try bench.commands.sealedFiles().isEmpty)
    try await bench.check().expect(65, [("notReady", -8629)])
    bench.callback.override(nil)
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
  }

  @Test func `without any security key nothing is asked`() async throws {
    try bench.tool.configure(["origin": bench.site.url.jsonQuoted])
    let run = await bench.run("download", mck).expect(78)
    #expect(run.errors.contains("keys"))
    #expect(bench.callback.server.exchanges.isEmpty)
    #expect(mediaRequests == 0)
    let settings = try DRMCallback.settings().merging(["origin": bench.site.url.jsonQuoted]) { $1 }
    try bench.tool.configure(settings)
    await bench.run("download", mck).expect(0)
  }

  @Test func `a busy callback is tried again, and its Retry-After is kept`() async throws {
    try bench.tool.configure(
      DRMCallback.settings().merging(["origin": bench.site.url.jsonQuoted, "retries": "1"]) { $1 })
    bench.callback.override { request, answer in request.earlier == 0 ? Answer(503) : answer }
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 1, 2])
    try bench.publish("b")
    bench.callback.override { _, _ in Answer(503).retryAfter("3600") }
    await bench.run("download", "b").expect(75)
    await bench.run("download", "b").expect(75)
    #expect(bench.callback.items(of: "b").count == 1, "the callback asked to be left alone")
  }

  @Test(arguments: [-660, 660])
  func `a clock eleven minutes off is refused`(_ offset: Int) async throws {
    let run = await bench.later(offset).run("download", mck, "--json").expect(69)
    #expect(try run.failures.first?.object("error")?.integer("code") == -8664)
    #expect(try await bench.shown().object("lastExchange")?.object("error")?.integer("code") == -8664)
    #expect(mediaRequests == 0)
    try await bench.check().expect(65, [("notReady", -8629)])
    await bench.run("download", mck).expect(0)
  }

  @Test(arguments: [-540, 540])
  func `a clock nine minutes off is fine`(_ offset: Int) async throws {
    bench.answer(1, .granted(until: LicenceStage.now + 86_400))
    await bench.later(offset).run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2])
    try await bench.later(offset).check().expect(0, [])
  }

  @Test func `a refused completion expires it by force until a renewal`() async throws {
    bench.answer(2, .init(["result": "0", "message": #""Too late.""#]))
    let run = await bench.run("download", mck, "--json").expect(69)
    let error = try #require(try run.failures.first?.object("error"))
    #expect(try error.integer("code") == -8656)
    #expect(try error.string("message") == "Too late.")
    #expect(try await bench.shown().string("state") == "ready")
    #expect(try await bench.commands.listed("--expired") == [mck])
    try await bench.expectHealing("forced", -8656)
  }

  /// Servers leave out what is 0, and words of white space are none.
  @Test(arguments: [(1, -8655, 69), (2, -8656, 69), (3, -8657, 77)] as [(Int, Int, Int32)])
  func `an answer without a result is a refusal, in our words where it has none`(
    _ kind: Int, _ code: Int, _ status: Int32
  ) async throws {
    if kind == 3 { await bench.run("download", mck).expect(0) }
    for (message, words) in [
      (nil, "customer's server"), (" \\n\\u3000", "customer's server"), ("No.", "No."),
    ] {
      if kind == 2 { await bench.run("remove", mck) }
      bench.answer(kind, .init(["message": message.map { "\"\($0)\"" }]))
      let run = await bench.run(kind == 3 ? "renew" : "download", mck, "--json").expect(status)
      let error = try #require(try run.failures.first?.object("error"))
      #expect(try error.integer("code") == Int64(code))
      #expect(try error.string("message")?.contains(words) == true, "\(error.rawText)")
    }
    if kind == 2 { try await bench.expectHealing("forced", -8656) }
  }

  @Test(
    arguments: [
      (1, Entry(["result": "0"]), -8655), (2, Entry(["result": "0"]), -8656), (2, Entry([:]), -8656),
      (2, Entry(["result": "1", "content_delete": "1"]), -8680), (1, Entry(), nil), (2, Entry(), nil),
    ] as [(Int, Entry, Int?)])
  func `the event of an exchange tells what came of it`(_ kind: Int, _ entry: Entry, _ code: Int?)
    async throws
  {
    bench.answer(kind, entry)
    let run = await bench.run("download", mck, "--events", "jsonl")
    let requests = try events(run).filter { try $0.string("event") == "drmRequest" }
    #expect(
      try requests.map { try $0.object("request")?.integer("kind") }
        == (code == nil ? [1, 2] : Array(1...Int64(kind))))
    for event in requests {
      expectShape(event, Contract.drmRequest)
      let isMeant = try event.object("request")?.integer("kind") == Int64(kind)
      #expect(try event.object("json")?.string("media_content_key") == mck, "the answer is told in any case")
      #expect(try event.object("error")?.integer("code") == (isMeant ? code.map(Int64.init) : nil))
    }
  }

  @Test func `patience asked for at the completion holds for the renewal that heals`() async throws {
    bench.callback.override { request, answer in
      String(decoding: request.body, as: UTF8.self).contains("%22kind%22%3A2")
        ? Answer(503).retryAfter("3600") : answer
    }
    await bench.run("download", mck).expect(75)
    try await bench.check().expect(77, [("forced", -8656)])
    bench.callback.override(nil)
    bench.answer(3, .granted(plays: 9))
    for words in [["renew", mck], ["renew"], ["renew", "--all"]] {
      let run = await bench.commands.run(words).expect(75)
      #expect(run.errors.contains("not to be called before 20"))
    }
    try await bench.check("--renew").expect(77, [("forced", -8656)])
    #expect(bench.kinds == [1, 2], "asked earlier than told")
    let later = bench.later(3_700)
    await later.run("renew", mck).expect(0)
    #expect(bench.kinds == [1, 2, 3])
    try await later.check().expect(0, [])
  }

  @Test func `an empty callback in the manifest gives nothing away`() async throws {
    try bench.site.publish(
      OriginContent("empty", bytes: bench.bytes).with { $0.members["channel"] = #"{"drmCallback":""}"# })
    let run = await bench.run("download", "empty", "--json").expect(65)
    #expect(run.errors.contains("channel.drmCallback"))
    #expect(bench.site.mediaExchanges(of: "empty").isEmpty)
    await bench.run("play-check", "empty").expect(66)
  }

  @Test func `an empty user value is not sent`() async throws {
    await bench.run("download", mck, "--uservalue", "0=", "--uservalue", "1=x").expect(0)
    for item in bench.callback.items {
      #expect(try item.json.member("uservalues")?.rawText == #"{"uservalue1":"x"}"#)
    }
  }

  @Test(arguments: LicenceFault.silent)
  func `a completion that nobody takes expires it by force until a renewal`(_ fault: LicenceFault)
    async throws
  {
    fault.answer(2, of: bench.callback)
    let run = await bench.run("download", mck, "--json").expect(fault.status)
    #expect(try run.failures.first?.object("error")?.integer("code") == -8656)
    #expect(run.errors.contains("\(fault.code)"), "the cause is told too")
    #expect(bench.kinds == [1, 2])
    #expect(try await bench.shown().string("state") == "ready")
    // An answer without a reset brings nothing back.
    bench.answer(3, .init())
    await bench.run("renew", mck).expect(77)
    bench.callback.override(nil)
    try await bench.expectHealing("forced", -8656)
  }

  @Test(arguments: LicenceFault.unusable)
  func `a completion with a useless answer is told again, and nothing else is`(_ fault: LicenceFault)
    async throws
  {
    fault.answer(2, of: bench.callback)
    let run = await bench.run("download", mck, "--json").expect(fault.status)
    #expect(try run.failures.first?.object("error")?.integer("code") == Int64(fault.code))
    try await bench.check().expect(65, [("notReady", -8629)])
    let requests = mediaRequests
    await bench.run("download", mck).expect(fault.status)
    bench.callback.override(nil)
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 2, 2])
    #expect(mediaRequests == requests, "all bytes were here")
    try await bench.check().expect(0, [])
  }

  @Test func `a deletion wipes the key, removes the file, then tells`() async throws {
    let link = TemporaryDirectory.path + "/link"
    let before = Protected(Data())
    bench.callback.answer { [bench] item in
      guard item.kind == 2 else { return .init() }
      // The page with the key, by a second name: it is still there when the file is gone.
      if let path = try? bench.commands.sealedFiles().first {
        try? FileManager.default.linkItem(atPath: path, toPath: link)
      }
      before.withLock { $0 = FileManager.default.contents(atPath: link)?.prefix(4_096) ?? Data() }
      return .init(["result": "0", "content_delete": "1", "message": #""Removed by the school.""#])
    }
    let run = await bench.run("download", mck, "--events", "jsonl").expect(77)
    #expect(before.withLock { $0.count } == 4_096)
    #expect(FileManager.default.contents(atPath: link)?.prefix(4_096) != before.withLock { $0 })
    #expect(try bench.commands.sealedFiles().isEmpty)
    let last = try #require(events(run).last)
    #expect(try last.object("error")?.integer("code") == -8680)
    #expect(try last.object("error")?.string("message") == "Removed by the school.")
    #expect(try last.bool("downloaded") == false)
    let check = try await bench.check()
    #expect(check.status == 65)
    #expect(try check.reasons().map(\.code) == [-8629, -8680])
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 1, 2], "a new download needs a new approval")
    try await bench.check().expect(0, [])
  }

  @Test func `a rehearsal sends no callback`() async throws {
    await bench.run("download", mck, "--dry-run").expect(0)
    #expect(bench.callback.server.exchanges.isEmpty)
  }

  @Test func `a new download of a missing file is asked for, a repair is not`() async throws {
    bench.answer(1, .granted(plays: 3))
    await bench.run("download", mck).expect(0)
    try bench.damage()
    await bench.run("verify", mck).expect(65)
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2], "a repair asks neither")
    try await bench.check().expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 3)
    try FileManager.default.removeItem(atPath: bench.mediaFile())
    bench.answer(1, .granted(plays: 5))
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 1, 2])
    #expect(try await bench.shown().integer("drmExpireCount") == 5)
    try await bench.check().expect(0, [])
  }

  @Test func `a repair does not bring an expired licence back`() async throws {
    bench.answer(2, .init(["result": "0"]))
    await bench.run("download", mck).expect(69)
    try bench.damage()
    await bench.run("verify", mck).expect(65)
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2])
    try await bench.check().expect(77, [("forced", -8656)])
  }

  @Test func `a manifest that later leaves the callback out changes nothing`() async throws {
    await bench.run("download", mck).expect(0)
    try bench.site.publish(OriginContent(mck, bytes: bench.bytes))
    try FileManager.default.removeItem(atPath: bench.mediaFile())
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 2, 1, 2])
    await bench.run("renew", mck).expect(0)
    #expect(bench.kinds.last == 3)
    await bench.run("export", mck, "-o", TemporaryDirectory.path + "/x").expect(77)
  }

  @Test func `a callback that is named in mid-download is asked before the next byte`() async throws {
    // The first URL has expired, so that the manifest is had again.
    let plain = OriginContent(mck, bytes: bench.bytes).with { $0.urls = [bench.site.url + "/expired.mp4"] }
    bench.site.answer("/expired.mp4") { _ in Answer(403) }
    let guarded = OriginContent(mck, bytes: bench.bytes).licensed(by: bench.callback)
    bench.site.answerManifest(of: mck) { [bench] request in
      let content = request.earlier == 0 ? plain : guarded
      return Answer(
        200, text: content.manifest(mediaURL: bench.site.mediaURL(of: bench.mck)), type: "application/json")
    }
    bench.answer(1, .init(["result": "0"]))
    await bench.run("download", mck).expect(69)
    #expect(bench.kinds == [1])
    #expect(mediaRequests == 0)
    try await bench.check().expect(65, [("notReady", -8629)])
    bench.callback.answer { _ in .init() }
    await bench.run("download", mck).expect(0)
    #expect(bench.kinds == [1, 1, 2])
    try await bench.check().expect(0, [])
  }

  @Test func `the configuration's callback fills a gap and then stays needed`() async throws {
    let other = try DRMCallback()
    let own = try DRMCallback.settings().merging(["origin": bench.site.url.jsonQuoted]) { $1 }
    try bench.tool.configure(own.merging(["drmCallback": other.url.jsonQuoted]) { $1 })
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes))
    await bench.run("download", mck, "plain").expect(0)
    #expect(other.items.map(\.mck) == ["plain", "plain"], "it does not replace the origin's")
    #expect(bench.kinds == [1, 2])
    await bench.run("renew", "--all").expect(0)
    #expect(other.items.count == 3 && bench.kinds == [1, 2, 3])
    try bench.tool.configure(own)
    let renewal = await bench.run("renew", "plain").expect(78)
    #expect(renewal.errors.contains("set 'drmCallback' in the configuration"))
    await bench.run("play-check", "plain").expect(0)
    await bench.run("export", "plain", "-o", TemporaryDirectory.path + "/x").expect(77)
    #expect(try await bench.run("show", "plain", "--json").json.bool("licenceNeeded") == true)
  }

  @Test func `a relative callback is the manifest's neighbor`() async throws {
    let kinds = Protected<[String]>([])
    bench.site.answer("/cb/drm") { request in
      kinds.withLock { $0.append(request.method) }
      let entry = #""media_content_key":"AbCd1234","result":1"#
      return DRMCallback.answer(payload: #"{"data":[{"kind":1,\#(entry)},{"kind":2,\#(entry)}]}"#)
    }
    try bench.site.publish(
      OriginContent(mck, bytes: bench.bytes).with {
        $0.members["channel"] = #"{"drmCallback":"../cb/drm"}"#
      })
    await bench.run("download", mck).expect(0)
    #expect(kinds.withLock { $0 } == ["POST", "POST"])
  }
}
