import Foundation
import JSONKit
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PolicySourceTests {
  static func results(_ count: Int) -> String {
    "[" + (1...count).map { #"{"result":\#($0)}"# }.joined(separator: ",") + "]"
  }

  static func result(_ key: String, kind: Int = 1, port: Int) throws -> Int64? {
    let item = #"[{"kind":\#(kind),"media_content_key":"\#(key)"}]"#
    return try JSON(parsing: try #require(try DRMStage.ask(item, port: port).answers.first)).integer("result")
  }

  @Test func `each content and kind gets its entries in turn, the last one again and again`() async throws {
    let stage = try DRMStage.make(
      policy: #"{"default":{"kind1":\#(Self.results(3)),"kind2":\#(Self.results(2))}}"#)
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      #expect(try (0..<5).map { _ in try Self.result("a", port: port) } == [1, 2, 3, 3, 3])
      #expect(try (0..<3).map { _ in try Self.result("a", kind: 2, port: port) } == [1, 2, 2])
      #expect(try (0..<2).map { _ in try Self.result("b", port: port) } == [1, 2])
    }
  }

  @Test func `the items of one request take turns too`() async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(Self.results(3)))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let answers = try DRMStage.ask(DRMEndpointTests.many(4), port: port).answers
      #expect(try answers.map { try JSON(parsing: $0).integer("result") } == [1, 2, 3, 3])
    }
  }

  @Test func `of many that come at once, each gets an entry of its own`() async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(Self.results(8)))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      let results = try await withThrowingTaskGroup(of: Int64?.self) { group in
        for _ in 0..<8 { group.addTask { try Self.result("k", port: port) } }
        return try await group.reduce(into: [Int64?]()) { $0.append($1) }
      }
      #expect(results.compactMap { $0 }.sorted() == Array(1...8))
    }
  }

  @Test func `a policy that is edited holds from the next request on, its turns anew`() async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(Self.results(2)))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      #expect(try (0..<2).map { _ in try Self.result("k", port: port) } == [1, 2])
      try DRMStage.write(DRMStage.policy(#"[{"result":5},{"result":6}]"#))
      #expect(try (0..<3).map { _ in try Self.result("k", port: port) } == [5, 6, 6])
      #expect(stage.errors.isEmpty)
    }
  }

  @Test(arguments: ["{", #"{"contents":{"k":{"kind1":{"@status":1}}}}"#, #"{"customKey":"nobody"}"#])
  func `a bad edit leaves the old policy in force and is told once`(_ text: String) async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(Self.results(2)))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      #expect(try Self.result("k", port: port) == 1)
      try DRMStage.write(text)
      #expect(try (0..<3).map { _ in try Self.result("k", port: port) } == [2, 2, 2])
      #expect(stage.errors.count == 1)
      #expect(stage.errors.first?.hasSuffix("; the policy before it stays in force") == true)
      try DRMStage.write(DRMStage.policy(#"{"result":9}"#))
      #expect(try Self.result("k", port: port) == 9)
      #expect(stage.errors.count == 1)
    }
  }

  @Test func `a policy file that is gone is told once and missed no further`() async throws {
    let stage = try DRMStage.make(policy: DRMStage.policy(#"{"result":4}"#))
    try await stage.serving("--keys", DRMStage.keys, "--policy", DRMStage.policy) { port async throws in
      try FileManager.default.removeItem(atPath: DRMStage.policy)
      #expect(try (0..<2).map { _ in try Self.result("k", port: port) } == [4, 4])
      #expect(stage.errors.count == 1)
      try DRMStage.write(DRMStage.policy(#"{"result":5}"#))
      #expect(try Self.result("k", port: port) == 5)
    }
  }
}
