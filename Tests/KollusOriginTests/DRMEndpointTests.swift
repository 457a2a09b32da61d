import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import ServerKit
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct DRMEndpointTests {
  /// The signed example of the protocol reference.
  static let vector =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJkYXRhIjpbeyJraW5kIjoxLCJtZWRpYV9jb250ZW50X2tleSI6IkFiQ2Qx"
    + "MjM0IiwicmVzdWx0IjoxLCJleHBpcmF0aW9uX2RhdGUiOjE4NjE5MTk5OTksImV4cGlyYXRpb25fY291bnQiOjIwLCJleHBpcmF"
    + "0aW9uX3BsYXl0aW1lIjo3MjAwLCJleHBpcmF0aW9uX3BsYXl0aW1lX3R5cGUiOjAsImV4cGlyYXRpb25fcmVmcmVzaF9wb3B1cC"
    + "I6MSwiY2hlY2tfYWJ1c2UiOjB9XX0.8XxS9cqyV6xDv2uCeiQJXQrY_2arorwixzYI7NTpSok"

  @Test func `the signed example of the protocol reference is reproduced`() async throws {
    let stage = try DRMStage.make(
      policy: #"""
        {"contents":{"AbCd1234":{"kind1":{"result":1,"expiration_date":1861919999,"expiration_count":20,
          "expiration_playtime":7200,"expiration_playtime_type":0,"expiration_refresh_popup":1,
          "check_abuse":0}}}}
        """#)
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let answer = try DRMStage.ask(
        #"""
        [{"kind":1,"client_user_id":"learner-17","player_id":"3f1c0d6e8a2b4c5d9e0f",
          "device_name":"demo/linux-cli","media_content_key":"AbCd1234",
          "uservalues":{"uservalue0":"course-9"},"localtime":1767225600}]
        """#, port: port)
      #expect(answer.status == 200)
      #expect(answer.text == Self.vector)
      #expect(answer.headers["x-kollus-userkey"] == "demo")
      #expect(answer.headers["cache-control"] == "no-store")
    }
  }

  /// Policy of a content's kind, the item asked, and the answer in the protocol reference.
  static let examples = [
    (
      1, #"{"result":0,"message":"Course has ended."}"#, "",
      #"{"kind":1,"media_content_key":"k","result":0,"message":"Course has ended."}"#
    ),
    (
      1,
      #"""
      {"result":1,"expiration_date":1861919999,"expiration_refresh_popup":1,
       "offline_bookmark":{"download":1,"readonly":0}}
      """#,
      "",
      #"""
      {"kind":1,"media_content_key":"k","result":1,"expiration_date":1861919999,
       "expiration_refresh_popup":1,"offline_bookmark":{"download":1,"readonly":0}}
      """#
    ),
    (
      2, #"{"result":1,"content_delete":0,"check_expiration_date":1768435200}"#, "",
      #"{"kind":2,"media_content_key":"k","result":1,"content_delete":0,"check_expiration_date":1768435200}"#
    ),
    (
      3,
      #"""
      {"result":1,"content_expired":0,"expiration_date":1861919999,"expiration_count":20,
       "expiration_playtime":7200,"check_expiration_date":1769040000}
      """#,
      #","start_at":1767830400,"session_key":"s-000041","content_expired":1,"check_expired":0,"reset_req":1"#,
      #"""
      {"kind":3,"media_content_key":"k","result":1,"session_key":"s-000041","start_at":1767830400,
       "content_expired":0,"content_expire_reset":1,"expiration_date":1861919999,"expiration_count":20,
       "expiration_playtime":7200,"check_expiration_date":1769040000}
      """#
    ),
    (
      3, #"{"result":1,"content_expired":1,"@reset":"never"}"#,
      #","start_at":"1767830400","session_key":"s-000042","content_expired":0,"reset_req":1"#,
      #"""
      {"kind":3,"media_content_key":"k","result":1,"session_key":"s-000042","start_at":"1767830400",
       "content_expired":1}
      """#
    ),
    (
      3, #"{"result":1,"content_delete":1,"message":"Removed by the school."}"#,
      #","start_at":null,"session_key":"s-000050","content_expired":0,"reset_req":0"#,
      #"""
      {"kind":3,"media_content_key":"k","result":1,"session_key":"s-000050","start_at":null,
       "content_delete":1,"message":"Removed by the school."}
      """#
    ),
  ]

  @Test(arguments: examples)
  func `the examples of the protocol reference are answered by a policy`(
    _ kind: Int, _ entry: String, _ more: String, _ expected: String
  ) async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(entry, kind: kind))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let answers = try DRMStage.ask(DRMStage.item(kind, more), port: port).answers
      #expect(answers.count == 1)
      #expect(try DRMStage.isSame(answers[0], expected), "\(answers)")
    }
  }

  @Test func `without a policy an example with sensible limits answers every kind`() async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--keys", DRMStage.keys) { port async throws in
      let answers = try DRMStage.ask(
        #"""
        [{"kind":1,"media_content_key":"둘 #2"},{"kind":"2","media_content_key":"k"},
         {"kind":3,"media_content_key":"k","session_key":"a","reset_req":0,"content_expired":0},
         {"kind":3,"media_content_key":"k","session_key":"b","reset_req":1,"content_expired":0},
         {"kind":3,"media_content_key":"k","session_key":"c","reset_req":0,"content_expired":1}]
        """#, port: port
      ).answers.map { try JSON(parsing: $0) }
      #expect(try answers.map { try $0.integer("kind") } == [1, 2, 3, 3, 3])
      #expect(try answers.map { try $0.string("media_content_key") } == ["둘 #2", "k", "k", "k", "k"])
      #expect(try answers.map { try $0.integer("result") } == [1, 1, 1, 1, 1])
      #expect(try answers.map { try $0.string("session_key") } == [nil, nil, "a", "b", "c"])
      #expect(try answers.map { try $0.integer("content_expire_reset") } == [nil, nil, nil, 1, 1])
      let month = OriginStage.now + 30 * 86_400
      #expect(try answers.map { try $0.integer("expiration_date") } == [month, nil, month, month, month])
      #expect(try answers.map { try $0.integer("expiration_count") } == [20, nil, 20, 20, 20])
    }
  }

  @Test(
    arguments: [
      ("[", "items: invalid JSON"), ("{}", "items: expected a JSON array"), ("[]", "an item at least"),
      ("[1]", "items[0]: expected an object"), (#"[{"media_content_key":"k"}]"#, "items[0]: kind is missing"),
      (#"[{"kind":4,"media_content_key":"k"}]"#, "items[0].kind: expected 1, 2 or 3"),
      (#"[{"kind":1.0,"media_content_key":"k"}]"#, "items[0].kind: expected 1, 2 or 3"),
      (#"[{"kind":"+1","media_content_key":"k"}]"#, "items[0].kind: expected 1, 2 or 3"),
      (#"[{"kind":1,"kind":2,"media_content_key":"k"}]"#, "items[0].kind: appears twice"),
      (#"[{"kind":1}]"#, "items[0]: media_content_key is missing"),
      (#"[{"kind":1,"media_content_key":""}]"#, "items[0]: media_content_key is missing"),
      (#"[{"kind":1,"media_content_key":1}]"#, "items[0].media_content_key: expected a string"),
      (#"[{"kind":1,"media_content_key":"k"},{"kind":1}]"#, "items[1]: media_content_key is missing"),
      (many(1_001), "items: more than 1,000 items"),
    ])
  func `an items text that is none is refused by name`(_ items: String, _ message: String) async throws {
    try await refused(body: DRMStage.form(items), message)
  }

  @Test(arguments: [
    ("", "no field items"), ("item=%5B%5D", "no field items"), ("items=%5", "no field items"),
    ("items=[]&items=[]", "items: appears twice"),
    ("items=" + String(repeating: "a", count: 4 << 20), "more than 4 MiB"),
  ])
  func `a body that is no form with items is refused`(_ body: String, _ message: String) async throws {
    try await refused(body: Array(body.utf8), message)
  }

  @Test func `bytes that are no text and another type are refused`() async throws {
    try await refused(body: Array("items=".utf8) + [0xff], "not UTF-8")
    try await refused(body: DRMStage.form(DRMStage.item()), "Content-Type", type: "Content-Type: text/plain")
    try await refused(body: DRMStage.form(DRMStage.item()), "Content-Type", type: "X-None: 1")
  }

  func refused(body: [UInt8], _ message: String, type: String = DRMStage.formType) async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--keys", DRMStage.keys) { port async throws in
      let answer = try LoopbackClient.fetch("/drm", port: port, method: "POST", headers: [type], body: body)
      #expect(answer.status == 400)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(try #require(try answer.json.string("message")).contains(message), "\(answer.text)")
    }
  }

  @Test func `a thousand items are answered in one response`() async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--keys", DRMStage.keys) { port async throws in
      #expect(try DRMStage.ask(Self.many(1_000), port: port).answers.count == 1_000)
    }
  }

  static func many(_ count: Int) -> String {
    let item = #"{"kind":1,"media_content_key":"k"}"#
    return "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
  }

  @Test(arguments: ["GET", "HEAD", "PUT", "DELETE"])
  func `only POST is answered`(_ method: String) async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--keys", DRMStage.keys) { port async throws in
      let answer = try LoopbackClient.fetch("/drm", port: port, method: method)
      #expect(answer.status == 405)
      #expect(answer.headers["allow"] == "POST")
      #expect(try LoopbackClient.fetch("/drm/", port: port, method: "POST").status == 404)
    }
  }

  @Test func `without keys the answer says that they are needed, and so does the log`() async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--log") { port async throws in
      let answer = try DRMStage.ask(DRMStage.item(), port: port)
      #expect(answer.status == 501)
      #expect(try #require(try answer.json.string("message")).contains("--keys"))
      #expect(try DRMStage.ask("[]", port: port).status == 400)
    }
    #expect(
      stage.errors == [
        """
        2027-01-15T08:00:00Z POST /drm 501
          answers cannot be signed: start 'serve' with --keys FILE
        """, "2027-01-15T08:00:00Z POST /drm 400",
      ])
  }

  @Test func `a policy without keys is warned of at the start`() async throws {
    let stage = try DRMStage.make(policy: "{}")
    try await stage.serving("--policy", DRMStage.policy) { port async throws in
      #expect(stage.errors.count == 1 && stage.errors[0].contains("--keys"), "\(stage.errors)")
      #expect(try DRMStage.ask(DRMStage.item(), port: port).status == 501)
    }
    #expect(stage.errors.count == 1)
    let sound = try DRMStage.make(policy: "{}")
    try await sound.serving("--policy", DRMStage.policy, "--keys", DRMStage.keys) { _ async throws in
      #expect(sound.errors.isEmpty)
    }
  }

  @Test(arguments: [
    ("a b", true), ("~!", true), ("a\\u0000", false), ("", false), ("a\\r\\nX: y", false), ("키", false),
    ("a\\u007f", false), ("é", false),
  ])
  func `a custom key must fit into a header`(_ name: String, _ fits: Bool) async throws {
    let stage = try DRMStage.make(keys: name)
    guard fits else {
      #expect(await stage.run("serve", "--root", stage.root, "--port", "0", "--keys", DRMStage.keys) == 78)
      #expect(stage.errors.contains { $0.contains("printable ASCII") }, "\(stage.errors)")
      return
    }
    try await stage.serving("--keys", DRMStage.keys) { port async throws in
      #expect(try DRMStage.ask(DRMStage.item(), port: port).headers["x-kollus-userkey"] == name)
    }
  }

  @Test func `of several keys the policy names the one that signs`() async throws {
    let stage = try DRMStage.make(policy: #"{"customKey":"b"}"#, keys: "a", "b")
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      #expect(try DRMStage.ask(DRMStage.item(), port: port).headers["x-kollus-userkey"] == "b")
    }
    #expect(await stage.run("serve", "--root", stage.root, "--port", "0", "--keys", DRMStage.keys) == 78)
    #expect(stage.errors.last == #"hint: name it in a --policy file: {"customKey": "a"}"#)
    try DRMStage.write(#"{"customKey":"c"}"#)
    let words = ["serve", "--root", stage.root, "--port", "0", "--keys", DRMStage.keys]
    #expect(await stage.run(words + ["--policy", DRMStage.policy]) == 78)
    #expect(stage.errors.last == "hint: --keys holds a, b")
  }

  @Test func `the log tells each item and its answer, and no token`() async throws {
    let stage = try DRMStage.make(
      policy: #"{"contents":{"k":{"kind1":{"result":1},"kind2":{"@drop":true},"kind3":{"@times":0}}}}"#)
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy, "--log") {
      port async throws in
      _ = try DRMStage.ask(
        #"[{"kind":1,"media_content_key":"k","message":"a\u001b\#u{9b}"},{"kind":3,"media_content_key":"k"}]"#,
        port: port)
      #expect(throws: (any Error).self) { try DRMStage.ask(DRMStage.item(2), port: port) }
      #expect(try DRMStage.ask("[]", port: port).status == 400)
    }
    let line = "2027-01-15T08:00:00Z POST /drm"
    #expect(
      stage.errors == [
        """
        \(line) 200
          kind 1 k {"kind":1,"media_content_key":"k","message":"a\\u001b\\u009b"} -> \
        {"kind":1,"media_content_key":"k","result":1}
          kind 3 k {"kind":3,"media_content_key":"k"} -> no answer
        """,
        """
        \(line) dropped
          kind 2 k {"kind":2,"media_content_key":"k"} -> no answer by @drop
        """, "\(line) 400",
      ])
  }
}
