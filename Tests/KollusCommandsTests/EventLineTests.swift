import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// The lines of `--events jsonl`: what programs that follow a download build on.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct EventLineTests {
  let site: OriginSite
  let stage: CommandStage
  let content = OriginContent("a", bytes: randomBytes(300_000), digests: .none).with {
    $0.mediaMembers["segmentSize"] = "65536"
  }

  init() throws {
    site = try OriginSite()
    stage = try CommandStage(origin: site.url, ["retries": "0", "connections": "1"])
    try site.publish(content)
  }

  private static let contracts = [
    "note": Contract.note, "downloadContent": Contract.downloadEvent, "drmRequest": Contract.drmRequest,
    "drmUpdate": Contract.drmUpdate,
  ]

  /// The lines as objects, each checked against its contract, numbered from 1 without a gap.
  func events(_ text: String, at location: SourceLocation = #_sourceLocation) throws -> [JSON] {
    let events = JSONLines(text, at: location).objects
    for (number, event) in events.enumerated() {
      let name = try event.string("event") ?? ""
      expectShape(
        event, try #require(Self.contracts[name], "\(name)", sourceLocation: location), at: location)
      #expect(try event.integer("v") == 1, sourceLocation: location)
      #expect(try event.integer("seq") == Int64(number + 1), sourceLocation: location)
      let time = try #require(try event.string("at"), sourceLocation: location)
      #expect(ISO8601DateFormatter().date(from: time) != nil, "\(time)", sourceLocation: location)
      if name != "note", let error = try event.object("error") {
        expectShape(error, Contract.error, at: location)
      }
    }
    return events
  }

  func notes(_ events: [JSON]) throws -> [String] { try events.compactMap { try $0.string("note") } }

  /// Leaves a part of the content behind.
  func interrupt() async {
    let sound = content.handler
    site.answerMedia(of: "a") { request in
      request.earlier == 0 ? sound(request).cut(after: 200_000) : Answer(503)
    }
    await stage.run("download", "a", "--quiet").expect(75)
  }

  @Test func `success`() async throws {
    let run = await stage.run("download", "a", "--events", "jsonl").expect(0)
    #expect(run.errors.isEmpty)
    let events = try events(run.output)
    #expect(try notes(events) == ["resolved"])
    #expect(try events[0].string("message") == "Lecture")
    #expect(try events[1].integer("downloadProgress") == 0)
    #expect(try events[1].integer("fileSize") == 300_000)
    let last = try #require(events.last)
    #expect(try last.bool("downloaded") == true)
    #expect(try last.integer("downloadSize") == 300_000)
    #expect(try events.dropLast().allSatisfy { try $0.bool("downloaded") != true })
    let again = try self.events(await stage.run("download", "a", "--events", "jsonl").expect(0).output)
    #expect(again.count == 1, "a content that is here needs one line")
    let removed = try self.events(await stage.run("remove", "a", "--events", "jsonl").expect(0).output)
    #expect(try notes(removed) == ["removed"])
  }

  @Test func `failure`() async throws {
    let unknown = await stage.run("download", "nobody", "--events", "jsonl").expect(66)
    let events = try events(unknown.output)
    #expect(events.count == 1)
    #expect(try events[0].string("mediaContentKey") == "nobody")
    #expect(try events[0].object("error")?.integer("code") == -4012)
    await interrupt()
    let failed = try self.events(await stage.run("download", "a", "--events", "jsonl").expect(75).output)
    #expect(try notes(failed).prefix(2) == ["resolved", "resumed"])
    let last = try #require(failed.last)
    #expect(try last.object("error")?.integer("code") == -8503)
    let size = try #require(try last.integer("downloadSize"))
    #expect(size > 0 && size.isMultiple(of: 65_536))
    #expect(try last.bool("downloaded") == false)
  }

  @Test func `restart`() async throws {
    await interrupt()
    try site.publish(
      content.with {
        $0.bytes = randomBytes(300_000, seed: 2)
        $0.etag = "\"v2\""
      })
    let run = await stage.run("download", "a", "--events", "jsonl").expect(0)
    let events = try events(run.output)
    #expect(try notes(events).contains("resumed"))
    let restart = try #require(try events.firstIndex { try $0.string("note") == "restarted" })
    let sizes = try events[restart...].compactMap { try $0.integer("downloadSize") }
    #expect(sizes.first == 0 && sizes == sizes.sorted() && sizes.last == 300_000)
  }

  @Test func `join`() async throws {
    let sound = content.handler
    let isOpen = Protected(false)
    site.answerMedia(of: "a") { request in
      // Held until the second run has joined, ten seconds at most.
      for _ in 0..<5_000 where !isOpen.withLock({ $0 }) { usleep(2_000) }
      return sound(request)
    }
    async let first = stage.run("download", "a", "--events", "jsonl")
    #expect(await eventually { site.server.exchanges(under: "/contents/").count == 1 })
    #expect(await eventually { (try? stage.sealedFiles().count) == 1 })
    let second = Task { await stage.run("download", "a", "--events", "jsonl") }
    // It asks for the lock every tenth of a second; by then it has said so.
    try await Task.sleep(for: .milliseconds(400))
    isOpen.withLock { $0 = true }
    _ = try events(await first.expect(0).output)
    let joined = try events(await second.value.expect(0).output)
    #expect(try notes(joined) == ["joined"])
    #expect(try joined.last?.bool("downloaded") == true)
    #expect(site.mediaBytes(of: "a") == 300_000)
    #expect(site.manifestExchanges.count == 1)
  }

  @Test func `with a document the events are on the other stream`() async throws {
    let run = await stage.run("download", "a", "nobody", "--json", "--events", "jsonl").expect(1)
    #expect(Array(try run.json.elements).count == 2)
    let lines = run.failures
    // The last line is the failure itself, no event.
    let failure = try #require(lines.last)
    expectShape(failure, Contract.failure)
    let text = lines.dropLast().map { $0.rawText + "\n" }.joined()
    let events = try events(text)
    #expect(try events.contains { try $0.bool("downloaded") == true })
    #expect(try events.contains { try $0.object("error") != nil })
  }

  @Test
  func `no command puts anything else among the events`() async throws {
    await stage.run("download", "a").expect(0)
    for words in [["verify"], ["list"], ["show", "a"], ["remove", "a"]] {
      _ = try events(await stage.run(words + ["--events", "jsonl"]).expect(0).output)
    }
  }

  @Test func `approval, completion and renewal`() async throws {
    let callback = try DRMCallback { item in
      item.mck == "b" && item.kind == 3 ? .init(["result": "0", "message": #""not you""#]) : .init()
    }
    try stage.tool.configure(try DRMCallback.settings().merging(["origin": site.url.jsonQuoted]) { $1 })
    try site.publish(content.licensed(by: callback))
    try site.publish(OriginContent("b", bytes: randomBytes(1_000)).licensed(by: callback))
    let first = try events(await stage.run("download", "a", "--events", "jsonl").expect(0).output)
    let exchanges = try first.filter { try $0.string("event") == "drmRequest" }
    #expect(try exchanges.map { try $0.object("request")?.integer("kind") } == [1, 2])
    #expect(try exchanges.map { try $0.object("json")?.integer("kind") } == [1, 2])
    #expect(try notes(first) == ["resolved", "approved"])
    await stage.run("download", "b").expect(0)
    let words = ["renew", "--all", "--events", "jsonl"]
    let renewal = try events(await stage.run(words).expect(1).output)
    let updates = try renewal.filter { try $0.string("event") == "drmUpdate" }
    #expect(try updates.map { try $0.integer("cur") } == [1, 2])
    #expect(try updates.allSatisfy { try $0.integer("count") == 2 })
    #expect(try updates.map { try $0.object("error")?.integer("code") } == [nil, -8657])
    #expect(try renewal.count { try $0.string("event") == "drmRequest" } == 2)
    let refused = try #require(try renewal.last { try $0.string("event") == "drmRequest" })
    #expect(try refused.object("json")?.string("message") == "not you")
    #expect(try refused.object("error")?.string("message") == "not you")
  }

  @Test
  func `a rehearsal's failure names its content`() async throws {
    let plain = await stage.run("download", "nobody", "--dry-run").expect(66)
    #expect(plain.errors.hasPrefix("error: nobody: "), "\(plain.errors)")
    let run = await stage.run("download", "nobody", "--dry-run", "--json").expect(66)
    #expect(try run.failures.first?.string("mediaContentKey") == "nobody")
  }
}
