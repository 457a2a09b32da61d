import Foundation
import JSONKit
import KollusTestSupport
import ServerKit
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LMSEndpointTests {
  static let jsonType = "Content-Type: application/json; charset=utf-8"
  static let text = LMSStage.report()
  static let query = "json_data=" + PercentCoding.encode(text)

  /// Serves with a file to keep reports in.
  func serving(_ options: String..., body: (OriginStage, Int) async throws -> Void) async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--lms", LMSStage.file, options.first ?? "--log") { port async throws in
      try await body(stage, port)
    }
  }

  @Test(
    arguments: [
      (
        "POST", "/lms", LMSStage.formType, query + "&client_user_id=a+b%21&empty",
        #"{"client_user_id":"a b!","empty":""}"#
      ),
      ("POST", "/lms/a/b%20c", LMSStage.formType.lowercased() + "; charset=UTF-8", query, "{}"),
      (
        "POST", "/lms?x=1&y=2", LMSStage.formType, "data=\(PercentCoding.encode(text))&y=3",
        #"{"y":"3","x":"1"}"#
      ),
      ("POST", "/lms", LMSStage.formType, query + "&data=1", #"{"data":"1"}"#),
      (
        "POST", "/lms", jsonType, #"{"json_data":\#(text),"a":[1,{"b":null}],"c":"x"}"#,
        #"{"a":[1,{"b":null}],"c":"x"}"#
      ),
      ("POST", "/lms", jsonType, #"{"n":2,"data":\#(text.jsonQuoted)}"#, #"{"n":2}"#),
      ("POST", "/lms?\(query)&a=b", "X: y", "", #"{"a":"b"}"#),
      ("GET", "/lms/?\(query)&a=%ED%95%9C", "X: y", "", #"{"a":"한"}"#),
    ])
  func `a report is kept as it came, with what came beside it`(
    _ method: String, _ target: String, _ header: String, _ body: String, _ fields: String
  ) async throws {
    try await serving { _, port async throws in
      let answer = try LoopbackClient.fetch(
        target, port: port, method: method, headers: [header], body: Array(body.utf8))
      #expect(answer.status == 200)
      #expect(answer.text == #"{"stored":true}"#)
      #expect(answer.headers["content-type"] == "application/json")
      let line = try #require(try LMSStage.lines().first)
      #expect(line.members.map(\.name) == ["at", "path", "fields", "report"])
      #expect(try line.string("at") == "2027-01-15T08:00:00Z")
      #expect(try line.string("path") == String(target.prefix { $0 != "?" }))
      #expect(try line.object("fields")?.rawText == fields)
      #expect(try line.object("report")?.rawText == Self.text)
    }
  }

  @Test(
    arguments: [
      (LMSStage.formType, "", "there is no field json_data that can be decoded"),
      (LMSStage.formType, "other=1", "there is no field json_data that can be decoded"),
      (LMSStage.formType, "json_data=%zz", "there is no field json_data that can be decoded"),
      (LMSStage.formType, "json_data=", "json_data: invalid JSON"),
      (LMSStage.formType, "json_data=[]", "json_data: expected an object"),
      (LMSStage.formType, "data={}", "data: user_info is missing"),
      (LMSStage.formType, "\(query)&\(query)", "json_data appears twice in the form"),
      (LMSStage.formType, "\(query)&a=1&a=2", "a appears twice in the form"),
      ("Content-Type: text/plain", query, "Content-Type: expected application/x-www-form-urlencoded or"),
      ("X: y", query, "Content-Type: expected application/x-www-form-urlencoded or"),
      (jsonType, "[]", "the body: expected an object"), (jsonType, "{", "the body: "),
      (jsonType, #"{"json_data":1}"#, "json_data: expected an object"),
      (jsonType, #"{"json_data":"{}"}"#, "json_data: user_info is missing"),
      (
        jsonType, #"{"json_data":{"user_info":{},"content_info":{}}}"#,
        "json_data.content_info: media_content_key is missing"
      ),
    ])
  func `what holds no report is refused, and the message says why`(
    _ header: String, _ body: String, _ message: String
  ) async throws {
    try await serving { stage, port async throws in
      let answer = try LoopbackClient.fetch(
        "/lms", port: port, method: "POST", headers: [header], body: Array(body.utf8))
      #expect(answer.status == 400)
      #expect(try answer.json.string("message")?.hasPrefix(message) == true, "\(answer.text)")
      #expect(try LMSStage.lines().isEmpty)
      #expect(stage.errors.first?.contains(message) == true)
    }
  }

  @Test(arguments: [
    (text.replacing(#""user_info""#, with: #""user""#), "user_info is missing"),
    (
      text.replacing(#""client_user_id":"learner-17""#, with: #""client_user_id":17"#),
      "user_info.client_user_id: expected a string"
    ),
    (text.replacing(#""content_info""#, with: #""content""#), "content_info is missing"),
    (LMSStage.report(key: ""), "content_info: media_content_key is missing"),
    (text.replacing("start_at", with: "begin_at"), "content_info: start_at is missing"),
    (LMSStage.report(start: #""soon""#), "content_info.start_at: expected a number"),
    (LMSStage.report(start: "1.5"), "content_info.start_at: expected Unix seconds"),
    (LMSStage.report(start: "1e300"), "content_info.start_at: expected Unix seconds"),
    (LMSStage.report(start: "-1"), "content_info.start_at: expected a number from 0 on"),
    (LMSStage.report(start: #""0x10""#), "content_info.start_at: expected a number"),
    (LMSStage.report(start: #""nan""#), "content_info.start_at: expected a number"),
    (LMSStage.report(start: #""""#), "content_info.start_at: expected a number"),
    (LMSStage.report(runtime: "[]"), "content_info.runtime: expected a number"),
    (LMSStage.report(runtime: "1e999"), "content_info.runtime: expected a number"),
    (LMSStage.report(blocks: "[]"), "block_info: expected an object"),
    (LMSStage.report(blocks: #"{"blocks":{}}"#), "block_info: block_count is missing"),
    (
      LMSStage.report(blocks: #"{"block_count":0,"blocks":{}}"#),
      "block_info.block_count: expected a whole number from 1 to 100000"
    ),
    (
      LMSStage.report(blocks: #"{"block_count":100001,"blocks":{}}"#),
      "block_info.block_count: expected a whole"
    ),
    (
      LMSStage.report(blocks: #"{"block_count":"9e18","blocks":{}}"#),
      "block_info.block_count: expected a whole"
    ),
    (LMSStage.report(blocks: #"{"block_count":2}"#), "block_info: blocks is missing"),
    (
      LMSStage.report(blocks: #"{"block_count":2,"blocks":{"b2":1}}"#),
      "block_info.blocks.b2: there are only 2 blocks"
    ),
    (
      LMSStage.report(blocks: #"{"block_count":2,"blocks":{"t1":true}}"#),
      "block_info.blocks.t1: expected a number"
    ),
    (text.replacing(#"{"uservalue0":"course-9"}"#, with: "[]"), "uservalues: expected an object"),
  ])
  func `a bad report is refused, and the member is named`(_ report: String, _ message: String) async throws {
    try await serving { _, port async throws in
      let answer = try LMSStage.post(report, port: port)
      #expect(answer.status == 400)
      #expect(try answer.json.string("message")?.hasPrefix("json_data: " + message) == true, "\(answer.text)")
      #expect(try LMSStage.lines().isEmpty)
    }
  }

  @Test(arguments: [
    LMSStage.report(start: "1767830500.0"), LMSStage.report(start: #""1767830500""#),
    LMSStage.report(blocks: nil), LMSStage.report(user: ""), LMSStage.report(runtime: "null"),
    LMSStage.report(
      blocks: #"{"block_count":"2","blocks":{"b0":"1","t0":"1.5","x":[],"bx":{},"sessions":{}}}"#),
    text.replacing(#""client_user_id":"learner-17","#, with: ""),
  ])
  func `numbers may be strings, and what is not needed may be missing`(_ report: String) async throws {
    try await serving { _, port async throws in
      #expect(try LMSStage.post(report, port: port).status == 200)
      #expect(try LMSStage.lines().map { try $0.object("report")?.rawText } == [report])
    }
  }

  @Test func `a line is one line, safe to print, whatever was sent`() async throws {
    let spaced = Self.text.replacing(",", with: " ,\r\n\t").replacing(
      "course-9", with: "\u{202e}\u{9b}\u{85}한")
    try await serving { stage, port async throws in
      let answer = try LoopbackClient.fetch(
        "/lms/%0A", port: port, method: "POST", headers: [LMSStage.formType],
        body: LMSStage.form(spaced, "&%1b%0a=%0d%C2%9B"))
      #expect(answer.status == 200)
      let text = try String(contentsOfFile: LMSStage.file, encoding: .utf8)
      let log = stage.errors.joined()
      for scalar in (text.dropLast() + log).unicodeScalars where scalar.value < 0x20 || scalar.value == 0x202e
      {
        #expect(scalar == "\n", "\(scalar.value)")
      }
      #expect(!(text + log).unicodeScalars.contains { (0x7f...0x9f).contains($0.value) })
      let line = try #require(try LMSStage.lines().first)
      #expect(try line.object("fields")?.string("\u{1b}\n") == "\r\u{9b}")
      #expect(
        try line.object("report")?.object("uservalues")?.string("uservalue0") == "\u{202e}\u{9b}\u{85}한")
    }
  }

  @Test func `without a file reports are taken and told in the log`() async throws {
    let stage = try DRMStage.make()
    try await stage.serving("--log") { port async throws in
      let answer = try LMSStage.post(port: port)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"stored":false}"#)
    }
    #expect(
      stage.errors == [
        "2027-01-15T08:00:00Z POST /lms 200\n"
          + "  report k learner-17 1767830500: 1 of 4 blocks -> not stored \(Self.text)"
      ])
  }

  @Test func `other methods and paths are told as everywhere`() async throws {
    try await serving { _, port async throws in
      let answer = try LoopbackClient.fetch("/lms", port: port, method: "PUT", body: [1])
      #expect(answer.status == 405)
      #expect(answer.headers["allow"] == "GET, POST")
      #expect(try LMSStage.post(port: port, path: "/lmsx").status == 404)
      #expect(try LoopbackClient.fetch("/lms", port: port).status == 400)
    }
  }

  @Test func `a body that is too large is refused`() async throws {
    try await serving { _, port async throws in
      let padding = "&a=" + String(repeating: "a", count: 4 << 20)
      let answer = try LoopbackClient.fetch(
        "/lms", port: port, method: "POST", headers: [LMSStage.formType],
        body: LMSStage.form(Self.text, padding))
      #expect(answer.status == 400)
      #expect(try answer.json.string("message") == "the body has more than 4 MiB")
    }
  }

  @Test func `many that come at once are kept whole, in one line each`() async throws {
    let blocks = (0..<200).map { #""b\#($0)":1,"t\#($0)":6,"p\#($0)":100"# }.joined(separator: ",")
    try await serving { _, port async throws in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<8 {
          group.addTask { () async throws in
            for number in 0..<25 {
              let report = LMSStage.report(
                user: "user-\(client)", start: "\(number)",
                blocks: #"{"block_count":200,"blocks":{\#(blocks)}}"#)
              #expect(try LMSStage.post(report, port: port).status == 200)
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let lines = try String(contentsOfFile: LMSStage.file, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 201 && lines.last == "")
    #expect(try LMSStage.lines().count == 200)
    let merged = try await LMSStage.merged()
    #expect(try merged.map { try $0.integer("sessions") } == Array(repeating: 25, count: 8))
  }

  @Test func `a restart and a line that broke off lose nothing`() async throws {
    for number in 0..<3 {
      try await serving { _, port async throws in
        #expect(try LMSStage.post(LMSStage.report(start: "\(number)"), port: port).status == 200)
      }
      let file = try #require(FileHandle(forUpdatingAtPath: LMSStage.file))
      try file.seekToEnd()
      try file.write(contentsOf: Data(#"{"at":"#.utf8))
    }
    let merged = try await LMSStage.merged(status: 65)
    #expect(try merged.map { try $0.integer("reports") } == [3])
  }

  @Test func `what was answered outlives a killed receiver`() async throws {
    let stage = try DRMStage.make()
    let tool = try ChildProcess(
      Tool.built("kollus-origin"), ["serve", "--root", stage.root, "--port", "0", "--lms", LMSStage.file],
      environment: [:])
    let line = try #require(await tool.line { _ in true })
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    for number in 0..<50 {
      #expect(try LMSStage.post(LMSStage.report(start: "\(number)"), port: port).status == 200)
    }
    tool.kill(SIGKILL)
    _ = await tool.wait()
    #expect(try await LMSStage.merged().map { try $0.integer("sessions") } == [50])
  }

  @Test func `a file that is moved away in mid-run is begun anew`() async throws {
    try await serving { _, port async throws in
      _ = try LMSStage.post(port: port)
      try FileManager.default.moveItem(atPath: LMSStage.file, toPath: LMSStage.file + ".1")
      _ = try LMSStage.post(port: port)
      #expect(try LMSStage.lines().count == 1)
      let mode = try FileManager.default.attributesOfItem(atPath: LMSStage.file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
    }
  }

  @Test func `a file that cannot be written is told to both sides`() async throws {
    try await serving("--one-time") { stage, port async throws in
      try FileManager.default.removeItem(atPath: LMSStage.file)
      try FileManager.default.createDirectory(atPath: LMSStage.file, withIntermediateDirectories: false)
      let answer = try LMSStage.post(port: port)
      #expect(answer.status == 503)
      #expect(try answer.json.string("message")?.hasPrefix("the report cannot be kept: ") == true)
      #expect(stage.errors.first?.hasPrefix("kollus-origin: a report is lost: ") == true)
    }
  }

  @Test(arguments: ["", "absent/reports.jsonl", "pipe"])
  func `a file that cannot be used stops the start`(_ name: String) async throws {
    let stage = try DRMStage.make()
    mkfifo(TemporaryDirectory.path + "/pipe", 0o600)
    let path = TemporaryDirectory.path + "/" + name
    #expect(await stage.run("serve", "--root", stage.root, "--port", "0", "--lms", path) == 74)
    #expect(stage.errors.first?.contains(path) == true)
    #expect(stage.output.isEmpty)
  }
}
