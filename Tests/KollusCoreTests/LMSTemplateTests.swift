import CurlKit
import JSONKit
import Testing

@testable import KollusCore

@Suite struct LMSTemplateTests {
  private static func report(_ status: LMSReport.PlayStatus = .play, cuid: String = "learner-17") throws
    -> LMSReport
  {
    var session = LMSReport.Session(mediaContentKey: "AbCd1234", startAt: 1_767_830_500)
    (session.clientUserID, session.encodingProfile, session.device) = (cuid, "demo-mobile-hd", "linux cli/1")
    session.userValues = #"{"uservalue0":"course-9","uservalue12":"a&b=c"}"#
    var log = ViewingLog(duration: 600, blockCount: 10)
    log.watch(0, 210.9, clock: 105.5)
    log.watch(200, 210.9, clock: 10)
    log.pass(245.25)
    return try LMSReport(session, status, log)
  }

  private func body(_ query: String, _ report: LMSReport) throws -> String {
    let template = try #require(try LMSTemplate.read("https://lms.example/r?\(query)").first)
    let (url, body) = try template.expand(report)
    #expect(url == "https://lms.example/r")
    return body
  }

  @Test(arguments: [
    ("{CLIENT_USER_ID}", "learner-17"), ("{START_AT}", "1767830500"), ("{MEDIA_CONTENT_KEY}", "AbCd1234"),
    ("{ENCODING_PROFILE_KEY}", "demo-mobile-hd"), ("{DURATION}", "600"), ("{PLAY_TIME}", "221"),
    ("{REAL_PLAYTIME}", "210"), ("{PLAYTIME_PERCENT}", "36"), ("{RUN_TIME}", "245"),
    ("{PLAY_STATUS}", "play"),
    ("{DEVICE}", "linux%20cli%2F1"), ("{BLOCK_CNT}", "10"), ("{BLOCK_PLAY_1}", "1"), ("{BLOCK_PLAY_4}", "1"),
    ("{BLOCK_PLAY_5}", "0"), ("{BLOCK_PLAY_10}", "0"), ("{BLOCK_TIME_1}", "60"), ("{BLOCK_TIME_4}", "41"),
    ("{BLOCK_TIME_5}", "0"), ("{USERVALUE0}", "course-9"), ("{USERVALUE12}", "a%26b%3Dc"),
    ("{TIMEMAP_DATA}", ""),
    // Not there.
    ("{BLOCK_PLAY_0}", ""), ("{BLOCK_PLAY_11}", ""), ("{BLOCK_TIME_11}", ""), ("{USERVALUE1}", ""),
    ("{USERVALUE100}", ""), ("{BLOCK_PLAY_9223372036854775807}", ""),
    ("{BLOCK_PLAY_9223372036854775808}", ""),
    // Not known.
    ("{BLOCK_PLAY_}", ""), ("{BLOCK_PLAY_01}", ""), ("{USERVALUE00}", ""), ("{MAC}", ""), ("{X}", ""),
    // No placeholders.
    ("{}", "{}"), ("{json_data}", "{json_data}"), ("{Play_Time}", "{Play_Time}"),
    ("{PLAY_TIME", "{PLAY_TIME"),
    ("PLAY_TIME}", "PLAY_TIME}"), ("{1}", "{1}"), ("{_A}", "{_A}"), ("{PLAY-TIME}", "{PLAY-TIME}"),
    ("{{PLAY_TIME}}", "{221}"), ("{{}", "{{}"), ("{X{DURATION}", "{X600"), ("{%7D", "{%7D"),
  ]) func `each placeholder has its value`(_ placeholder: String, _ value: String) throws {
    #expect(try body("x=\(placeholder)&y=1", Self.report()) == "x=\(value)&y=1")
    #expect(try body(placeholder, Self.report()) == value)
  }

  @Test(arguments: [LMSReport.PlayStatus.play, .pause, .stop])
  func `the status is said in a word`(_ status: LMSReport.PlayStatus) throws {
    #expect(try body("s={PLAY_STATUS}", Self.report(status)) == "s=\(status.rawValue)")
  }

