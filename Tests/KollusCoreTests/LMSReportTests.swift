import JSONKit
import Testing

@testable import KollusCore

@Suite struct LMSReportTests {
  private static func session() -> LMSReport.Session {
    var session = LMSReport.Session(mediaContentKey: "AbCd1234", startAt: 1_767_830_500)
    session.contentProviderKey = "demo-school"
    session.clientUserID = "learner-17"
    session.playerID = "3f1c0d6e8a2b4c5d9e0f11223344556677889900"
    (session.hostName, session.device) = ("lms.example.net", "linux-cli")
    (session.encodingProfile, session.channelKey) = ("demo-mobile-hd", "chan77")
    session.userValues = #"{"uservalue0":"course-9"}"#
    return session
  }

  private static func log() -> ViewingLog {
    var log = ViewingLog(duration: 600, blockCount: 10)
    log.watch(0, 210, clock: 210)
    log.pass(245)
    return log
  }

  @Test func `the protocol's example comes out to the byte`() throws {
    let expected =
      #"{"user_info":{"content_provider_key":"demo-school","client_user_id":"learner-17","#
      + #""player_id":"3f1c0d6e8a2b4c5d9e0f11223344556677889900","host_name":"lms.example.net","#
      + #""device":"linux-cli","device_name":"linux-cli"},"#
      + #""content_info":{"duration":"600","encoding_profile":"demo-mobile-hd","#
      + #""media_content_key":"AbCd1234","channel_key":"chan77","start_at":"1767830500","#
      + #""last_play_at":"210","playtime":"210","real_playtime":"210","playtime_percent":"35","#
      + #""runtime":"245","showtime":"210"},"block_info":{"block_count":10,"blocks":{"#
      + #""b0":1,"t0":60,"p0":100,"b1":1,"t1":60,"p1":100,"b2":1,"t2":60,"p2":100,"b3":1,"t3":30,"p3":50,"#
      + #""b4":0,"t4":0,"p4":0,"b5":0,"t5":0,"p5":0,"b6":0,"t6":0,"p6":0,"b7":0,"t7":0,"p7":0,"#
      + #""b8":0,"t8":0,"p8":0,"b9":0,"t9":0,"p9":0}},"uservalues":{"uservalue0":"course-9"}}"#
    let report = try LMSReport(Self.session(), .play, Self.log())
    #expect(report.json == expected)
    let blocks = try #require(try JSON(parsing: expected).object("block_info"))
    #expect(report.blockJSON == blocks.rawText)
  }

