import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import ServerKit
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct ServeTests {
  static let oddKeys = [
    "AbCd1234", "with space", "100%", "a?b=c", "#1", "수학 1강", "日本語", "🙂", "%2F", "a+b", "a\\b", "&=;", "-n",
    "가.mp4",
    String(repeating: "가", count: 85),
  ]

  @Test(arguments: oddKeys)
  func `a published content can be read back`(_ key: String) async throws {
    let stage = OriginStage()
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let file = TemporaryDirectory.path + "/source.mp4"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    #expect(await stage.run("publish", file, "--mck=\(key)", "--title", "T", "--root", stage.root) == 0)
    try await stage.serving { port async throws in
      let path = "/contents/" + PercentCoding.encode(key)
      let answer = try LoopbackClient.fetch(path, port: port)
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      let manifest = try #require(try answer.json.array("contents")?.elements.map { $0 }.first)
      #expect(try manifest.string("mediaContentKey") == key)
      let reference = try #require(
        try manifest.object("media")?.array("urls")?.elements.map { $0.string }.first ?? nil)
      let target = String(reference.dropFirst(2))
      let media = try LoopbackClient.fetch(target, port: port)
      #expect(media.body == bytes)
      #expect(media.headers["content-type"] == "video/mp4")
      let tag = try #require(media.headers["etag"])
      let part = try LoopbackClient.fetch(
        target, port: port, headers: ["Range: bytes=100-199", "If-Range: \(tag)"])
      #expect(part.status == 206)
      #expect(part.body == Array(bytes[100..<200]))
      #expect(part.headers["etag"] == tag)
      #expect(try LoopbackClient.fetch(target, port: port, headers: ["If-None-Match: \(tag)"]).status == 304)
      let head = try LoopbackClient.fetch(target, port: port, method: "HEAD")
      #expect(head.headers["content-length"] == "200000")
    }
  }

  @Test(.enabled(if: Nginx.isInstalled))
  func `a static server over the same folder answers the same`() async throws {
    let stage = OriginStage()
    for (index, key) in Self.oddKeys.enumerated() {
      let file = TemporaryDirectory.path + "/\(index).mp4"
      try Data("media of \(key)".utf8).write(to: URL(fileURLWithPath: file))
      #expect(await stage.run("publish", file, "--mck=\(key)", "--title", "T", "--root", stage.root) == 0)
    }
    let nginx = try await Nginx(serving: stage.root)
    try await stage.serving { port async throws in
      for key in Self.oddKeys {
        let path = "/contents/" + PercentCoding.encode(key)
        let ours = try LoopbackClient.fetch(path, port: port)
        let theirs = try LoopbackClient.fetch(path, port: nginx.port)
        #expect(ours.status == 200 && theirs.status == 200, "\(key)")
        #expect(ours.body == theirs.body)
      }
    }
  }

  @Test(arguments: [
    "/contents/../../secret", "/contents/%2e%2e%2fsecret", "/contents/..%2f..%2fsecret",
    "/media/../../secret",
    "/media/%2e%2e/%2e%2e/secret", "/media/..%2f..%2fsecret", "/media/link", "/media/up/secret",
    "/media/.hidden",
    "/.incoming/x", "/media/%00", "/media/", "/media", "/contents", "/contents/", "/contents/.",
    "/contents/a/b",
    "/contents/%zz", "/contents/%ff", "/", "/secret", "//secret", "/media//secret", "/media/a%2Fb",
  ])
  func `no path leads out of the folder`(_ path: String) async throws {
    let stage = OriginStage()
    try await stage.publish("k")
    let secret = URL(fileURLWithPath: TemporaryDirectory.path + "/secret")
    try Data("secret".utf8).write(to: secret)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: stage.root + "/media/.hidden"))
    try Data("secret".utf8).write(to: URL(fileURLWithPath: stage.root + "/.incoming/x"))
    let files = FileManager.default
    try files.createDirectory(atPath: stage.root + "/media/a", withIntermediateDirectories: true)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: stage.root + "/media/a/b"))
    try files.createSymbolicLink(atPath: stage.root + "/media/link", withDestinationPath: secret.path)
    try files.createSymbolicLink(atPath: stage.root + "/media/up", withDestinationPath: "../..")
    try await stage.serving { port async throws in
      let answer = try LoopbackClient.fetch(path, port: port)
      #expect(answer.status == 404)
      #expect(!answer.text.contains("secret"))
    }
  }

  @Test func `unknown keys and wrong methods are told as the contract says`() async throws {
    let stage = OriginStage()
    try await stage.publish("k")
    try await stage.serving { port async throws in
      let unknown = try LoopbackClient.fetch("/contents/none", port: port)
      #expect(unknown.status == 404)
      #expect(try unknown.code == -4_012)
      #expect(try unknown.json.string("message") != nil)
      #expect(try LoopbackClient.fetch("/contents/none", port: port, method: "HEAD").status == 404)
      let post = try LoopbackClient.fetch("/contents/k", port: port, method: "POST", body: [1])
      #expect(post.status == 405)
      #expect(post.headers["allow"] == "GET, HEAD")
    }
  }

  @Test func `the log is decoded, escaped and without tokens`() async throws {
    let stage = OriginStage()
    try await stage.publish("수학")
    try await stage.serving("--log") { port async throws in
      for path in [
        "/contents/\(PercentCoding.encode("수학"))", "/a%0a%1b%5B2J%22", "/s?jwt=a.b.c&custom_key=k&JWT=x%0D",
      ] {
        _ = try LoopbackClient.fetch(path, port: port)
      }
      _ = try LoopbackClient.fetch("/media/x?t=1", port: port, method: "HEAD")
    }
    #expect(
      stage.errors == [
        "2027-01-15T08:00:00Z GET /contents/수학 200", #"2027-01-15T08:00:00Z GET /a\u000a\u001b[2J" 404"#,
        "2027-01-15T08:00:00Z GET /s?jwt=…&custom_key=k&JWT=… 403",
        "2027-01-15T08:00:00Z HEAD /media/x?t=1 404",
      ])
  }

  @Test(
    arguments: [
      ("--keys absent.json", 78), ("--keys list.json", 78), ("--keys number.json", 78),
      ("--keys dangling.json", 78),
      ("--keys empty.json", 78), ("--address localhost", 64), ("--port 65536", 64), ("--root absent", 66),
      ("extra", 64),
    ] as [(String, Int32)])
  func `what stops the server from starting is told by its status`(_ line: String, _ status: Int32)
    async throws
  {
    let stage = OriginStage()
    try await stage.publish("k")
    let folder = TemporaryDirectory.path
    let files = [
      "list.json": "[]", "number.json": #"{"k":1}"#, "dangling.json": #"{"k":"nowhere"}"#,
      "empty.json": #"{"k":"nothing"}"#, "nothing": "\n",
    ]
    for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    let words = line.split(separator: " ").map { word in
      word.hasSuffix(".json") || word == "absent" ? "\(folder)/\(word)" : String(word)
    }
    let root = line.hasPrefix("--root") ? [] : ["--root", stage.root]
    let port = line.hasPrefix("--port") ? [] : ["--port", "0"]
    #expect(await stage.run(["serve"] + root + port + words) == status)
    #expect(stage.output.allSatisfy { !$0.hasPrefix("listening") })
    #expect(stage.errors.first?.hasPrefix("kollus-origin: ") == true)
  }

  @Test func `a port in use is told with a way out`() async throws {
    let stage = OriginStage()
    try await stage.publish("k")
    try await stage.serving { port async throws in
      let second = OriginStage()
      #expect(await second.run("serve", "--root", stage.root, "--port", "\(port)") == 69)
      #expect(second.errors.last?.hasPrefix("hint: ") == true)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `the tool announces itself and ends well by a signal`(_ signal: Int32) async throws {
    let stage = OriginStage()
    try await stage.publish("k")
    let tool = try ChildProcess(
      Tool.built("kollus-origin"), ["serve", "--root", stage.root, "--port", "0"], environment: [:])
    let line = try #require(await tool.line { _ in true })
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    #expect(line == "listening on http://127.0.0.1:\(port)")
    #expect(try LoopbackClient.fetch("/contents/k", port: port).status == 200)
    tool.kill(signal)
    let outcome = await tool.wait()
    #expect(outcome.ending == .exit(0))
    #expect(outcome.standardError.isEmpty)
  }
}
