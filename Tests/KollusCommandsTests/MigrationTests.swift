import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Homes of every earlier schema, opened by this version.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct MigrationTests {
  @Test(arguments: EarlierHome.all)
  func `contents, bytes and folders are as they were left`(_ home: EarlierHome) async throws {
    let stage = try await home.stage()
    // The first time migrates, the second finds it done.
    for _ in 0..<2 {
      try home.expectList(await stage.run("list", "--json").expect(0).output)
    }
    let verified = try await stage.run("verify", "--json").expect(0).json
    let ready = home.contents.filter { $0.hasSuffix(" ready") }
    #expect(Array(verified.elements).count == ready.count)
    let file = "\(TemporaryDirectory.path)/unit-1"
    await stage.run("export", "unit-1", "-o", file).expect(0)
    let sum = try ChildProcess("/usr/bin/env", ["sha256sum", file], environment: ["PATH": "/usr/bin:/bin"])
    #expect(await sum.wait().standardOutput.hasPrefix(home.digest))
    #expect(try await stage.listed("--folder", "수학") == ["unit-1"])
    await stage.run("remove", "unit-1").expect(0)
    #expect(try await stage.listed() == Array(home.keys.dropFirst()))
  }

  @Test(arguments: EarlierHome.licensed)
  func `a licence is held, with what is left of it`(_ home: EarlierHome) async throws {
    let stage = try await home.stage()
    for words in [[], ["--deep"]] {
      let run = await stage.run(["play-check", "강의-2", "unit-1", "--json"] + words).expect(0)
      let found = try #require(Array(try run.json.elements).first)
      #expect(try found.bool("mayPlay") == true)
      try home.licensed?.expectCheck(found)
    }
    let refused = try await stage.run("play-check", "ended", "--json").expect(77).json
    let reasons = try #require(try Array(refused.elements).first?.array("reasons"))
    #expect(try reasons.elements.map { try $0.string("reason") } == ["forced"])
    // The time it knew still counts: a clock set back is noticed.
    let earlier = stage.with { $0.later -= 86_400 * 2 }
    #expect(await earlier.run("play-check", "강의-2", "--json").expect(77).output.contains("\"clock\""))
  }

  @Test func `a content that had to wait for licences gets one`() async throws {
    let home = try #require(EarlierHome.all.first)
    let licence = try LicenceStage()
    try licence.site.publish(
      OriginContent("강의-2", bytes: licence.bytes).licensed(by: licence.callback))
    let tool = licence.tool
    try await home.unpack(to: tool.home)
    let stage = licence.commands.with { $0.machineID = EarlierHome.machineID }
    await stage.run("download", "강의-2").expect(0)
    await stage.run("play-check", "강의-2", "unit-1").expect(0)
  }

  @Test(.enabled(if: SQLiteProgram.isInstalled), arguments: EarlierHome.reporting)
  func `reports are sent in their order, the last one of a killed play too`(_ home: EarlierHome) async throws
  {
    let receiver = try ScriptedServer { _ in Answer(200) }
    let stage = try await home.stage()
    await stage.run("lms", "list").expect(0)
    try await SQLiteProgram.change(
      "UPDATE report SET url = replace(url, '\(EarlierHome.receiver)', '\(receiver.url)')", of: stage.tool)
    let waiting = JSONLines(await stage.run("lms", "export").expect(0).output).objects
    #expect(try waiting.map { try $0.string("state") } == states)
    let flushed = try await stage.run("lms-flush", "--json").expect(0).json
    #expect(try flushed.integer("successCount") == 4 && flushed.integer("failCount") == 0)
    try expectSent(try waiting.filter { try $0.string("state") == "pending" }, to: receiver)
    // What was set aside can still be sent.
    await stage.run("lms", "requeue", "--all").expect(0)
    await stage.run("lms-flush").expect(0)
    try expectSent(waiting, to: receiver)
    #expect(await stage.run("lms", "list", "--json").expect(0).output == "[]\n")
  }

  /// States of the reports that are no receipts, the one made for the killed play last.
  private let states = ["pending", "pending", "aside", "aside", "pending", "pending"]

  /// Fails the test unless the receiver got these reports once each, those of a play in their order.
  private func expectSent(_ reports: [JSON], to receiver: ScriptedServer) throws {
    let bodies = receiver.exchanges.map { String(decoding: $0.request.body, as: UTF8.self) }
    #expect(try Set(bodies) == Set(reports.map { try $0.string("body") ?? "" }))
    #expect(bodies.count == reports.count)
    for start in Set(try reports.map { try $0.integer("startAt") }) {
      let wanted = try reports.filter { try $0.integer("startAt") == start }.map {
        try $0.string("body") ?? ""
      }
      #expect(bodies.filter(wanted.contains) == wanted)
    }
  }
}

extension EarlierHome.Licensed {
  /// Fails the test unless these are the licence's members in what `play-check` prints.
  func expectCheck(_ found: JSON, at location: SourceLocation = #_sourceLocation) throws {
    #expect(try found.integer("DRMExpireDate") == expireDate, sourceLocation: location)
    #expect(try found.integer("drmExpireCount") == playsLeft, sourceLocation: location)
    #expect(try found.integer("DRMExpirePlayTime") == playTimeLeft, sourceLocation: location)
  }
}
