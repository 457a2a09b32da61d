import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// What `renew` asks for, how it asks, and what it makes of an answer.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RenewTests {
  typealias Entry = DRMCallback.Entry

  static let hour = 3_600

  private static var now: Int { Int(Date().timeIntervalSince1970) }

  // MARK: Which contents

  /// Approvals (kind 1) and completions (kind 2) by name, and how soon each is due.
  private static func conditions() -> [(name: String, approval: Entry, completion: Entry)] {
    let far = now + 1_000 * hour
    func entry(_ approval: Entry, check: Int? = nil) -> (Entry, Entry) {
      (approval, Entry(["result": "1", "check_expiration_date": check.map(String.init)]))
    }
    let table: [(String, (Entry, Entry))] = [
      ("expired", entry(.granted(until: now - 10))),
      ("in 30 min", entry(.granted(until: now + hour / 2))),
      ("in 71 h", entry(.granted(until: now + 71 * hour))),
      ("in 73 h", entry(.granted(until: now + 73 * hour))),
      ("one play", entry(.granted(until: far, plays: 1))),
      ("two plays", entry(.granted(until: far, plays: 2))),
      // One showing of these contents takes 600 s.
      ("599 s", entry(.granted(seconds: 599))),
      ("600 s", entry(.granted(seconds: 600))),
      ("check in 71 h", entry(.granted(until: far), check: now + 71 * hour)),
      ("check in 73 h", entry(.granted(until: far), check: now + 73 * hour)),
      ("check passed", entry(.granted(until: far), check: now - 10)),
      ("unlimited", entry(.granted())),
    ]
    return table.map { ($0.0, $0.1.0, $0.1.1) }
  }

  private static let always = ["expired", "in 30 min", "one play", "599 s", "check passed"]

  /// A stage with a content for each condition, and one without a licence.
  private static func conditioned() async throws -> RenewStage {
    let stage = try RenewStage(0)
    let table = conditions()
    stage.callback.answer { item in
      guard let row = table.first(where: { $0.name == item.mck }) else { return Entry() }
      return item.kind == 1 ? row.approval : row.completion
    }
    for row in table { try stage.publish(row.name, by: stage.callback) }
    try stage.publish("free", by: nil)
    await stage.download(table.map(\.name) + ["free"])
    stage.callback.answer { _ in .granted(until: now + 500 * hour, plays: 20) }
    return stage
  }

  @Test(arguments: [
    ([], always + ["in 71 h", "check in 71 h"]), (["--within", "1h"], always),
    (["--within", "74h"], always + ["in 71 h", "check in 71 h", "in 73 h", "check in 73 h"]),
    (["--within", "0"], always.filter { $0 != "in 30 min" }),
    (["--all"], conditions().map(\.name)),
  ])
  func `what is due is planned, with reasons, then renewed`(_ words: [String], due: [String]) async throws {
    let stage = try await Self.conditioned()
    let plan = try await stage.run(["renew", "--dry-run", "--json"] + words).expect(0).json
    #expect(try plan.elements.map { try $0.string("mediaContentKey") ?? "" }.sorted() == due.sorted())
    for element in plan.elements {
      #expect(element.members.map(\.name) == ["mediaContentKey", "title", "reason"])
      #expect(try element.string("reason")?.isEmpty == false)
    }
    let text = await stage.run(["renew", "-n"] + words).expect(0).output
    for key in due { #expect(text.contains("\(key): would be renewed, ")) }
    #expect(text.hasSuffix("\(due.count) would be renewed\n"))
    #expect(stage.asked.isEmpty, "a dry run asked")
    let before = try await stage.plays()
    let results = try await stage.run(["renew", "--json"] + words).expect(0).json
    #expect(results.count == due.count)
    #expect(stage.asked(since: 0) == due.sorted())
    let after = try await stage.plays()
    for (key, plays) in after { #expect(plays == (due.contains(key) ? 20 : before[key])) }
    await stage.run(["play-check"] + due).expect(0)
  }

  @Test func `with nothing to do it ends well and says so, and not even that with --quiet`() async throws {
    let stage = try await RenewStage.downloaded(2)
    let count = stage.callback.items.count
    #expect(await stage.run("renew").expect(0).output == "nothing to renew\n")
    #expect(await stage.run("renew", "--only-failed").expect(0).output == "nothing to renew\n")
    for words in [[], ["--only-failed"], ["--dry-run"]] {
      let quiet = await stage.run(["renew", "--quiet"] + words).expect(0)
      #expect(quiet.output.isEmpty && quiet.errors.isEmpty)
      #expect(await stage.run(["renew", "--json"] + words).expect(0).output == "[]\n")
    }
    #expect(stage.callback.items.count == count)
  }

  @Test func `a plan after a renewal that failed in part shows what is left`() async throws {
    let stage = try await RenewStage.downloaded(12)
    let bad = stage.keys[4]
    stage.callback.answer { $0.mck == bad ? Entry(["result": "0"]) : .granted(plays: 5) }
    try await stage.renew("--all").expect(1)
    let plan = try await stage.run("renew", "--all", "--dry-run", "--json").expect(0).json
    #expect(try plan.elements.map { try $0.string("mediaContentKey") } == [bad])
    let failed = try await stage.run("renew", "--only-failed", "--dry-run", "--json").expect(0).json
    #expect(try failed.elements.map { try $0.string("mediaContentKey") } == [bad])
  }

  @Test func `named contents are renewed once each, and each odd one has its own result`() async throws {
    let stage = try await RenewStage.downloaded(3)
    let keys = stage.keys
    try stage.publish("free", by: nil)
    try stage.publish("refused", by: stage.callback)
    stage.callback.answer { _ in Entry(["result": "0"]) }
    await stage.download(["free"])
    await stage.run("download", "refused").expect(69)
    stage.callback.answer { _ in .granted(plays: 5) }
    try await stage.renew("nowhere").expect(66)
    try await stage.renew("refused").expect(65)
    let skipped = try await stage.renew("free").expect(0)
    #expect(try skipped.notes() == ["skipped"])
    #expect(skipped.items.map(\.isRenewed) == [false] && skipped.codes == ["free": 0])
    #expect(await stage.run("renew", "free").expect(0).output.contains("free: skipped"))
    #expect(stage.asked.isEmpty)
    let run = try await stage.renew(keys[1], "nowhere", keys[0], "free", "refused", keys[1]).expect(1)
    #expect(run.codes == [keys[0]: 0, keys[1]: 0, "nowhere": -8638, "free": 0, "refused": -8629])
    #expect(run.items.count == 5 && run.items.count(where: \.isRenewed) == 2)
    #expect(stage.asked(since: 0) == [keys[0], keys[1]])
    #expect(try await stage.plays()[keys[2]] == 3)
    #expect(await stage.run("renew", keys[1], "free").expect(0).output.hasSuffix("1 of 2 renewed\n"))
  }

  @Test(arguments: [
    ["k000", "--all"], ["k000", "--only-failed"], ["--all", "--only-failed"], ["--within", "soon"],
    ["--splay", "-1"], ["--within"],
  ])
  func `what contradicts itself is refused before anything is asked`(_ words: [String]) async throws {
    let stage = try await RenewStage.downloaded(1)
    let run = await stage.run(["renew", "--json"] + words).expect(64)
    #expect(run.output.isEmpty)
    expectShape(try #require(run.failures.first), Contract.failure)
    #expect(stage.asked.isEmpty)
  }

  // MARK: On the wire

  @Test func `ten contents a request, and no two callbacks in one`() async throws {
    let stage = try await RenewStage.downloaded(25)
    let other = try DRMCallback { _ in .granted(plays: 4) }
    let others = (0..<13).map { "other-\($0)" }
    for key in others { try stage.publish(key, by: other) }
    await stage.download(others)
    try await stage.renew("--all").expect(0)
    let requests = try RenewStage.requests(to: stage.callback)
    #expect(requests.map(\.count).sorted() == [5, 10, 10])
    let keys = try requests.joined().compactMap { try $0.string("media_content_key") }
    #expect(keys.sorted() == stage.keys)
    let otherRequests = try RenewStage.requests(to: other)
    #expect(otherRequests.map(\.count).sorted() == [3, 10])
    #expect(other.items.filter { $0.kind == 3 }.map(\.mck).sorted() == others.sorted())
  }

  @Test func `several requests are in flight, eight at most`() async throws {
    let stage = try await RenewStage.downloaded(150, ["timeout": "\"30s\""])
    let gate = Gate()
    stage.callback.override { _, answer in gate.passed(answer) }
    async let run = stage.renew("--all")
    #expect(await eventually { gate.arrivals >= 2 })
    let isMore = await eventually(within: .milliseconds(300)) { gate.arrivals > 8 }
    #expect(!isMore && gate.arrivals >= 2)
    gate.open()
    #expect(try await run.expect(0).items.count == 150)
    #expect(gate.arrivals == 15)
  }

  @Test func `an item says what the protocol wants of it`() async throws {
    let stage = try RenewStage(3)
    let (dated, checked, plain) = (stage.keys[0], stage.keys[1], stage.keys[2])
    let date = Self.now + 3_600
    stage.callback.answer { item in
      switch (item.mck, item.kind) {
      case (dated, 1): .granted(until: date)
      case (checked, 2): Entry(["result": "1", "check_expiration_date": "\(date - 60)"])
      default: Entry()
      }
    }
    await stage.download([dated, checked], "--cuid", "learner-17", "--uservalue", "0=course 9")
    await stage.download([plain])
    try await stage.renew("--all").expect(0)
    var later = stage
    later.stage.later = 7_200
    let begin = Self.now
    _ = try await later.renew("--all")
    var keys: Set<String> = []
    for key in stage.keys {
      let items = stage.callback.items(of: key, kind: 3)
      #expect(items.count == 2)
      for (number, item) in items.enumerated() {
        #expect(item.number("reset_req") == 1)
        #expect(item.text("start_at").flatMap { Int($0) } == item.number("localtime"))
        let offset = (item.number("localtime") ?? 0) - begin
        #expect(number == 0 ? offset < 100 : (7_200..<7_300).contains(offset), "\(offset)")
        let isPast = number == 1
        #expect(item.number("content_expired") == (isPast && key != plain ? 1 : 0))
        #expect(item.number("check_expired") == (isPast && key == checked ? 1 : 0))
        #expect(item.number("expiration_date") == (key == dated ? date : nil))
        #expect(item.text("client_user_id") == (key == plain ? nil : "learner-17"))
        let values = try #require(item.json.members.map { $0 }.last)
        #expect(values.name == "uservalues")
        #expect(values.value.rawText == (key == plain ? "{}" : "{\"uservalue0\":\"course 9\"}"))
        #expect(item.text("player_id")?.isEmpty == false && item.text("device_name")?.isEmpty == false)
        keys.insert(item.text("session_key") ?? "")
      }
    }
    #expect(keys.count == 6 && !keys.contains(""), "session keys: \(keys)")
  }

  // MARK: Deletion

  @Test(arguments: [0, 1])
  func `content_delete takes the key, then the file, then tells`(_ result: Int) async throws {
    let stage = try await RenewStage.downloaded(3)
    let key = stage.keys[1]
    let file = try await Self.mediaFile(of: key, stage)
    // A second name shows what was done to the file before it went.
    let link = "\(TemporaryDirectory.path)/link"
    try FileManager.default.linkItem(atPath: file, toPath: link)
    let before = FileManager.default.contents(atPath: link)
    let entry = Entry([
      "result": "\(result)", "content_delete": "1", "message": "\"Removed by the school.\"",
      "content_expire_reset": "1",
    ])
    stage.callback.answer { $0.mck == key ? entry : .granted(plays: 5) }
    let run = try await stage.renew("--all").expect(1)
    #expect(run.codes[key] == -8680)
    #expect(run.items.first { $0.key == key }?.message == "Removed by the school.")
    #expect(try run.notes() == ["removed"])
    #expect(!FileManager.default.fileExists(atPath: file))
    #expect(FileManager.default.contents(atPath: link) != before, "the key is still there")
    try await expectDeleted(key, stage)
    let count = stage.asked.count
    try await stage.renew("--all").expect(0)
    try await stage.renew(key).expect(65)
    #expect(!stage.asked.dropFirst(count).contains { $0.mck == key })
    // A kill between the commit and the file leaves it to the next run.
    try FileManager.default.moveItem(atPath: link, toPath: file)
    await stage.run("list").expect(0)
    #expect(!FileManager.default.fileExists(atPath: file))
    try await expectDeleted(key, stage)
  }

  private func expectDeleted(_ key: String, _ stage: RenewStage) async throws {
    let content = try #require(try await stage.listed()[key])
    #expect(try content.string("state") == "failed" && content.bool("downloaded") == false)
    #expect(try content.object("error")?.integer("code") == -8680)
    #expect(try content.bool("DRMExpired") == true)
    #expect(await stage.run("show", key).expect(0).output.contains("Removed by the school."))
    let check = try await stage.run("play-check", key, "--json").expect(65).json
    let reasons = try check.elements.first { _ in true }?.array("reasons")?.elements.map {
      try $0.integer("code")
    }
    #expect(reasons == [-8629, -8680])
  }

  private static func mediaFile(of key: String, _ stage: RenewStage) async throws -> String {
    let before = Set(try stage.stage.sealedFiles())
    // Its name tells nothing of the key, so the others are named by their absence.
    let other = stage.keys.filter { $0 != key }
    var twin = stage
    twin.stage = try CommandStage(origin: stage.site.url, name: "twin", try DRMCallback.settings())
    await twin.download(other)
    let names = Set(try twin.stage.sealedFiles().map { ($0 as NSString).lastPathComponent })
    return try #require(before.first { !names.contains(($0 as NSString).lastPathComponent) })
  }

  // MARK: Splay

  @Test func `a splayed renewal begins within its time`() async throws {
    let stage = try await RenewStage.downloaded(1)
    let start = ContinuousClock.now
    try RenewRun(await stage.start("--all", "--splay", "1s").wait()).expect(0)
    #expect(ContinuousClock.now - start < .seconds(10))
    #expect(stage.asked.count == 1)
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `a splayed renewal can be interrupted before it begins`(_ signal: Int32, status: Int) async throws {
    let stage = try await RenewStage.downloaded(1)
    let process = try stage.start("--all", "--splay", "1000h")
    let path = "/proc/\(process.pid)/status"
    // Signals are caught from the start of the command on.
    #expect(
      await eventually {
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
        let mask = line.flatMap { UInt64($0.dropFirst(7).filter { !$0.isWhitespace }, radix: 16) } ?? 0
        return mask & (1 << UInt64(SIGINT - 1)) != 0
      })
    process.kill(signal)
    let outcome = await process.wait()
    outcome.expect(status)
    expectOneDocument(outcome.standardOutput)
    #expect(stage.asked.isEmpty)
  }
}
