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
    (
      #"{"kind":1,"media_content_key":"AbCd1234","result":null}"#, -8_636,
      "data[0].result: expected an integer"
    ),
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

  /// The limit is ten times the items and a hundred more.
  @Test(arguments: [(1, 110), (2, 120), (10, 200)])
  func `far more entries than items are refused whole, and why is said`(_ count: Int, _ most: Int) throws {
    let items = (0..<count).map { DRMClientTests.item($0 == 0 ? "AbCd1234" : "k\($0)") }
    func payload(_ entries: Int) -> String {
      let other = #"{"kind":1,"media_content_key":"x"}"#
      let all = [DRMClientTests.allowed] + Array(repeating: other, count: entries - 1)
      return "{\"data\":[\(all.joined(separator: ","))]}"
    }
    let results = try reply(payload(most), to: items).results
    #expect(try results[0].get().isAllowed && results.count == count)
    let error = #expect(throws: KollusError.self) { try reply(payload(most + 1), to: items) }
    #expect(error?.kind == .badData && error?.code == -8_635)
    #expect(error?.message.contains("data: far more entries than were asked for") == true)
  }

  @Test func `no word about the result is a no`() throws {
    let result = try reply(
      #"{"data":[{"kind":1,"media_content_key":"AbCd1234","message":"Not you."}]}"#,
      to: [DRMClientTests.item()]
    ).results[0]
    let answer = try result.get()
    #expect(!answer.isAllowed && answer.message == "Not you.")
  }

  private static func yes(_ key: String) -> String {
    #"{"kind":3,"media_content_key":"\#(key)","result":1}"#
  }

  @Test(arguments: [
    (["a"], 3, true), (["a"], 10, true), (["a"], 2, false), (["a"], 1, false), (["b"], 3, false),
    ([], 3, false), (["a", "b"], 3, false), (["a", "c"], 3, false), (["a", "b", "c"], 3, false),
  ])
  func `a server that reads the first of several items only is known by its answer`(
    _ answered: [String], _ count: Int, _ isFirstOnly: Bool
  ) throws {
    let items = "abcdefghij".prefix(count).map { DRMClientTests.item("\($0)", .play) }
    let entries = answered.map(Self.yes).joined(separator: ",")
    #expect(try reply("{\"data\":[\(entries)]}", to: items).answersFirstOnly == isFirstOnly)
  }

  @Test func `a wrong entry for another item is no sign of a server that reads the first only`() throws {
    let items = ["a", "b", "c"].map { DRMClientTests.item($0, .play) }
    let wrong = #"{"kind":3,"media_content_key":"b","result":2}"#
    #expect(try !reply("{\"data\":[\(Self.yes("a")),\(wrong)]}", to: items).answersFirstOnly)
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
