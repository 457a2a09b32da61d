import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusOrigin

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PolicyTests {
  @Test(
    arguments: [
      ("30s", false, 30_000), ("10m", false, 600_000), ("72h", false, 259_200_000),
      ("7d", false, 604_800_000),
      ("1.5s", false, 1_500), ("0.001", false, 1), ("30", false, 30_000), ("0", false, 0),
      ("36600d", false, 3_162_240_000_000), ("36601d", false, nil), ("-1h", true, -3_600_000),
      ("+1h", true, 3_600_000), ("-1h", false, nil), ("+1h", false, nil), ("", false, nil), ("s", false, nil),
      ("-", true, nil), ("--1", true, nil), ("1.2345s", false, nil), ("1.", false, nil), (".5", false, nil),
      ("1e3", false, nil), (" 1", false, nil), ("1w", false, nil), ("1.1.1", false, nil),
      ("99999999999999999999", false, nil), ("9999999999d", false, nil), ("9999999999", false, nil),
    ] as [(String, Bool, Int64?)])
  func `a span of time is read`(_ text: String, _ signed: Bool, _ milliseconds: Int64?) {
    #expect(Span(text, signed: signed)?.milliseconds == milliseconds)
  }

  @Test(arguments: [
    ("", "invalid JSON"), ("[]", "expected an object"), (#"{"content":{}}"#, "content: no such member"),
    (#"{"customKey":1}"#, "customKey: expected a string"),
    (#"{"default":[]}"#, "default: expected an object"),
    (#"{"default":{"1":{}}}"#, "default.1: no such member; there are kind1, kind2, kind3"),
    (#"{"default":{"kind1":[]}}"#, "default.kind1: expected an entry"),
    (#"{"default":{"kind1":1}}"#, "default.kind1: expected an object"),
    (#"{"default":{"kind1":[{},2]}}"#, "default.kind1[1]: expected an object"),
    (#"{"contents":{"a":1}}"#, "contents.a: expected an object"),
    (#"{"contents":{"a":{},"a":{}}}"#, "contents.a: appears twice"),
    (
      #"{"contents":{"a":{"kind3":[{},{"@dealy":1}]}}}"#,
      "contents.a.kind3[1].@dealy: no such control; there are"
    ),
    (entry(#""@delay":"-1s""#), "contents.k.kind1.@delay: expected a time such as 30s"),
    (entry(#""@delay":1,"@delay":2"#), "contents.k.kind1.@delay: appears twice"),
    (entry(#""@expiration_date":"soon""#), "@expiration_date: expected a time such as 30d or -20m"),
    (entry(#""@expiration_date":null"#), "@expiration_date: expected a time"),
    (entry(#""@status":199"#), "@status: expected an integer from 200 to 599"),
    (entry(#""@status":"503""#), "@status: expected an integer"),
    (entry(#""@times":1001"#), "@times: expected an integer from 0 to 1000"),
    (entry(#""@reset":"yes""#), "@reset: expected one of: asked, always, never"),
    (entry(#""@sign":"RS256""#), "@sign: expected one of: HS256, none, wrongKey"),
    (entry(#""@drop":1"#), "@drop: expected true or false"),
    (entry(#""@omit":"a""#), "@omit: expected an array"),
    (entry(#""@omit":[1]"#), "@omit[0]: expected a string"),
    (entry(#""@extra":{}"#), "@extra: expected an array"),
    (entry(#""@size":"2000G""#), "@size: expected a number of bytes"),
    (entry(#""@size":99999999999999999999"#), "@size: expected a number of bytes"),
    (entry(#""@cut":-1"#), "@cut: expected a number of bytes"),
    (entry(#""@body":1"#), "@body: expected a string"),
    (entry(#""@payload":{}"#), "@payload: expected a string"),
    (entry(#""@location":"a\r\nb""#), "@location: expected a text that a header can hold"),
    (entry(#""@customKey":true"#), "@customKey: expected a text that a header can hold"),
  ])
  func `a bad policy stops the start, and the member is named`(_ text: String, _ message: String) async throws
  {
    let stage = try DRMStage.make(policy: text)
    let words = ["serve", "--root", stage.root, "--port", "0", "--keys", DRMStage.keys]
    #expect(await stage.run(words + ["--policy", DRMStage.policy]) == 78)
    let start = "kollus-origin: policy file \(DRMStage.policy): "
    #expect(stage.errors.first?.hasPrefix(start) == true)
    #expect(stage.errors.first?.contains(message) == true, "\(stage.errors)")
  }

  static func entry(_ members: String) -> String { DRMStage.policy("{\(members)}") }

  @Test(arguments: ["absent.json", "", "pipe"])
  func `a policy that is no file stops the start`(_ name: String) async throws {
    let stage = try DRMStage.make()
    mkfifo(TemporaryDirectory.path + "/pipe", 0o600)
    let path = TemporaryDirectory.path + "/" + name
    #expect(await stage.run("serve", "--root", stage.root, "--port", "0", "--policy", path) == 78)
  }

  @Test func `the example is printed, sound, and answers where a file says nothing`() async throws {
    let stage = OriginStage()
    #expect(await stage.run("policy") == 0)
    let text = try #require(stage.output.first)
    let (example, printed) = try (Policy(), Policy(parsing: Array(text.utf8)))
    let other = try Policy(parsing: Array(#"{"contents":{"k":{"kind3":{"result":0}}}}"#.utf8))
    for kind in Int64(1)...3 {
      let key = Array("any".utf8)
      let expected = answer(example.entries(for: key, kind: kind)[0], kind)
      #expect(expected.contains(#""result":1"#))
      #expect(answer(printed.entries(for: key, kind: kind)[0], kind) == expected)
      #expect(answer(other.entries(for: key, kind: kind)[0], kind) == expected)
      #expect((answer(other.entries(for: Array("k".utf8), kind: kind)[0], kind) == expected) == (kind != 3))
    }
  }

  private func answer(_ entry: PolicyEntry, _ kind: Int64) -> String {
    var writer = JSONWriter()
    let json = try? JSON(parsing: #"{"kind":\#(kind),"media_content_key":"any"}"#)
    if let item = try? json.map(DRMItem.init) { entry.write(for: item, now: 0, to: &writer) }
    return writer.text
  }

  @Test func `keys are told apart by their bytes`() throws {
    let policy = try Policy(
      parsing: Array(
        #"{"contents":{"가":{"kind1":{"result":7}},"\#u{1100}\#u{1161}":{"kind1":{"result":8}}}}"#.utf8))
    #expect(answer(policy.entries(for: Array("가".utf8), kind: 1)[0], 1).contains("7"))
    #expect(answer(policy.entries(for: Array("\u{1100}\u{1161}".utf8), kind: 1)[0], 1).contains("8"))
    #expect(answer(policy.entries(for: Array("나".utf8), kind: 1)[0], 1).contains(#""result":1"#))
  }
}
