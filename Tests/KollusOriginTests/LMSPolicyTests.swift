import Foundation
import JSONKit
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LMSPolicyTests {
  func serving(_ policy: String, body: (OriginStage, Int) async throws -> Void) async throws {
    let stage = try DRMStage.make(policy: policy)
    let words = ["--lms", LMSStage.file, "--policy", DRMStage.policy]
    try await stage.serving(words[0], words[1], words[2], words[3], "--log") { port async throws in
      try await body(stage, port)
    }
  }

  @Test(
    arguments: [
      ("{}", 200, true), (#"{"@status":201}"#, 201, true), (#"{"@status":204}"#, 204, true),
      (#"{"@status":400}"#, 400, false), (#"{"@status":401}"#, 401, false), (#"{"@status":404}"#, 404, false),
      (#"{"@status":408}"#, 408, false), (#"{"@status":413}"#, 413, false), (#"{"@status":429}"#, 429, false),
      (#"{"@status":500}"#, 500, false), (#"{"@status":503}"#, 503, false),
      (#"{"@status":503,"@store":true}"#, 503, true), (#"{"@store":false}"#, 200, false),
      (#"{"@location":"/lms/elsewhere"}"#, 302, false),
      (#"{"@location":"/lms/elsewhere","@status":307}"#, 307, false),
    ])
  func `an entry says what a report gets, and so whether it is kept`(
    _ entry: String, _ status: Int, _ isStored: Bool
  ) async throws {
    try await serving(#"{"lms":\#(entry)}"#) { _, port async throws in
      let answer = try LMSStage.post(port: port)
      #expect(answer.status == status)
      if status != 204 { #expect(try answer.json.bool("stored") == isStored) }
      #expect(try LMSStage.lines().count == (isStored ? 1 : 0))
    }
  }

  @Test func `headers and body are as the entry says`() async throws {
    let entry = #"{"@status":429,"@retryAfter":7,"@body":"later","@contentType":"text/html","@date":"-20m"}"#
    try await serving(#"{"lms":\#(entry)}"#) { _, port async throws in
      let answer = try LMSStage.post(port: port)
      #expect(answer.headers["retry-after"] == "7")
      #expect(answer.headers["content-type"] == "text/html")
      #expect(answer.headers["date"] == "Fri, 15 Jan 2027 07:40:00 GMT")
      #expect(answer.text == "later")
    }
  }

  @Test(arguments: [(#"{"@drop":true}"#, 0), (#"{"@drop":true,"@store":true}"#, 1)])
  func `an answer can be lost, the report with it or not`(_ entry: String, _ count: Int) async throws {
    try await serving(#"{"lms":[\#(entry),{}]}"#) { stage, port async throws in
      #expect(throws: (any Error).self) { try LMSStage.post(port: port) }
      #expect(try LMSStage.lines().count == count)
      #expect(stage.errors.last?.contains("-> \(count == 1 ? "" : "not ")stored by @drop {") == true)
      #expect(try LMSStage.post(port: port).status == 200)
      #expect(try LMSStage.lines().count == count + 1)
    }
  }

  @Test func `an answer can break off, stand still or come late`() async throws {
    let entries = #"[{"@cut":5},{"@stall":"0.2s"},{"@delay":"0.2s"},{"@size":4096}]"#
    try await serving(#"{"lms":\#(entries)}"#) { _, port async throws in
      let cut = try LMSStage.post(port: port)
      #expect(!cut.isComplete && cut.body.count == 5)
      for _ in 0..<2 {
        let start = ContinuousClock.now
        #expect(try LMSStage.post(port: port).isComplete)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
      }
      #expect(try LMSStage.post(port: port).body.count == 4_096)
      #expect(try LMSStage.lines().count == 4)
    }
  }

  @Test func `a list at the top is for all reports in turn, one of a content for its own`() async throws {
    let policy = """
      {"lms":[{"@status":500},{"@status":501},{}],
       "contents":{"k":{"lms":[{"@status":503},{}],"kind1":{"result":0}},"one":{"lms":{"@status":404}}}}
      """
    try await serving(policy) { _, port async throws in
      func status(_ key: String) throws -> Int {
        try LMSStage.post(LMSStage.report(key: key), port: port).status
      }
      #expect(
        try ["a", "k", "b", "k", "a", "b", "one", "one", "k"].map(status) == [
          500, 503, 501, 200, 200, 200, 404, 404, 200,
        ])
      #expect(try LMSStage.lines().count == 4)
    }
  }

  @Test func `a policy that is edited holds from the next report on, its turns anew`() async throws {
    try await serving(#"{"lms":[{"@status":500},{"@status":501}]}"#) { _, port async throws in
      #expect(try (0..<3).map { _ in try LMSStage.post(port: port).status } == [500, 501, 501])
      try DRMStage.write(#"{"lms":[{"@status":502},{}]}"#)
      #expect(try (0..<2).map { _ in try LMSStage.post(port: port).status } == [502, 200])
    }
  }

  @Test func `a bad report takes no turn`() async throws {
    try await serving(#"{"lms":[{"@status":500},{}]}"#) { _, port async throws in
      #expect(try LMSStage.post("{}", port: port).status == 400)
      #expect(try (0..<2).map { _ in try LMSStage.post(port: port).status } == [500, 200])
    }
  }

  @Test(arguments: [
    (#"{"lms":1}"#, "lms: expected an object"), (#"{"lms":[]}"#, "lms: expected an entry at least"),
    (#"{"lms":{"result":1}}"#, "lms.result: no such control; there are @store, @delay, "),
    (#"{"lms":[{},{"@sign":"none"}]}"#, "lms[1].@sign: no such control"),
    (#"{"lms":{"@store":1}}"#, "lms.@store: expected true or false"),
    (#"{"lms":{"@delay":1,"@delay":1}}"#, "lms.@delay: appears twice"),
    (#"{"contents":{"k":{"lms":{"@status":1}}}}"#, "contents.k.lms.@status: expected an integer"),
    (#"{"default":{"lms":{}}}"#, "default.lms: no such member; there are kind1, kind2, kind3"),
  ])
  func `a bad entry stops the start, and the member is named`(_ policy: String, _ message: String)
    async throws
  {
    let stage = try DRMStage.make(policy: policy)
    #expect(await stage.run("serve", "--root", stage.root, "--port", "0", "--policy", DRMStage.policy) == 78)
    #expect(stage.errors.contains { $0.contains(": " + message) }, "\(stage.errors)")
  }
}