  @Test func `empty texts and no user values are sent too`() throws {
    let session = LMSReport.Session(mediaContentKey: "k", startAt: -1)
    let json = try JSON(parsing: LMSReport(session, .stop, ViewingLog(duration: 0, blockCount: 5)).json)
    let user = try #require(try json.object("user_info"))
    #expect(
      user.members.map(\.name) == [
        "content_provider_key", "client_user_id", "player_id", "host_name", "device", "device_name",
      ])
    #expect(user.members.allSatisfy { $0.value.string == "" })
    let content = try #require(try json.object("content_info"))
    #expect(content.members.allSatisfy { $0.value.kind == .string })
    #expect(try content.string("start_at") == "-1")
    #expect(try json.object("block_info")?.rawText == #"{"block_count":1,"blocks":{"b0":0,"t0":0,"p0":0}}"#)
    #expect(try json.object("uservalues")?.rawText == "{}")
    #expect(json.members.map(\.name) == ["user_info", "content_info", "block_info", "uservalues"])
  }

  @Test func `seconds are rounded down`() throws {
    var log = ViewingLog(duration: 9.99, blockCount: 4)
    log.watch(0, 1.9, clock: 1.95)
    log.watch(3, 3.99, clock: 0.99)
    log.pass(3.999999)
    let report = try LMSReport(Self.session(), .play, log)
    let content = try #require(try JSON(parsing: report.json).object("content_info"))
    let values = try [
      "duration", "last_play_at", "playtime", "real_playtime", "playtime_percent", "runtime", "showtime",
    ]
    .map { try content.string($0) }
    #expect(values == ["9", "3", "2", "2", "28", "3", "2"])
    #expect(
      report.blockJSON
        == #"{"block_count":4,"blocks":{"b0":1,"t0":1,"p0":76,"b1":1,"t1":0,"p1":39,"#
        + #""b2":0,"t2":0,"p2":0,"b3":0,"t3":0,"p3":0}}"#
    )
  }

  @Test func `strange texts stay texts`() throws {
    var session = Self.session()
    session.clientUserID = "a\"}],\n\u{1B}[31m한 & 국"
    session.userValues = #"{"uservalue7":"\"},\u0000{","uservalue10":"십"}"#
    let json = try JSON(parsing: LMSReport(session, .play, Self.log()).json)
    #expect(try json.object("user_info")?.string("client_user_id") == session.clientUserID)
    #expect(try json.object("uservalues")?.string("uservalue7") == "\"},\u{0}{")
    #expect(try json.object("uservalues")?.members.map(\.name) == ["uservalue7", "uservalue10"])
  }

  @Test(arguments: [
    ("", "{}"), ("{}", "{}"),
    (#"{"uservalue1":"b","uservalue0":"a"}"#, #"{"uservalue0":"a","uservalue1":"b"}"#),
    (
      #"{"uservalue0":5,"uservalue1":true,"uservalue2":1.50}"#,
      #"{"uservalue0":"5","uservalue1":"true","uservalue2":"1.50"}"#
    ),
    (#"{"uservalue0":null,"uservalue1":[],"uservalue2":{}}"#, "{}"),
    (#"{"uservalue00":"a","uservalue100":"b","uservalue-1":"c","other":"d","uservalue":"e"}"#, "{}"),
    (#"{"uservalue99":""}"#, #"{"uservalue99":""}"#),
  ]) func `user values are sent as texts`(_ given: String, _ sent: String) throws {
    var session = Self.session()
    session.userValues = given
    let report = try LMSReport(session, .play, Self.log())
    #expect(try JSON(parsing: report.json).object("uservalues")?.rawText == sent)
  }

  @Test(arguments: ["[]", "null", "{", #"{"uservalue0":"a"}x"#, "5"])
  func `user values have to be an object`(_ text: String) {
    var session = Self.session()
    session.userValues = text
    #expect(throws: KollusError(.badData, "the user values are no JSON object")) {
      try LMSReport(session, .play, Self.log())
    }
  }

  private static let texts: [(String, any WritableKeyPath<LMSReport.Session, String> & Sendable)] = [
    ("content provider key", \.contentProviderKey), ("client user id", \.clientUserID),
    ("player id", \.playerID), ("host name", \.hostName), ("device", \.device),
    ("encoding profile", \.encodingProfile), ("media content key", \.mediaContentKey),
    ("channel key", \.channelKey),
  ]

  @Test(arguments: texts.indices) func `a text too long for a report is refused`(_ index: Int) throws {
    let (name, path) = Self.texts[index]
    var session = Self.session()
    session[keyPath: path] = String(repeating: "한", count: 341)
    _ = try LMSReport(session, .play, Self.log())
    session[keyPath: path] += "ab"
    #expect(throws: KollusError(.badData, "the \(name) is longer than the 1024 bytes a report can hold")) {
      try LMSReport(session, .play, Self.log())
    }
  }

  @Test func `the largest report is below 4 MiB`() throws {
    var session = Self.session()
    for (_, path) in Self.texts { session[keyPath: path] = String(repeating: "\u{7F}", count: 1_024) }
    let value = String(repeating: "\u{7F}", count: 32_000)
    session.userValues = #"{"uservalue0":"\#(value)"}"#
    var log = ViewingLog(duration: 1e9, blockCount: 100_000)
    log.watch(0, 1e9, clock: 1e9)
    let report = try LMSReport(session, .play, log)
    #expect(report.json.utf8.count < 4 << 20)
    let template = try #require(
      try LMSTemplate.read("https://lms.example/r?a={JSON_DATA}&b={JSON_DATA}").first)
    #expect(try template.expand(report).body.utf8.count < 16 << 20)
    session.userValues = #"{"uservalue0":"\#(value)\#(value)"}"#
    #expect(throws: KollusError.self) { try LMSReport(session, .play, log) }
  }
}
