import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayURLTests {
  /// The protocol reference's own example: learner-17, content AbCd1234, valid until 1900000000.
  static let vector =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJjdWlkIjoibGVhcm5lci0xNyIsImV4cHQiOjE5MDAwMDAwMDAsIm1jIj"
    + "pbeyJtY2tleSI6IkFiQ2QxMjM0In1dfQ.6IUsr1YwcmqHj4hReQrkvP1tIYJ0Y1i_2TqluV2-hdY"

  static func signed(_ payload: String, key: String = "demo-security-key") -> String {
    JSONWebToken.signed(payload: payload, key: SymmetricKey(bytes: Array(key.utf8)))
  }

  static func stage() async throws -> OriginStage {
    let stage = OriginStage()
    try await stage.publish("AbCd1234", title: "First", "--no-seek", "--seekable-end", "9")
    try await stage.publish("둘 #2", title: "Second", "--intro")
    let folder = TemporaryDirectory.path
    try Data("demo-security-key\n".utf8).write(to: URL(fileURLWithPath: folder + "/security.key"))
    try Data(#"{"demo":"security.key"}"#.utf8).write(to: URL(fileURLWithPath: folder + "/keys.json"))
    return stage
  }

  static var keys: String { TemporaryDirectory.path + "/keys.json" }

  static func ask(
    _ token: String, port: Int, customKey: String = "demo", method: String = "GET"
  ) throws -> LoopbackClient.Answer {
    try LoopbackClient.fetch(
      "/s?jwt=\(token)&custom_key=\(customKey)&uservalue0=a%20b&download", port: port, method: method)
  }

  @Test func `the example of the protocol reference is answered`() async throws {
    let stage = try await Self.stage()
    try await stage.serving("--keys", Self.keys) { port async throws in
      let answer = try Self.ask(Self.vector, port: port)
      #expect(answer.status == 200)
      #expect(answer.headers["cache-control"] == "no-store")
      let contents = try #require(try answer.json.array("contents")?.elements.map { $0 })
      #expect(contents.count == 1)
      #expect(try contents[0].string("mediaContentKey") == "AbCd1234")
      #expect(try contents[0].string("title") == "First")
      // Again: without --one-time a play URL may be used as often as one likes.
      #expect(try Self.ask(Self.vector, port: port).body == answer.body)
    }
  }

  @Test func `entries keep their order and are laid over the manifests`() async throws {
    let stage = try await Self.stage()
    let token = Self.signed(
      #"""
      {"expt":1900000000,"mc":[{"mckey":"둘 #2","intr":false,"seek":false,"seekable_end":60,
       "disable_playrate":true,
       "play_section":{"start_time":5,"end_time":35},"mcpf":"hd","thumbnail":{"enable":true}},
       {"mckey":"AbCd1234","title":"수학","intr":true,"seek":true},{"mckey":"AbCd1234"}]}
      """#)
    try await stage.serving("--keys", Self.keys) { port async throws in
      let answer = try Self.ask(token, port: port)
      #expect(answer.status == 200)
      let contents = try #require(try answer.json.array("contents")?.elements.map { $0 })
      #expect(try contents.map { try $0.string("mediaContentKey") } == ["둘 #2", "AbCd1234", "AbCd1234"])
      #expect(try contents.map { try $0.string("title") } == ["Second", "수학", "First"])
      #expect(try contents.map { try $0.bool("intro") } == [false, true, false])
      #expect(
        try contents.map { try $0.member("policy")?.rawText } == [
          #"{"seek":false,"seekableEnd":60,"disablePlayrate":true,"playSection":[5,35]}"#,
          #"{"seekableEnd":9,"disablePlayrate":false,"seek":true}"#,
          #"{"seek":false,"seekableEnd":9,"disablePlayrate":false}"#,
        ])
      let media = try stage.manifest("AbCd1234").member("media")?.rawText
      #expect(try contents[1].member("media")?.rawText == media)
    }
  }

  @Test(
    arguments: [
      (signed(#"{"mc":[{"mckey":"AbCd1234"}]}"#), 200, nil),
      (signed(#"{"expt":1800000000,"mc":[{"mckey":"AbCd1234"}]}"#), 200, nil),
      (signed(#"{"expt":1799999999,"mc":[{"mckey":"AbCd1234"}]}"#), 403, -4_085),
      (signed(#"{"mc":[{"mckey":"AbCd1234"}]}"#, key: "demo-security-key\n"), 403, -4_007),
      (signed(#"{"mc":[{"mckey":"AbCd1234"}]}"#, key: "other"), 403, -4_007),
      (String(vector.dropLast()), 403, -4_007), ("", 403, -4_007), ("a.b.c", 403, -4_007),
      (signed(#"{"expt":"1900000000","mc":[{"mckey":"AbCd1234"}]}"#), 403, -4_007),
      (signed(#"{"expt":1900000000.0,"mc":[{"mckey":"AbCd1234"}]}"#), 403, -4_007),
      (signed(#"{"mc":{"mckey":"AbCd1234"}}"#), 403, -4_007), (signed(#"{"mc":[{}]}"#), 403, -4_007),
      (signed(#"{"mc":[1]}"#), 403, -4_007),
      (signed(#"{"mc":[{"mckey":"AbCd1234","seek":1}]}"#), 403, -4_007),
      (signed(#"{"mc":[{"mckey":"AbCd1234","play_section":{"start_time":5,"end_time":5}}]}"#), 403, -4_007),
      (signed(#"{"mc":[]}"#), 403, -4_083), (signed("{}"), 403, -4_083),
      (signed(#"{"mc":[{"mckey":"AbCd1234"},{"mckey":"none"}]}"#), 404, -4_012),
      (signed(#"{"mc":[{"mckey":"../contents/AbCd1234"}]}"#), 404, -4_012),
      (signed(#"{"mc":[{"mckey":"AbCd1234","drm_policy":{"kind":"inka"}}]}"#), 400, -1_010),
      (signed(#"{"mc":[{"mckey":"AbCd1234","live":{}}]}"#), 400, -1_010),
      (many(100), 200, nil), (many(101), 403, -4_007),
    ] as [(String, Int, Int64?)])
  func `a token is judged`(_ token: String, _ status: Int, _ code: Int64?) async throws {
    let stage = try await Self.stage()
    try await stage.serving("--keys", Self.keys) { port async throws in
      let answer = try Self.ask(token, port: port)
      #expect(answer.status == status)
      #expect(try answer.code == code)
    }
  }

  static func many(_ count: Int) -> String {
    signed(#"{"mc":[\#(Array(repeating: #"{"mckey":"AbCd1234"}"#, count: count).joined(separator: ","))]}"#)
  }

  @Test func `an unknown custom key is told before the token is read`() async throws {
    let stage = try await Self.stage()
    try await stage.serving("--keys", Self.keys) { port async throws in
      #expect(try Self.ask(Self.vector, port: port, customKey: "other").code == -4_004)
      #expect(try LoopbackClient.fetch("/s?jwt=\(Self.vector)", port: port).code == -4_004)
      #expect(try LoopbackClient.fetch("/s?custom_key=demo", port: port).code == -4_007)
      #expect(try LoopbackClient.fetch("/s", port: port).status == 403)
    }
    let keyless = OriginStage()
    try await keyless.serving { port async throws in
      #expect(try Self.ask(Self.vector, port: port).code == -4_004)
    }
  }

  @Test func `a one-time URL is taken once, and only when it was answered`() async throws {
    let stage = try await Self.stage()
    let unknown = Self.signed(#"{"mc":[{"mckey":"later"}]}"#)
    try await stage.serving("--keys", Self.keys, "--one-time") { port async throws in
      #expect(try Self.ask(Self.vector, port: port, method: "HEAD").status == 200)
      #expect(try Self.ask(Self.vector, port: port).status == 200)
      let again = try Self.ask(Self.vector, port: port)
      #expect(again.status == 403)
      #expect(try again.code == -8_475)
      #expect(try Self.ask(unknown, port: port).status == 404)
      try await stage.publish("later")
      #expect(try Self.ask(unknown, port: port).status == 200)
      #expect(try Self.ask(unknown, port: port).status == 403)
    }
  }

  @Test func `of many that come at once, one gets a one-time URL`() async throws {
    let stage = try await Self.stage()
    try await stage.serving("--keys", Self.keys, "--one-time") { port async throws in
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try Self.ask(Self.vector, port: port).status } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.sorted() == [200] + Array(repeating: 403, count: 7))
    }
  }

  @Test func `a manifest that cannot be read is the origin's own fault`() async throws {
    let stage = try await Self.stage()
    try Data("{".utf8).write(to: URL(fileURLWithPath: stage.root + "/contents/AbCd1234"))
    try await stage.serving("--keys", Self.keys) { port async throws in
      #expect(try Self.ask(Self.vector, port: port).status == 500)
    }
  }
}