  @Test func `JSON comes as one encoded value`() throws {
    let report = try Self.report(cuid: "한 국&=+%\"")
    let body = try body("a=1&json={JSON_DATA}&b={PLAY_BLOCK_JSON}", report)
    let fields = body.split(separator: "&")
    try #require(fields.count == 3)
    #expect(decoded(fields[1].dropFirst(5)) == report.json)
    #expect(decoded(fields[2].dropFirst(2)) == report.blockJSON)
    #expect(!body.contains("+") && !body.contains(" "))
  }

  @Test func `the protocol's example of a template`() throws {
    let template = try #require(
      try LMSTemplate.read(
        "30:https://lms.example.net/r?json_data={JSON_DATA}&client_user_id={CLIENT_USER_ID}"
          + "&start_at={START_AT}&uservalue0={USERVALUE0}"
      ).first)
    let report = try Self.report()
    let (url, body) = try template.expand(report)
    #expect(template.period == 30)
    #expect(url == "https://lms.example.net/r")
    let json = String(decoding: WebAddress.encode(Array(report.json.utf8)), as: UTF8.self)
    #expect(body == "json_data=\(json)&client_user_id=learner-17&start_at=1767830500&uservalue0=course-9")
  }

  @Test(arguments: [
    ("https://lms.example/{CLIENT_USER_ID}/{X}p{DURATION}?", "a/b c", "https://lms.example/a%2Fb%20c/p600"),
    ("https://lms.example/{CLIENT_USER_ID}", "한?#&", "https://lms.example/%ED%95%9C%3F%23%26"),
    ("https://lms.example/{a}/r", "x", "https://lms.example/{a}/r"),
    ("https://LMS.example:8443", "x", "https://lms.example:8443/"),
    ("https://lms.example/{CLIENT_USER_ID}/r", "..", "https://lms.example/%2E%2E/r"),
  ]) func `placeholders in the path have values too`(_ line: String, _ cuid: String, _ url: String) throws {
    let template = try #require(try LMSTemplate.read(line).first)
    let expanded = try template.expand(Self.report(cuid: cuid))
    #expect(expanded.url.lowercased() == url.lowercased())
    #expect(expanded.body == "")
    #expect(WebAddress(expanded.url) != nil, "it can be sent to")
  }

  @Test func `what the query has is kept, but for what ASCII has not`() throws {
    #expect(
      try body("a=%20+b&c=\"<>|^`\\&&한=é?&d", Self.report()) == "a=%20+b&c=\"<>|^`\\&&%ED%95%9C=%C3%A9?&d")
    #expect(try body("a={DURATION}#f={DURATION}", Self.report()) == "a=600", "a fragment is not sent")
    #expect(try body("", Self.report()) == "")
  }

  @Test(arguments: [
    ("https://a.example/r?x", [60], ["60:https://a.example/r?x"]),
    ("http://a.example", [60], ["60:http://a.example/"]),
    ("1:https://a.example/r", [1], ["1:https://a.example/r"]),
    ("86400:HTTPS://A.Example/R?{X}", [86_400], ["86400:https://A.Example/R?{X}"]),
    ("007:https://a.example/r", [7], ["7:https://a.example/r"]),
    ("60:../lms?json_data={JSON_DATA}", [60], ["60:https://origin.example/lms?json_data={JSON_DATA}"]),
    ("/lms/{START_AT}", [60], ["60:https://origin.example/lms/{START_AT}"]),
    ("//b.example/lms", [60], ["60:https://b.example/lms"]),
    (
      "\n 30:https://a.example/r \r\n\r\n\thttps://b.example/r\n", [30, 60],
      ["30:https://a.example/r", "60:https://b.example/r"]
    ),
    ("", [], []), (" \r\n\n\t", [], []),
  ]) func `the console's form is read`(_ text: String, _ periods: [Int], _ texts: [String]) throws {
    let templates = try LMSTemplate.read(text, relativeTo: WebAddress("https://origin.example/contents/k"))
    #expect(templates.map(\.period) == periods)
    #expect(templates.map(\.text) == texts)
    #expect(
      try LMSTemplate.read(texts.joined(separator: "\n")) == templates, "it reads back without the base")
  }

  @Test(arguments: [
    ("0:https://a.example/", "its seconds"), ("86401:https://a.example/", "its seconds"),
    ("99999999999999999999:https://a.example/", "its seconds"), ("-1:https://a.example/", "no usable"),
    ("+60:https://a.example/", "no usable"), ("60s:https://a.example/", "no usable"), ("60:", "no usable"),
    (":https://a.example/", "no usable"), ("60", "no usable"), ("60:60:https://a.example/", "no usable"),
    ("ftp://a.example/", "no usable"), ("60:javascript:x", "no usable"),
    ("https://u:p@a.example/", "no usable"),
    ("https://{DEVICE}.example/", "no usable"), ("https://a.example:{START_AT}/", "no usable"),
    ("?json_data={JSON_DATA}", "no usable"), ("../lms", "no usable"),
    ("https://a.example/r?a b", "a space"), ("https://a.example/r?a\u{1}", "a space"),
    ("https://a.example/r?\u{1B}[31m", "a space"), ("60: https://a.example/", "a space"),
    ("https://a.example/?" + String(repeating: "x", count: 8_192), "longer than 8192"),
  ]) func `what is not of the form is refused, and the line named`(_ line: String, _ reason: String) {
    for kind in [KollusError.Kind.badData, .configuration] {
      let error = #expect(throws: KollusError.self) {
        try LMSTemplate.read("https://a.example/ok\n\(line)", failingAs: kind)
      }
      #expect(error?.kind == kind)
      #expect(error?.message.hasPrefix("line 2 of the LMS callback is not usable: ") == true)
      #expect(error?.message.contains(reason) == true)
      #expect(error?.message.utf8.allSatisfy { $0 >= 0x20 } == true)
    }
  }

  @Test(arguments: [0, 1]) func `a template of the greatest length reads back`(_ excess: Int) throws {
    let start = "https://a.example/r?"
    let line = start + String(repeating: "x", count: LMSTemplate.lineLimit - 3 - start.count + excess)
    guard excess == 0 else {
      #expect(throws: KollusError.self) { try LMSTemplate.read(line) }
      return
    }
    let templates = try LMSTemplate.read(line)
    #expect(try templates.first.map { try LMSTemplate.read($0.text) } == templates)
  }

  @Test func `there are sixteen templates at most`() throws {
    let line = "https://a.example/r\n"
    #expect(try LMSTemplate.read(String(repeating: line, count: 16)).count == 16)
    #expect(throws: KollusError.self) { try LMSTemplate.read(String(repeating: line, count: 17)) }
  }

  @Test(arguments: ["https://a.example/{JSON_DATA}{JSON_DATA}", "https://a.example/{USERVALUE0}"])
  func `a URL that comes out too long is refused`(_ line: String) throws {
    var session = LMSReport.Session(mediaContentKey: "k", startAt: 0)
    session.userValues = #"{"uservalue0":"\#(String(repeating: "x", count: 8_192))"}"#
    let report = try LMSReport(session, .play, ViewingLog(duration: 600, blockCount: 100))
    let template = try #require(try LMSTemplate.read(line).first)
    let error = #expect(throws: KollusError.self) { try template.expand(report) }
    #expect(error?.kind == .badData)
  }

  @Test func `a form that comes out too long is refused`() throws {
    let line = "https://a.example/?" + String(repeating: "{JSON_DATA}", count: 700)
    let template = try #require(try LMSTemplate.read(line).first)
    let small = try LMSReport(
      LMSReport.Session(mediaContentKey: "k", startAt: 0), .play, ViewingLog(duration: 6, blockCount: 1))
    _ = try template.expand(small)
    let large = try LMSReport(
      LMSReport.Session(mediaContentKey: "k", startAt: 0), .play, ViewingLog(duration: 6, blockCount: 5_000))
    #expect(throws: KollusError.self) { try template.expand(large) }
  }

  /// The text that a percent-encoded one stands for.
  private func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
