import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// `kollus remove` by reason: what has run out, was watched, or is not used.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct ClearingTests {
  typealias Entry = DRMCallback.Entry

  let stage: LicenceStage

  init() throws { stage = try LicenceStage() }

  private func library() throws -> Library {
    try Library(Home(opening: stage.tool.home, machineID: stage.commands.machineID))
  }

  /// What would go, with the reasons told.
  private func rehearsed(
    _ words: String..., later seconds: Int = 0, at location: SourceLocation = #_sourceLocation
  ) async throws -> [String: [String]] {
    let run = await stage.later(seconds).commands.run(["remove", "-n", "--json"] + words).expect(
      0, at: location)
    var found: [String: [String]] = [:]
    for item in try run.json.elements {
      expectShape(item, Contract.removed, at: location)
      #expect(try item.bool("removed") == false, sourceLocation: location)
      #expect(try item.integer("size") ?? 0 > 0, sourceLocation: location)
      found[try item.string("mediaContentKey") ?? ""] = try item.array("reasons")?.elements.compactMap(
        \.string)
    }
    return found
  }

  // MARK: Expired

  @Test(
    arguments: [
      ("date", Entry.granted(until: LicenceStage.now + 1_000), 2_000, "ended at"),
      (
        "check date", Entry(["result": "1", "check_expiration_date": "\(LicenceStage.now + 1_000)"]), 2_000,
        "asked before"
      ),
      ("forced", Entry(["result": "1", "content_expired": "1"]), 0, "expired it"),
    ])
  func `a licence that has run out is a reason`(_ name: String, _ entry: Entry, _ later: Int, _ words: String)
    async throws
  {
    try stage.publish("other")
    // The check date comes with kinds 2 and 3 (PROTO 2.4), the limits with 1 and 3.
    stage.callback.answer { item in
      item.mck == stage.mck && item.kind == (name == "date" ? 1 : 2) && name != "forced" ? entry : .init()
    }
    await stage.run("download", stage.mck, "other").expect(0)
    if name == "forced" {
      stage.callback.answer { $0.mck == stage.mck ? entry : .init() }
      await stage.run("renew", stage.mck)
    } else {
      #expect(try await rehearsed("--expired").isEmpty)
    }
    let found = try await rehearsed("--expired", later: later)
    #expect(Array(found.keys) == [stage.mck])
    #expect(found[stage.mck]?.first?.contains(words) == true, "\(found)")
    let run = await stage.later(later).run("remove", "--expired").expect(0)
    #expect(run.output.contains("\(stage.mck): removed: ") && run.output.hasSuffix(" freed\n"))
    #expect(try await stage.commands.listed() == ["other"])
    #expect(await stage.later(later).run("remove", "--expired").expect(0).output == "nothing to remove\n")
  }

  @Test(
    .enabled(if: LicenceStage.hasShell),
    arguments: [
      "UPDATE licence SET used_count = 9", "DELETE FROM licence", "DELETE FROM ledger",
      "UPDATE ledger SET seen = seen + 9000000",
    ])
  func `one that is in doubt is none`(_ sql: String) async throws {
    await stage.download(.granted(until: LicenceStage.now + 1_000, plays: 3))
    try stage.edit(sql)
    #expect(try await rehearsed("--expired", later: 2_000).isEmpty)
    #expect(try await rehearsed("--expired").isEmpty)
  }

  @Test func `a clock that was set back is no reason`() async throws {
    await stage.download(.granted(plays: 1))
    let library = try library()
    let content = try #require(try await library.content(stage.mck))
    let play = try await library.beginViewing(of: stage.mck, by: "", at: 1) { _ in ("", "") }
    let kept = try await library.save(
      play, of: content, position: 0, charge: PlayCharge(plays: 1), reports: [], isOver: true, at: 1)
    try library.home.keepGeneration(try #require(kept).generation, of: stage.mck)
    #expect(try await rehearsed("--expired")[stage.mck]?.first?.contains("plays") == true)
    #expect(try await rehearsed("--expired", later: -7_200).isEmpty)
  }

  // MARK: Watched and unused

  /// A play of the content from the beginning, so many of its 600 seconds.
  private func watch(_ seconds: Double, of key: String, at time: Int64) async throws {
    let library = try library()
    let content = try #require(try await library.content(key))
    var log = ViewingLog(duration: 600, blockCount: 100)
    log.watch(0, seconds, clock: seconds)
    let encoded = log.encoded
    var play = try await library.beginViewing(of: key, by: "", at: time) { _ in ("", encoded) }
    play.log = encoded
    _ = try await library.save(
      play, of: content, position: 0, charge: PlayCharge(plays: 1), reports: [], isOver: true, at: time)
  }

  @Test func `what was watched to nine tenths may go`() async throws {
    for key in ["whole", "most", "half", "never"] {
      try stage.site.publish(OriginContent(key, bytes: stage.bytes))
    }
    try stage.site.publish(
      OriginContent("sample", bytes: stage.bytes).with { $0.members["contentType"] = "\"sample\"" })
    await stage.run("download", "whole", "most", "half", "never", "sample").expect(0)
    let now = Int64(Date().timeIntervalSince1970) + 1
    for (key, seconds) in [("whole", 600.0), ("most", 541), ("half", 539), ("sample", 600)] {
      try await watch(seconds, of: key, at: now)
    }
    let found = try await rehearsed("--watched")
    #expect(found == ["whole": ["watched to 100%"], "most": ["watched to 90%"]])
    // What was watched before the download does not count: it was fetched again to be seen again.
    await stage.run("remove", "whole").expect(0)
    await stage.later(100).run("download", "whole").expect(0)
    let again = try await rehearsed("--watched", later: 200)
    #expect(again.keys.sorted() == ["most"])
  }

  @Test func `what is not used may go`() async throws {
    try stage.site.publish(OriginContent("played", bytes: stage.bytes))
    try stage.site.publish(OriginContent("idle", bytes: stage.bytes))
    await stage.run("download", "played", "idle").expect(0)
    let day = 86_400
    try await watch(1, of: "played", at: Int64(LicenceStage.now + 20 * day))
    #expect(try await rehearsed("--unused", "10d").isEmpty)
    #expect(try await rehearsed("--unused", "10d", later: 25 * day).keys.sorted() == ["idle"])
    let both = try await rehearsed("--unused", "10d", later: 40 * day)
    #expect(both["idle"]?.first?.hasPrefix("never played, downloaded ") == true)
    #expect(both["played"]?.first?.hasPrefix("not played since ") == true)
    // Any reason is enough, and all are told.
    try await watch(600, of: "idle", at: Int64(Date().timeIntervalSince1970) + 1)
    let any = try await rehearsed("--watched", "--unused", "10d", later: 15 * day)
    #expect(any["idle"]?.count == 2 && any.count == 1)
  }

  @Test func `a download under a clock that was never set is no reason`() async throws {
    try stage.site.publish(OriginContent("early", bytes: stage.bytes))
    await stage.later(1_000_000 - LicenceStage.now).run("download", "early").expect(0)
    #expect(try await rehearsed("--unused", "30d").isEmpty)
  }

  @Test func `what is in use stays`() async throws {
    await stage.run("download", stage.mck).expect(0)
    let library = try library()
    let content = try #require(try await library.content(stage.mck))
    let lock = try library.home.lock(content: content.id)
    #expect(try await rehearsed("--unused", "1d", later: 90 * 86_400).isEmpty)
    withExtendedLifetime(lock) {}
  }

  @Test func `a rehearsal tells what and why, and how much`() async throws {
    await stage.run("download", stage.mck).expect(0)
    let run = await stage.later(90 * 86_400).run("remove", "--unused", "30d", "-n").expect(0)
    #expect(run.output.hasPrefix("\(stage.mck): would be removed (Lecture), never played, downloaded "))
    #expect(run.output.contains("\n") && run.output.hasSuffix("KiB would be freed\n"))
    #expect(try await stage.commands.listed() == [stage.mck])
  }

  @Test(arguments: [["--all", "--expired"], ["a", "--watched"], ["--unused", "soon"], []])
  func `what cannot be meant is refused`(_ words: [String]) async {
    await stage.commands.run(["remove"] + words).expect(64)
  }
}
