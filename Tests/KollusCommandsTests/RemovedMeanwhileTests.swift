import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Contents that go away while something is done with them.
@Suite(
  .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: LicenceStage.hasShell)
) struct RemovedMeanwhileTests {
  @Test func `a content removed while it is fetched is unknown, not interrupted`() async throws {
    let bench = try LicenceStage()
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes))
    let sound = OriginContent("plain", bytes: bench.bytes).handler
    bench.site.answerMedia(of: "plain") { request in
      // A failure here shows in the status of the download.
      try? bench.edit("DELETE FROM content WHERE mck = 'plain'")
      return sound(request)
    }
    let run = await bench.run("download", "plain").expect(66)
    #expect(run.errors.contains("removed meanwhile"))
    bench.site.answerMedia(of: "plain", with: sound)
    await bench.run("download", "plain").expect(0)
    let json = await bench.run("remove", "plain", "--json").expect(0)
    _ = try json.json
  }

  @Test func `a content removed while it is renewed is unknown, not interrupted`() async throws {
    let bench = try LicenceStage()
    await bench.run("download", bench.mck).expect(0)
    bench.callback.answer { item in
      // A failure here shows in the status of the renewal.
      try? bench.edit("DELETE FROM content")
      return .granted(plays: 2)
    }
    let run = await bench.run("renew", bench.mck, "--json").expect(66)
    let item = try #require(Array(try run.json.elements).first)
    #expect(try item.bool("renewed") == false)
    #expect(try item.object("error")?.string("message") == "the content was removed meanwhile")
    #expect(run.failures.contains { (try? $0.integer("status")) == 66 })
  }

  // MARK: A deletion among renewals

  @Test func `a renewal in which only a deletion failed leaves nothing to go on with`() async throws {
    let bench = try await RenewStage.downloaded(4)
    bench.callback.answer { item in
      item.mck == "k001" ? .init(["result": "1", "content_delete": "1"]) : .granted(plays: 5)
    }
    let first = try await bench.renew("--all")
    #expect(first.status != 0)
    #expect(first.codes == ["k000": 0, "k001": -8680, "k002": 0, "k003": 0])
    let left = ["k000", "k002", "k003"]
    for plays in [6, 7] {
      let count = bench.asked.count
      bench.callback.answer { _ in .granted(plays: plays) }
      let next = try await bench.renew("--all").expect(0)
      #expect(bench.asked(since: count) == left)
      #expect(next.keys == left)
      #expect(try !next.notes().contains("resumed"))
      try await bench.expectRenewed(left, plays: plays)
    }
  }

  @Test func `a failure besides the deletion is gone on with, then all are asked for again`() async throws {
    let bench = try await RenewStage.downloaded(4)
    bench.callback.answer { item in
      switch item.mck {
      case "k001": .init(["result": "1", "content_delete": "1"])
      case "k002": .init(["result": "0"])
      default: .granted(plays: 5)
      }
    }
    #expect(try await bench.renew("--all").status != 0)
    bench.callback.answer { _ in .granted(plays: 6) }
    var count = bench.asked.count
    _ = try await bench.renew("--all").expect(0)
    #expect(bench.asked(since: count) == ["k002"])
    count = bench.asked.count
    _ = try await bench.renew("--all").expect(0)
    #expect(bench.asked(since: count) == ["k000", "k002", "k003"])
  }
}
