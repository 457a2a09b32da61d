import KollusTestSupport
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct DRMReplyTests {
  static let entries: [(entries: String, code: Int?, words: String)] = [
    (DRMClientTests.allowed, nil, ""), ("", -8_682, "no entry"),
    (#"{"kind":2,"media_content_key":"AbCd1234","result":1}"#, -8_682, "no entry"),
    (#"{"kind":7,"media_content_key":"AbCd1234","result":1}"#, -8_682, "no entry"),
    (#"{"kind":1,"media_content_key":"abcd1234","result":1}"#, -8_682, "no entry"),
    (#"{"kind":1,"media_content_key":"AbCd1234 ","result":1}"#, -8_682, "no entry"),
    (#"{"kind":1,"media_content_key":1,"result":1}"#, -8_682, "no entry"),
    (#"{"kind":1,"result":1},1,null,[],"x",{}"#, -8_682, "no entry"),
    (#"{"kind":"1","media_content_key":"EfGh5678","result":9},\#(DRMClientTests.allowed)"#, nil, ""),
    (#"{"kind":2,"media_content_key":"AbCd1234","result":9},\#(DRMClientTests.allowed)"#, nil, ""),
    ("\(DRMClientTests.allowed),\(DRMClientTests.allowed)", -8_636, "data[1]: a second entry"),
    (#"{"media_content_key":"AbCd1234","result":1}"#, -8_636, "data[0]: kind is no integer"),
    (#"{"kind":"1","media_content_key":"AbCd1234","result":1}"#, -8_636, "data[0]: kind is no integer"),
    (
      #"\#(DRMClientTests.allowed),{"kind":1.0,"media_content_key":"AbCd1234","result":1}"#, -8_636,
      "data[1]: kind"
    ),
    (#"{"kind":true,"media_content_key":"AbCd1234"},\#(DRMClientTests.allowed)"#, -8_636, "data[0]: kind"),
    (
      #"{"kind":1,"kind":2,"media_content_key":"AbCd1234","result":1}"#, -8_636, "data[0].kind: appears twice"
    ),
    (
      #"{"kind":1,"media_content_key":"AbCd1234","media_content_key":"EfGh5678","result":1}"#, -8_636,
      "data[0].media_content_key: appears twice"
    ),
    (#"{"kind":1,"media_content_key":"AbCd1234"}"#, -8_636, "data[0].result: missing"),
    (
      #"{"kind":1,"media_content_key":"AbCd1234","result":1,"expiration_count":-1}"#, -8_636,
      "data[0].expiration_count: expected 0 or an integer from 1 to 1000"
    ),
    (
      #"{"kind":1,"media_content_key":"AbCd1234","result":1,"expiration_date":null}"#, -8_636,
      "data[0].expiration_date"
    ),
    (#"{"\u006bind":1,"media_content_key":"\u0041bCd1234","result":1}"#, nil, ""),
    (
      Array(repeating: #"{"kind":1,"media_content_key":"x"}"#, count: 109).joined(separator: ",")
        + ",\(DRMClientTests.allowed)",
      nil, ""
    ),
    (
      Array(repeating: #"{"kind":1,"media_content_key":"x"}"#, count: 110).joined(separator: ",")
        + ",\(DRMClientTests.allowed)",
      -8_682, "no entry"
    ),
  ]

  private func reply(_ payload: String, to items: [DRMItem], from url: String = "https://cb.example/x") throws
    -> DRMReply
  {
    try DRMReply(
      CoreStage.head(200, ["X-Kollus-UserKey": "custom"]), body: Array(DRMClientTests.signed(payload).utf8),
      to: items,
      from: CoreStage.address(url), at: 5, keys: SecurityKeys(DRMClientTests.settings()))
  }

  @Test(arguments: entries.indices) func `entries are matched byte for byte`(_ row: Int) throws {
    let given = Self.entries[row]
    let result = try reply(#"{"data":[\#(given.entries)]}"#, to: [DRMClientTests.item()]).results[0]
    switch result {
    case .success(let answer): #expect(given.code == nil && answer.isAllowed)
    case .failure(let error):
      #expect(error.kind == .badData && error.code == given.code)
      #expect(error.message.contains(given.words), "\(error.message)")
      #expect(error.mediaContentKey == "AbCd1234")
    }
  }

  @Test func `a wrong entry costs no other item`() throws {
    let composed = "\u{AC00}"
    let decomposed = "\u{1100}\u{1161}"
    let results = try reply(
      #"""
      {"data":[{"kind":3,"media_content_key":"b","result":1,"content_expired":"0"},
       {"kind":3,"media_content_key":"\#(decomposed)","result":0},
       {"kind":3,"media_content_key":"a","result":1},{"kind":2,"media_content_key":"b","result":1}]}
      """#,
      to: [
        DRMClientTests.item("a", .play), DRMClientTests.item("b", .play), DRMClientTests.item("b", .complete),
        DRMClientTests.item(composed, .play),
        DRMClientTests.item(decomposed, .play),
      ]
    ).results
    let codes = results.map { if case .failure(let error) = $0 { error.code } else { 0 } }
    #expect(codes == [0, -8_636, 0, -8_682, 0])
    #expect(try results[0].get().mediaContentKey == "a")
    #expect(try results[2].get().kind == .complete)
    #expect(try !results[4].get().isAllowed)
  }

  @Test(arguments: [
    ("https://cb.example/x", true), ("http://cb.example/x", false), ("http://localhost:1/", true),
    ("http://[::1]/", true), ("http://127.0.0.1.example/", false),
  ]) func `only TLS and this machine are trusted with the clock`(_ url: String, _ isTrusted: Bool) throws {
    let reply = try reply(#"{"data":[]}"#, to: [], from: url)
    #expect(reply.isTrusted == isTrusted)
    #expect(reply.date == nil && reply.deviceTime == 5)
  }
}
