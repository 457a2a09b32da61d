import CurlKit
import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

/// What is believed of an answer, and what is not.
extension DRMClientTests {
  @Test func `the signed vector of the protocol is believed`() async throws {
    defer { engine.stop() }
    let token =
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJkYXRhIjpbeyJraW5kIjoxLCJtZWRpYV9jb250ZW50X2tleSI6IkFiQ2Q"
      + "xMjM0IiwicmVzdWx0IjoxLCJleHBpcmF0aW9uX2RhdGUiOjE4NjE5MTk5OTksImV4cGlyYXRpb25fY291bnQiOjIwLCJleHB"
      + "pcmF0aW9uX3BsYXl0aW1lIjo3MjAwLCJleHBpcmF0aW9uX3BsYXl0aW1lX3R5cGUiOjAsImV4cGlyYXRpb25fcmVmcmVzaF9"
      + "wb3B1cCI6MSwiY2hlY2tfYWJ1c2UiOjB9XX0.8XxS9cqyV6xDv2uCeiQJXQrY_2arorwixzYI7NTpSok"
    let before = WallClock.now()
    let reply = try await ask(
      Answer(200, text: token).with("x-kollus-userkey", "custom").with(
        "Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
    let answer = try reply.results[0].get()
    #expect(answer.isAllowed && answer.kind == .download && answer.mediaContentKey == "AbCd1234")
    #expect(answer.expirationDate == .value(1_861_919_999) && answer.expirationCount == .value(20))
    #expect(answer.expirationPlayTime == .value(7_200) && answer.playTimeType == .media)
    #expect(answer.asksBeforeRenewal == true && answer.checkAbuse == false && answer.vmCheck == nil)
    #expect(answer.checkExpirationDate == nil && answer.offlineBookmark == nil && answer.message == nil)
    #expect(reply.date == 784_111_777)
    #expect((before...WallClock.now()).contains(reply.deviceTime))
    #expect(reply.isTrusted)
  }

  @Test func `every answer of the protocol's examples is read`() async throws {
    defer { engine.stop() }
    func answers(_ payload: String, _ items: DRMItem...) async throws -> [DRMAnswer] {
      try await ask(Self.answer(payload), items).results.map { try $0.get() }
    }
    let policy = try await answers(
      #"""
      {"data":[{"kind":1,"media_content_key":"AbCd1234","result":1,"expiration_date":1861919999,
        "expiration_count":20,"expiration_playtime":7200,"expiration_playtime_type":0,
        "expiration_refresh_popup":1,"check_abuse":0,"offline_bookmark":{"download":1,"readonly":0}}]}
      """#, Self.item())
    #expect(policy[0].offlineBookmark == OfflineBookmark(download: 1))
    let refused = try await answers(
      #"{"data":[{"kind":1,"media_content_key":"AbCd1234","result":0,"message":"Course has ended."}]}"#,
      Self.item())
    #expect(!refused[0].isAllowed && refused[0].message == "Course has ended.")
    let complete = try await answers(
      #"{"data":[{"kind":2,"media_content_key":"AbCd1234","result":1,"content_delete":0,"check_expiration_date":1768435200}]}"#,
      Self.item("AbCd1234", .complete))
    #expect(complete[0].isAllowed && !complete[0].isDelete)
    #expect(complete[0].checkExpirationDate == .value(1_768_435_200))
    let renewal = #"""
      {"data":[{"kind":3,"media_content_key":"AbCd1234","result":1,"session_key":"s-000041","start_at":1767830400,
         "content_expired":0,"content_expire_reset":1,"expiration_date":1861919999,"expiration_count":20,
         "expiration_playtime":7200,"check_expiration_date":1769040000},
        {"kind":3,"media_content_key":"EfGh5678","result":1,"session_key":"s-000042","start_at":1767830400,
         "content_expired":1}]}
      """#
    let play = try await answers(renewal, Self.item("EfGh5678", .play), Self.item("AbCd1234", .play))
    #expect(play[0].isExpired && !play[0].isReset && play[0].sessionKey == "s-000042")
    #expect(play[1].isReset && !play[1].isExpired && play[1].sessionKey == "s-000041")
    #expect(play[1].expirationCount == .value(20) && play[1].checkExpirationDate == .value(1_769_040_000))
    let deleted = try await answers(
      #"""
      {"data":[{"kind":3,"media_content_key":"EfGh5678","result":1,"session_key":"s-000050","start_at":1767830500,
         "content_delete":1,"message":"Removed by the school."}]}
      """#, Self.item("EfGh5678", .play))
    #expect(deleted[0].isDelete && deleted[0].message == "Removed by the school.")
  }

  @Test func `white space at both ends and both alphabets of base64 are taken`() async throws {
    defer { engine.stop() }
    let payload = #"{"data":[\#(Self.allowed)],"exp":1,"iss":"???>>>~~~ÿ"}"#
    var parts = [#"{"alg":"HS256","typ":"JWT"}"#, payload].map { Data($0.utf8).base64EncodedString() }
    let signed = parts.joined(separator: ".")
    let key = SymmetricKey(bytes: Array(Self.securityKey.utf8))
    parts.append(Data(HMAC.sha256(Array(signed.utf8), key: key).bytes).base64EncodedString())
    let padded = parts.joined(separator: ".")
    #expect(padded.contains("=") && padded.contains("/"))
    for token in [padded, "\(Self.signed(payload))\n", "\r\n \t\(padded)\r\n\r\n"] {
      let reply = try await ask(
        Answer(200, text: token, type: "text/html").with("X-KOLLUS-USERKEY", " custom "))
      #expect(try reply.results[0].get().isAllowed)
    }
  }

  @Test func `a bare object is the answer to a single item only`() async throws {
    defer { engine.stop() }
    let answer = Self.answer(#"{"data":\#(Self.allowed)}"#)
    #expect(try await ask(answer).results[0].get().isAllowed)
    let error = await #expect(throws: KollusError.self) {
      _ = try await ask(answer, [Self.item(), Self.item("EfGh5678")])
    }
    #expect(error?.code == -8_635)
  }

  static let untrusted: [(body: String, headers: [(String, String)], code: Int, words: String)] = {
    let good = signed(#"{"data":[\#(allowed)]}"#)
    let custom = [("X-Kollus-UserKey", "custom")]
    func token(_ header: String) -> String {
      let start = "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL(#"{"data":[]}"#.utf8))"
      let key = SymmetricKey(bytes: Array(securityKey.utf8))
      return "\(start).\(Base64.encodeURL(HMAC.sha256(Array(start.utf8), key: key).bytes))"
    }
    func unsigned(_ header: String) -> String {
      "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL(#"{"data":[]}"#.utf8))."
    }
    let gzip = custom + [("Content-Encoding", "gzip")]
    return [
      ("", custom, -8_651, "is empty"), (" \r\n\t ", [], -8_651, "is empty"),
      (good, [], -8_634, "header is missing"),
      (good, [("X-Kollus-UserKey", " ")], -8_634, "header is missing"),
      (good, custom + [("x-kollus-userkey", "other")], -8_634, "two different"),
      ("<html><body>Welcome</body></html>", custom, -8_634, "is a web page"),
      (" \r\n<!doctype html>", custom, -8_634, "is a web page"),
      ("\u{1f}\u{8b}\u{8}\u{0}", gzip, -8_634, "is compressed"),
      ("<html>", custom + [("content-encoding", "br")], -8_634, "is compressed"),
      ("abc", custom + [("Content-Encoding", "Identity")], -8_634, "no signed token"),
      (unsigned(#"{"alg":"none"}"#), custom, -8_634, "'none', not HS256"),
      (unsigned(#"{"alg":"HS256","typ":"JWT"}"#), custom, -8_634, "it is not signed"),
      (unsigned("{"), custom, -8_634, "no signed token"),
      (#"{"data":[]}"#, custom, -8_634, "no signed token"),
      ("token: \(good)", custom, -8_634, "no signed token"),
      ("\"\(good)\"", custom, -8_634, "no signed token"),
      ("\u{FEFF}\(good)", custom, -8_634, "no signed token"),
      (token(#"{"alg":"none"}"#), custom, -8_634, "'none', not HS256"),
      (token(#"{"alg":"HS512","typ":"JWT"}"#), custom, -8_634, "'HS512', not HS256"),
      (token(#"{"alg":"\u001b[2J"}"#), custom, -8_634, #"'\u001b[2J', not HS256"#),
      (signed(#"{"data":[]}"#, "other"), custom, -8_634, "not signed with the security key"),
      (signed("[]"), custom, -8_635, "expected an object"), (signed("{"), custom, -8_635, "invalid JSON"),
      (signed("{}"), custom, -8_635, "data: missing"),
      (signed(#"{"data":null}"#), custom, -8_635, "data: expected an array"),
      (signed(#"{"data":"x"}"#), custom, -8_635, "data: expected an array"),
      (signed(#"{"data":[],"data":[]}"#), custom, -8_635, "data: appears twice"),
    ]
  }()

  @Test(arguments: untrusted.indices) func `what cannot be trusted or read is refused whole`(_ row: Int)
    async throws
  {
    defer { engine.stop() }
    let given = Self.untrusted[row]
    var answer = Answer(200, text: given.body)
    answer.headers += given.headers
    let error = try #require(try await failure(answer))
    #expect(error.kind == .badData && error.code == given.code)
    #expect(error.message.contains(given.words), "\(error.message)")
    #expect(!error.message.contains(Self.securityKey) && !error.message.contains("\n"))
  }

  @Test func `the same header twice is one`() async throws {
    defer { engine.stop() }
    var answer = Self.answer(#"{"data":[\#(Self.allowed)]}"#)
    answer.headers.append(("X-Kollus-UserKey", "custom"))
    #expect(try await ask(answer).results[0].get().isAllowed)
  }

  @Test func `a custom key that the configuration has not is named, once and printable`() async throws {
    defer { engine.stop() }
    let answer = Self.answer("{}").with(
      "X-Kollus-UserKey", "other\u{1B}[2J\"" + String(repeating: "x", count: 200))
    let error = try #require(try await failure(answer))
    #expect(error.kind == .configuration && error.code == -8_634)
    #expect(error.message.contains(#""other\u001b[2J\"xxx"#) && error.message.hasSuffix("x\"…"))
    #expect(error.message.count < 200)
    #expect(error.hint?.contains("'keys'") == true)
  }

  @Test(arguments: [Answer.Framing.length, .chunked])
  func `more than a mebibyte is not taken`(_ framing: Answer.Framing) async throws {
    defer { engine.stop() }
    let spaces = [UInt8](repeating: 0x20, count: 1 << 20)
    let full = Answer(200, spaces[...]).framed(framing).with("X-Kollus-UserKey", "custom")
    #expect(try await failure(full)?.code == -8_651)
    var more = full
    more.body = (spaces + [0x20])[...]
    let error = try await failure(more)
    #expect(error?.kind == .badData && error?.code == -8_634)
  }
}
