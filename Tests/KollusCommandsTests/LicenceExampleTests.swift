import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Every example answer of PROTO §2.7, at the time it was written for, and what it does.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceExampleTests {
  typealias Entry = DRMCallback.Entry

  /// `AbCd1234` and `EfGh5678`, on the first day of 2026.
  static let day = 1_767_225_600
  static let other = "EfGh5678"

  let bench: LicenceStage

  init() throws {
    bench = try LicenceStage().at(Self.day)
    try bench.publish(Self.other)
  }

  private var mck: String { bench.mck }

  static let approval = Entry([
    "result": "1", "expiration_date": "1861919999", "expiration_count": "20", "expiration_playtime": "7200",
    "expiration_playtime_type": "0", "expiration_refresh_popup": "1", "check_abuse": "0",
    "offline_bookmark": #"{"download":1,"readonly":0}"#,
  ])
  static let completion = Entry([
    "result": "1", "content_delete": "0", "check_expiration_date": "1768435200",
  ])
  static let reset = Entry([
    "result": "1", "start_at": "1767830400", "content_expired": "0", "content_expire_reset": "1",
    "expiration_date": "1861919999", "expiration_count": "20", "expiration_playtime": "7200",
    "check_expiration_date": "1769040000",
  ])

  private func download() async {
    bench.callback.answer { $0.kind == 1 ? Self.approval : Self.completion }
    await bench.run("download", mck, Self.other).expect(0)
  }

  @Test func `approval, completion and the hidden deadline`() async throws {
    await download()
    let json = try await bench.shown()
    #expect(try json.integer("DRMExpireDate") == 1_861_919_999)
    #expect(try json.integer("DRMCheckDate") == 1_768_435_200)
    #expect(try json.integer("drmExpireCountMax") == 20)
    #expect(try json.integer("drmExpireCount") == 20)
    #expect(try json.integer("drmTotalExpirePlayTime") == 7_200)
    #expect(try json.integer("DRMExpirePlayTime") == 7_200)
    #expect(try json.bool("DRMExpireRefreshPopup") == true)
    #expect(try json.bool("DRMExpired") == false)
    try await bench.check().expect(0, [])
    try await bench.at(1_768_435_199).check().expect(0, [])
    try await bench.at(1_768_435_200).check().expect(77, [("checkDate", -8687)])
    try await bench.at(1_861_919_999).check().expect(77, [("checkDate", -8687), ("date", -8643)])
  }

  @Test func `refusal of a download`() async throws {
    bench.answer(1, .init(["result": "0", "message": #""Course has ended.""#]))
    let run = await bench.run("download", mck, "--json").expect(69)
    let error = try #require(try run.failures.first?.object("error"))
    #expect(try error.integer("code") == -8655)
    #expect(try error.string("message") == "Course has ended.")
    #expect(bench.site.mediaExchanges(of: mck).isEmpty)
  }

  @Test(arguments: ["renew", "play-check"])
  func `renewal with reset beside a forced expiry`(_ verb: String) async throws {
    await download()
    let late = bench.at(1_768_500_000)
    bench.callback.answer { item in
      item.mck == Self.other
        ? .init(["result": "1", "start_at": "1767830400", "content_expired": "1"]) : Self.reset
    }
    let words = verb == "renew" ? [verb] : [verb, "--renew"]
    let run = await late.commands.run(words + [mck, Self.other, "--json"]).expect(verb == "renew" ? 1 : 77)
    let results = Array(try run.json.elements)
    #expect(try results.map { try $0.bool("renewed") } == [true, false])
    if verb == "renew" { for result in results { expectShape(result, Contract.renewed) } }
    let failure = try results[1].object(verb == "renew" ? "error" : "renewalError")
    #expect(try failure?.integer("code") == -8658)
    #expect(bench.callback.server.exchanges.count == 5, "both were asked for in one request")
    let items = bench.callback.items.filter { $0.kind == 3 }
    #expect(items.count == 2)
    for item in items {
      #expect(item.number("check_expired") == 1 && item.number("content_expired") == 1)
      #expect(item.number("expiration_date") == 1_861_919_999)
      #expect(Int(item.text("start_at") ?? "") != nil)
    }
    try await late.check().expect(0, [])
    #expect(try await late.shown().integer("DRMCheckDate") == 1_769_040_000)
    #expect(try await late.shown().bool("DRMExpireRefreshPopup") == true)
    let other = try await late.run("play-check", Self.other, "--json").expect(77).json
    #expect(try Array(other.elements).first?.integer("code") == -8658)
    #expect(try Array(other.elements).first?.bool("DRMExpired") == true)
  }

  @Test func `deletion`() async throws {
    await download()
    bench.callback.answer { _ in
      .init([
        "result": "1", "start_at": "1767830500", "content_delete": "1",
        "message": #""Removed by the school.""#,
      ])
    }
    let run = await bench.run("renew", Self.other, "--events", "jsonl").expect(77)
    let events = JSONLines(run.output).objects
    let removed = try events.firstIndex { try $0.string("note") == "removed" }
    let update = try events.firstIndex { try $0.string("event") == "drmUpdate" }
    #expect(try #require(removed) < #require(update))
    #expect(try events[try #require(removed)].string("message") == "Removed by the school.")
    #expect(try events[try #require(update)].object("error")?.integer("code") == -8680)
    #expect(try bench.commands.sealedFiles().count == 1)
    await bench.run("play-check", Self.other).expect(65)
    try await bench.check().expect(0, [])
  }

  @Test func `the signed vector`() async throws {
    let token = """
      eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJkYXRhIjpbeyJraW5kIjoxLCJtZWRpYV9jb250ZW50X2tleSI6IkFiQ2QxMjM0Iiwi\
      cmVzdWx0IjoxLCJleHBpcmF0aW9uX2RhdGUiOjE4NjE5MTk5OTksImV4cGlyYXRpb25fY291bnQiOjIwLCJleHBpcmF0aW9uX3BsYXl0aW1l\
      Ijo3MjAwLCJleHBpcmF0aW9uX3BsYXl0aW1lX3R5cGUiOjAsImV4cGlyYXRpb25fcmVmcmVzaF9wb3B1cCI6MSwiY2hlY2tfYWJ1c2UiOjB9\
      XX0.8XxS9cqyV6xDv2uCeiQJXQrY_2arorwixzYI7NTpSok
      """
    bench.callback.override { request, answer in
      request.earlier == 0 ? DRMCallback.answer(token).with("Date", nil) : answer.with("Date", nil)
    }
    await bench.run("download", mck).expect(0)
    let json = try await bench.shown()
    #expect(try json.integer("DRMExpireDate") == 1_861_919_999)
    #expect(try json.integer("drmExpireCountMax") == 20)
    #expect(try json.integer("drmTotalExpirePlayTime") == 7_200)
  }
}
