import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// What `play-check` says, and how it ends.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayCheckTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }

  /// `good` may be played, `expired` was expired by the server, `refused` was never downloaded, `damaged` is.
  private func stock() async throws {
    try bench.publish("good", "expired", "refused", "damaged")
    bench.callback.answer { item in
      switch (item.mck, item.kind) {
      case ("expired", 3): .init(["result": "1", "content_expired": "1"])
      case ("refused", 1): .init(["result": "0"])
      default: .init()
      }
    }
    await bench.run("download", "damaged").expect(0)
    try bench.damage()
    await bench.run("verify", "damaged").expect(65)
    await bench.run("download", "good", "expired", "refused").expect(1)
    await bench.run("renew", "expired").expect(77)
  }

  @Test func `the exit status is that of the worst finding`() async throws {
    try await stock()
    let cases: [([String], Int32)] = [
      (["good"], 0), (["expired"], 77), (["refused"], 65), (["damaged"], 65), (["nobody"], 66),
      (["good", "expired"], 77), (["expired", "nobody"], 66), (["nobody", "good"], 66),
      (["good", "expired", "nobody", "damaged"], 65), (["refused", "expired"], 65),
    ]
    for (keys, status) in cases {
      await bench.commands.run(["play-check"] + keys).expect(status)
      let quiet = await bench.commands.run(["play-check", "--quiet"] + keys).expect(status)
      #expect((quiet.output + quiet.errors).isEmpty == (status == 0), "\(keys)")
      let json = await bench.commands.run(["play-check", "--json"] + keys).expect(status)
      let findings = Array(try json.json.elements)
      #expect(try findings.map { try $0.string("mediaContentKey") } == keys)
      for finding in findings {
        let isKnown = try finding.string("mediaContentKey") != "nobody"
        expectShape(finding, isKnown ? Contract.judged : Contract.unjudged)
        for reason in try finding.array("reasons")?.elements.map({ $0 }) ?? [] {
          expectShape(reason, Contract.reason)
        }
        if let error = try finding.object("error") { expectShape(error, Contract.error) }
      }
      #expect(json.failures.count == (keys.contains("nobody") ? 1 : 0))
    }
    await bench.run("play-check").expect(64)
  }

  @Test func `people are told the reason, its code and the way out`() async throws {
    try await stock()
    let good = await bench.run("play-check", "good").expect(0)
    #expect(good.output == "good: may be played: no limit\n")
    let expired = await bench.run("play-check", "expired").expect(77)
    let lines = expired.output.split(separator: "\n")
    #expect(lines.first == "expired: may not be played")
    #expect(lines.contains { $0.hasSuffix("(-8658)") })
    #expect(lines.last?.hasPrefix("  hint: run 'kollus renew'") == true)
    #expect(await bench.run("play-check", "nobody").errors.hasPrefix("error: nobody: "))
  }

  @Test func `--renew heals what does not play, and asks for nothing else`() async throws {
    try await stock()
    let before = bench.callback.items.count
    bench.callback.answer { _ in .granted(plays: 4) }
    let run = await bench.run("play-check", "good", "expired", "--renew", "--json").expect(0)
    let findings = Array(try run.json.elements)
    #expect(try findings.map { try $0.bool("renewed") } == [false, true])
    #expect(try findings[1].integer("drmExpireCount") == 4)
    let items = bench.callback.items.dropFirst(before)
    #expect(items.map(\.mck) == ["expired"])
    #expect(items.first?.number("content_expired") == 1)
    // What no renewal can help is not asked for.
    await bench.run("play-check", "refused", "damaged", "nobody", "good", "--renew").expect(65)
    #expect(bench.callback.items.count == before + 1)
  }

  @Test(
    arguments: [
      (Entry(["result": "0", "message": #""Not you.""#]), -8657, "Not you."),
      (
        Entry(["result": "1", "content_expire_reset": "1", "session_key": #""other""#]), -8681, "session key"
      ),
      (Entry(["result": "1", "expiration_count": #""3""#]), -8636, "expiration_count"),
      (.missing, -8682, "no entry"),
      (Entry(["result": "1"]), -8658, "reset"),
    ])
  func `a renewal that fails keeps the stored verdict and says why`(
    _ entry: Entry, _ code: Int, _ words: String
  ) async throws {
    try await stock()
    bench.callback.answer { _ in entry }
    let run = await bench.run("play-check", "expired", "--renew", "--json").expect(77)
    let finding = try #require(Array(try run.json.elements).first)
    #expect(try finding.integer("code") == -8658)
    #expect(try finding.bool("renewed") == false)
    let error = try #require(try finding.object("renewalError"))
    expectShape(error, Contract.error)
    #expect(try error.integer("code") == Int64(code))
    #expect(error.rawText.contains(words), "\(error.rawText)")
    let plain = await bench.run("play-check", "expired", "--renew").expect(77)
    #expect(plain.errors.contains("(\(code))"), "\(plain.errors)")
    #expect(plain.output.contains("(-8658)"))
  }

  @Test func `without the network --renew leaves the stored verdict`() async throws {
    try await stock()
    bench.callback.server.stop()
    let run = await bench.run("play-check", "good", "expired", "--renew", "--json").expect(77)
    let findings = Array(try run.json.elements)
    #expect(try findings.map { try $0.bool("mayPlay") } == [true, false])
    #expect(try findings[1].object("renewalError")?.integer("code") == -9007)
    #expect(try findings[1].integer("code") == -8658)
  }

  @Test func `--deep finds a byte that turned in secret`() async throws {
    await bench.run("download", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
    try bench.damage()
    try await bench.check().expect(0, [])
    try await bench.check("--deep").expect(65, [("damaged", -8646)])
    try await bench.check().expect(65, [("notReady", -8629), ("damaged", -8646)])
    await bench.run("download", mck).expect(0)
    try await bench.check("--deep").expect(0, [])
  }

  @Test func `a touched file is read, and a sound one passes`() async throws {
    await bench.run("download", mck).expect(0)
    let path = try bench.mediaFile()
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
    try await bench.check().expect(0, [])
    try bench.damage()
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 2)], ofItemAtPath: path)
    let check = try await bench.check()
    #expect(check.status == 65)
    try FileManager.default.removeItem(atPath: path)
    #expect(try await bench.check().status == 65)
  }

  @Test func `a file that is gone is missing, not tampered with`() async throws {
    await bench.run("download", mck).expect(0)
    try FileManager.default.removeItem(atPath: bench.mediaFile())
    try await bench.check().expect(65, [("notReady", -8629)])
    #expect(try await bench.shown().bool("DRMExpired") == false)
  }

  @Test func `a trip's needs are held against what is left`() async throws {
    let end = LicenceStage.now + 10 * 86_400
    await bench.download(.granted(until: end, plays: 3, seconds: 7_200))
    let cases: [([String], [String])] = [
      ([], []), (["--until", "9d"], []), (["--until", "11d"], ["date"]), (["--plays", "3"], []),
      (["--plays", "4"], ["count"]), (["--watch", "2h"], []), (["--watch", "121m"], ["playTime"]),
      (["--until", "2099-01-01", "--plays", "9", "--watch", "9h"], ["date", "count", "playTime"]),
    ]
    for (words, missing) in cases {
      let run = await bench.commands.run(["play-check", mck, "--json"] + words)
      let finding = LicenceStage.Finding(
        json: try #require(Array(try run.json.elements).first), status: run.status)
      #expect(run.status == (missing.isEmpty ? 0 : 77), "\(words)")
      #expect(try finding.json.bool("mayPlay") == true)
      #expect(try finding.json.bool("lasts") == (words.isEmpty ? nil : missing.isEmpty))
      #expect(try finding.reasons("shortfalls").map(\.name) == missing)
    }
    let plain = await bench.run("play-check", mck, "--plays", "4").expect(77)
    #expect(plain.output.hasPrefix("\(mck): may be played now, but will not last\n"))
    for words in [["--plays", "0"], ["--until", "someday"], ["--watch", "-1"], ["--until", "2026-02-30"]] {
      await bench.commands.run(["play-check", mck] + words).expect(64)
    }
    // A renewal before leaving is what can help.
    bench.answer(3, .granted(plays: 100))
    let renewed = await bench.run("play-check", mck, "--plays", "50", "--renew", "--json").expect(0)
    #expect(try Array(renewed.json.elements).first?.bool("lasts") == true)
  }

  // MARK: A server that wants to be asked before each play

  private static let asking = Entry(["result": "1", "check_abuse": "1"])

  @Test func `a content that is asked for at each play plays only when it was just asked for`() async throws {
    await bench.download(Self.asking)
    let check = try await bench.check()
    try check.expect(77, [("network", -8657)], "the server must be asked before each play")
    #expect(try check.json.bool("needsNetwork") == true && check.json.bool("checkAbuse") == true)
    #expect(try check.json.bool("DRMExpired") == false)
    #expect(await bench.run("play-check", mck).expect(77).output.contains("before each play (-8657)"))
    #expect(bench.kinds == [1, 2], "asked without --renew")
    bench.answer(3, .init())
    for count in 1...2 {
      let renewed = try await bench.check("--renew")
      try renewed.expect(0, [])
      #expect(try renewed.json.bool("renewed") == true)
      let items = bench.callback.items(of: mck, kind: 3)
      #expect(items.count == count, "asked each time, also when nothing has expired")
      #expect(items.last?.number("content_expired") == 0)
    }
    #expect(await bench.run("play-check", mck, "--renew").output.contains("asked before each play"))
    try await bench.check().expect(77, [("network", -8657)])
    let trip = try await bench.check("--renew", "--plays", "1")
    #expect(trip.status == 77)
    #expect(try trip.json.bool("mayPlay") == true && trip.json.bool("lasts") == false)
    #expect(try trip.reasons("shortfalls").map(\.name) == ["network"])
    // The server may give that up.
    bench.answer(3, .init(["result": "1", "check_abuse": "0"]))
    try await bench.check("--renew").expect(0, [])
    try await bench.check().expect(0, [])
  }

  @Test(
    arguments: [
      (Entry(["result": "0"]), -8657, []), (Entry([:]), -8657, []), (.missing, -8682, []),
      (Entry(["result": "1", "check_abuse": "2"]), -8636, []),
      (Entry(["result": "1", "content_expired": "1"]), -8658, [("forced", -8658)]),
    ] as [(Entry, Int, [(String, Int)])])
  func `it does not play when the server was asked in vain`(
    _ entry: Entry, _ code: Int, _ reasons: [(String, Int)]
  ) async throws {
    await bench.download(Self.asking)
    bench.answer(3, entry)
    let check = try await bench.check("--renew")
    try check.expect(77, reasons + [("network", -8657)])
    #expect(try check.json.bool("renewed") == false)
    #expect(try check.json.object("renewalError")?.integer("code") == Int64(code))
    #expect(bench.kinds == [1, 2, 3])
  }

  @Test func `nor when the server cannot be asked, or wants to be left alone`() async throws {
    await bench.download(Self.asking)
    bench.callback.override { _, _ in Answer(503).retryAfter("3600") }
    for _ in 0..<2 {
      let waiting = try await bench.check("--renew")
      try waiting.expect(77, [("network", -8657)])
      #expect(try waiting.json.object("renewalError")?.integer("code") == -9503)
    }
    #expect(bench.kinds == [1, 2, 3])
    try bench.tool.configure(["origin": bench.site.url.jsonQuoted])
    try await bench.later(3_700).check("--renew").expect(77, [("network", -8657)])
    try bench.tool.configure(
      DRMCallback.settings().merging(["origin": bench.site.url.jsonQuoted, "retries": "0"]) { $1 })
    bench.callback.server.stop()
    let offline = try await bench.later(3_700).check("--renew")
    try offline.expect(77, [("network", -8657)])
    #expect(try offline.json.object("renewalError")?.integer("code") == -9007)
  }

  @Test(.enabled(if: LicenceStage.hasShell))
  func `a renewal that cannot begin has asked nobody`() async throws {
    await bench.download(Self.asking)
    bench.answer(3, .init())
    try bench.edit(
      "CREATE TRIGGER no BEFORE INSERT ON renewal_batch BEGIN SELECT RAISE(ABORT, 'no room'); END")
    let check = try await bench.check("--renew")
    try check.expect(77, [("network", -8657)])
    #expect(try check.json.bool("renewed") == false)
    #expect(try check.json.object("renewalError") != nil)
    #expect(bench.kinds == [1, 2])
    try bench.edit("DROP TRIGGER no")
    try await bench.check("--renew").expect(0, [])
  }

  @Test func `damage and expiry come before the server's wish to be asked`() async throws {
    let end = LicenceStage.now + 60
    await bench.download(.init(Self.asking.members.merging(["expiration_date": "\(end)"]) { $1 }))
    try await bench.later(120).check().expect(77, [("date", -8643), ("network", -8657)])
    try bench.damage()
    try await bench.check("--deep").expect(65, [("damaged", -8646), ("date", -8643), ("network", -8657)])
    await bench.run("play-check", mck, "--renew").expect(65)
    #expect(bench.kinds == [1, 2], "no answer mends a file")
  }

  @Test(
    arguments: [
      ("", true), ("y", true), ("Yes ", true), ("n", false), ("No", false), ("아니요", false), (nil, true),
    ] as [(String?, Bool)])
  func `a licence that wants it is renewed only when the person at the terminal agrees`(
    _ answer: String?, _ isRenewed: Bool
  ) async throws {
    let popup = ["result": "1", "expiration_refresh_popup": "1"]
    await bench.download(.init(popup.merging(["expiration_date": "\(LicenceStage.now + 60)"]) { $1 }))
    bench.answer(3, .granted())
    var commands = bench.later(120).commands
    commands.answer = answer
    let run = await commands.run("play-check", mck, "--renew").expect(isRenewed ? 0 : 77)
    #expect(commands.questions.withLock { $0.count } == (answer == nil ? 0 : 1))
    #expect(bench.callback.items(of: mck, kind: 3).count == (isRenewed ? 1 : 0))
    #expect(run.output.contains("nobody is there") == (answer == nil), "\(run.output)")
  }

  @Test func `a script is never asked`() async throws {
    let popup = [
      "result": "1", "expiration_refresh_popup": "1", "expiration_date": "\(LicenceStage.now + 60)",
    ]
    await bench.download(.init(popup))
    bench.answer(3, .granted())
    var commands = bench.later(120).commands
    commands.answer = "n"
    let run = await commands.run("play-check", mck, "--renew", "--json").expect(0)
    #expect(try Array(run.json.elements).first?.bool("DRMExpireRefreshPopup") == true)
    #expect(commands.questions.withLock { $0 }.isEmpty)
  }

  @Test func `a renewal at the same time is never taken for tampering`() async throws {
    bench.callback.answer { _ in .granted(plays: 5) }
    await bench.run("download", mck).expect(0)
    let isOver = Protected(false)
    async let checks: Int = {
      var count = 0
      while !isOver.withLock({ $0 }) {
        await bench.run("play-check", mck).expect(0)
        count += 1
      }
      return count
    }()
    for _ in 0..<60 { await bench.run("renew", mck).expect(0) }
    isOver.withLock { $0 = true }
    #expect(await checks > 10)
  }
}
