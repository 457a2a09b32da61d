import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PolicyControlTests {
  static let now = OriginStage.now
  static let asked = #","session_key":"s","start_at":"5","reset_req":1"#
  static let echoed = #""kind":3,"media_content_key":"k","session_key":"s","start_at":"5""#

  /// Serves with one entry for a kind of the content `k` and hands the answer to a request over.
  func ask(
    _ entry: String, kind: Int = 1, _ more: String = "",
    _ body: @escaping (LoopbackClient.Answer) throws -> Void
  ) async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(entry, kind: kind))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      try body(try DRMStage.ask(DRMStage.item(kind, more), port: port))
    }
  }

  @Test(
    arguments: [
      (
        1, #"{"@expiration_date":"30s"}"#, "",
        [#"{"kind":1,"media_content_key":"k","expiration_date":\#(now + 30)}"#]
      ),
      (
        2, #"{"@check_expiration_date":"-1h"}"#, "",
        [#"{"kind":2,"media_content_key":"k","check_expiration_date":\#(now - 3_600)}"#]
      ),
      (
        1, #"{"@expiration_date":90}"#, "",
        [#"{"kind":1,"media_content_key":"k","expiration_date":\#(now + 90)}"#]
      ),
      (
        1, #"{"expiration_date":"soon","result":1.0,"x":[null,{"y":1e3}]}"#, "",
        [#"{"kind":1,"media_content_key":"k","expiration_date":"soon","result":1.0,"x":[null,{"y":1e3}]}"#]
      ),
      (1, #"{"kind":9,"media_content_key":null}"#, "", [#"{"kind":9,"media_content_key":null}"#]),
      (3, "{}", asked, ["{\(echoed),\"content_expire_reset\":1}"]),
      (3, #"{"@reset":"never"}"#, asked, ["{\(echoed)}"]),
      (3, #"{"@reset":"always"}"#, "", [#"{"kind":3,"media_content_key":"k","content_expire_reset":1}"#]),
      (
        3, #"{"@reset":"asked"}"#, #","content_expired":"1""#,
        [#"{"kind":3,"media_content_key":"k","content_expire_reset":1}"#]
      ),
      (3, "{}", #","content_expired":0,"reset_req":0"#, [#"{"kind":3,"media_content_key":"k"}"#]),
      (3, #"{"content_expire_reset":2}"#, asked, ["{\(echoed),\"content_expire_reset\":2}"]),
      (
        3, #"{"session_key":"wrong","@reset":"never"}"#, asked,
        [#"{"kind":3,"media_content_key":"k","session_key":"wrong","start_at":"5"}"#]
      ),
      (
        3, #"{"result":1,"@omit":["session_key","kind","content_expire_reset","result"]}"#, asked,
        [#"{"media_content_key":"k","start_at":"5"}"#]
      ),
      (1, #"{"@times":0}"#, "", []),
      (
        1, #"{"result":1,"@times":2}"#, "",
        Array(repeating: #"{"kind":1,"media_content_key":"k","result":1}"#, count: 2)
      ),
      (1, #"{"@extra":[{"kind":7},1]}"#, "", [#"{"kind":1,"media_content_key":"k"}"#, #"{"kind":7}"#, "1"]),
    ] as [(Int, String, String, [String])])
  func `an entry says what an item gets`(
    _ kind: Int, _ entry: String, _ more: String, _ expected: [String]
  ) async throws {
    try await ask(entry, kind: kind, more) { answer in
      let answers = try answer.answers
      #expect(answers.count == expected.count)
      for (one, other) in zip(answers, expected) { #expect(try DRMStage.isSame(one, other), "\(one)") }
    }
  }

  @Test(
    arguments: [
      (#"{"@status":503,"@retryAfter":30}"#, 503, "retry-after", "30"),
      (
        #"{"@status":429,"@retryAfter":"Sun, 06 Nov 1994 08:49:37 GMT"}"#, 429, "retry-after",
        "Sun, 06 Nov 1994 08:49:37 GMT"
      ),
      (#"{"@status":500}"#, 500, "retry-after", nil),
      (#"{"@location":"/elsewhere"}"#, 302, "location", "/elsewhere"),
      (#"{"@location":"/elsewhere","@status":307}"#, 307, "location", "/elsewhere"),
      (#"{"@date":"-20m"}"#, 200, "date", "Fri, 15 Jan 2027 07:40:00 GMT"),
      (#"{"@date":"+1d"}"#, 200, "date", "Sat, 16 Jan 2027 08:00:00 GMT"),
      (#"{"@customKey":"other"}"#, 200, "x-kollus-userkey", "other"),
      (#"{"@customKey":null}"#, 200, "x-kollus-userkey", nil),
      (#"{"@contentType":"application/json"}"#, 200, "content-type", "application/json"),
      (#"{"@status":502,"@size":9000}"#, 502, "content-length", "9000"),
    ] as [(String, Int, String, String?)])
  func `a control changes the head and leaves the token as it is`(
    _ entry: String, _ status: Int, _ header: String, _ value: String?
  ) async throws {
    try await ask(entry) { answer in
      #expect(answer.status == status)
      #expect(answer.headers[header] == value)
      let token = answer.text.prefix { $0 != " " }
      _ = try JSONWebToken(verifying: String(token), key: DRMStage.key)
    }
  }

  @Test(arguments: [
    (#"{"@body":""}"#, ""), (#"{"@body":"<html>no</html>","@contentType":"text/html"}"#, "<html>no</html>"),
    (#"{"@body":"ab","@size":4}"#, "ab  "), (#"{"@body":"abc","@size":1}"#, "abc"),
  ])
  func `a body can be sent in place of the token`(_ entry: String, _ body: String) async throws {
    try await ask(entry) { #expect($0.text == body) }
  }

  @Test(arguments: [
    (#"{"@payload":"no JSON"}"#, "no JSON"), (#"{"@payload":"{}"}"#, "{}"),
    (#"{"@bare":true}"#, #"{"data":{"kind":1,"media_content_key":"k"}}"#),
    (#"{"@bare":true,"@times":0}"#, #"{"data":null}"#),
  ])
  func `a payload can be another, and well signed`(_ entry: String, _ payload: String) async throws {
    try await ask(entry) { #expect($0.text == JSONWebToken.signed(payload: payload, key: DRMStage.key)) }
  }

  @Test func `a token can be unsigned or signed by another key`() async throws {
    let payload = Base64.encodeURL(#"{"data":[{"kind":1,"media_content_key":"k"}]}"#.utf8)
    try await ask(#"{"@sign":"none"}"#) { answer in
      #expect(answer.text == "\(Base64.encodeURL(#"{"alg":"none","typ":"JWT"}"#.utf8)).\(payload).")
    }
    try await ask(#"{"@sign":"wrongKey"}"#) { answer in
      #expect(answer.text.split(separator: ".")[1] == payload)
      #expect(throws: JSONWebToken.Failure.signature) { try answer.claims }
    }
  }

  @Test(arguments: [(#"{"@cut":10}"#, 10), (#"{"@cut":0}"#, 0), (#"{"@size":"2M","@cut":"1M"}"#, 1 << 20)])
  func `a body is cut short of its length`(_ entry: String, _ count: Int) async throws {
    try await ask(entry) { answer in
      #expect(!answer.isComplete)
      #expect(answer.body.count == count)
    }
  }

  @Test func `a cut beyond the end cuts nothing`() async throws {
    try await ask(#"{"@cut":"1M"}"#) { answer in
      let answers = try answer.answers
      #expect(answers.count == 1)
    }
  }

  @Test func `a huge body is made as it is sent`() async throws {
    try await ask(#"{"@body":"a","@size":"3M"}"#) { answer in
      #expect(answer.isComplete)
      #expect(answer.body == [0x61] + Array(repeating: 0x20, count: 3 << 20 - 1))
    }
  }

  @Test func `a dropped connection gives no answer`() async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(#"{"@drop":true}"#))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let client = try LoopbackClient(port: port)
      try client.request(
        "/drm", method: "POST", headers: [DRMStage.formType], body: DRMStage.form(DRMStage.item()))
      #expect(try client.isAtEnd())
    }
  }

  @Test(arguments: [#"{"@delay":"0.2s"}"#, #"{"@stall":0.2}"#, #"{"@stall":"0.2s","@cut":20}"#])
  func `an answer takes its time`(_ entry: String) async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(entry))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let start = ContinuousClock.now
      let answer = try DRMStage.ask(DRMStage.item(), port: port)
      #expect(ContinuousClock.now - start >= .milliseconds(200))
      #expect(answer.isComplete != entry.contains("@cut"))
    }
  }

  @Test(arguments: ["@delay", "@stall"])
  func `the server ends without waiting for an answer that stands still`(_ control: String) async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(#"{"\#(control)":"1h"}"#))
    let start = ContinuousClock.now
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let client = try LoopbackClient(port: port)
      try client.request(
        "/drm", method: "POST", headers: [DRMStage.formType], body: DRMStage.form(DRMStage.item()))
      // The head of a stalled answer comes before it stands still.
      if control == "@stall" { #expect(try !client.isAtEnd()) }
    }
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `what one item asks for holds for the whole response, the first of two for itself`() async throws
  {
    let stage = try DRMStage.make(
      policy: #"""
        {"default":{"kind1":{"result":1}},
         "contents":{"a":{"kind1":{"@status":503}},"b":{"kind1":{"@status":500,"@retryAfter":7}}}}
        """#)
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let items = ["k", "a", "b"].map { #"{"kind":1,"media_content_key":"\#($0)"}"# }
      let answer = try DRMStage.ask("[\(items.joined(separator: ","))]", port: port)
      #expect(answer.status == 503)
      #expect(answer.headers["retry-after"] == "7")
      #expect(try answer.answers.count == 3)
    }
  }
}
