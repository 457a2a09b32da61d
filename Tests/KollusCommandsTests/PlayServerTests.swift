import Foundation
import Glibc
import KollusTestSupport
import Testing

/// What a player, and anybody else on the machine, gets from a play while it lasts.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayServerTests {
  let stage: PlayStage

  init() throws { stage = try PlayStage() }

  /// A play whose player is a script that tells the address and waits.
  private struct Session {
    let process: ChildProcess
    let stage: PlayStage
    let url: String
    let port: Int
    let path: String
    private let done: String

    var host: String { "127.0.0.1:\(port)" }

    init(_ stage: PlayStage, again: Bool = false) async throws {
      self.stage = stage
      let number = again ? 2 : 1
      let (told, done) = ("\(stage.folder)/told-\(number)", "\(stage.folder)/done-\(number)")
      self.done = done
      let script = try stage.script(
        "reader",
        """
        echo "$1" > '\(told).new' && mv '\(told).new' '\(told)'
        for round in $(seq 600); do [ -e '\(done)' ] && exit 0; sleep 0.05; done
        """)
      process = try stage.start("--player", "'\(script)' {url}")
      #expect(await eventually(within: .seconds(20)) { access(told, R_OK) == 0 })
      url = try String(contentsOfFile: told, encoding: .utf8).trimmingCharacters(in: .newlines)
      let components = try #require(URLComponents(string: url))
      port = try #require(components.port)
      path = components.path
    }

    func end() async throws {
      try "".write(toFile: done, atomically: true, encoding: .utf8)
      (await process.wait()).expect(0)
    }

    /// Sends one request as raw lines.
    func fetch(
      _ headers: String..., target: String? = nil, method: String = "GET", host: String? = nil
    ) throws -> LoopbackClient.Answer {
      let client = try LoopbackClient(port: port)
      let lines =
        ["\(method) \(target ?? path) HTTP/1.1", "Host: \(host ?? self.host)", "Connection: close"] + headers
      try client.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
      return try client.answer(to: method)
    }
  }

  private func curl(_ words: String...) async throws -> [UInt8] {
    let path = "\(stage.folder)/got"
    let curl = try ChildProcess(
      PlayStage.place(of: "curl") ?? "curl", ["-s", "-o", path] + words, environment: ["PATH": PlayStage.path]
    )
    (await curl.wait()).expect(0)
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  @Test func `a reader like a browser gets the bytes it asks for`() async throws {
    try await stage.download()
    let bytes = try PlayStage.lecture.get()
    let session = try await Session(stage)
    let size = bytes.count
    let whole = try session.fetch()
    #expect(whole.status == 200 && whole.body == bytes)
    #expect(whole.headers["content-type"] == "video/mp4" && whole.headers["accept-ranges"] == "bytes")
    #expect(whole.headers["cache-control"] == "no-store")
    let tag = try #require(whole.headers["etag"])
    #expect(tag.hasPrefix("\""), "a strong one")
    let parts: [(String, Range<Int>)] = [
      ("bytes=0-0", 0..<1), ("bytes=0-", 0..<size), ("bytes=65530-65545", 65_530..<65_546),
      ("bytes=-48", size - 48..<size), ("bytes=\(size - 1)-\(size + 99)", size - 1..<size),
      ("bytes=100000-400000", 100_000..<400_001),
    ]
    for (range, part) in parts {
      let answer = try session.fetch("Range: \(range)")
      #expect(answer.status == 206 && answer.body == Array(bytes[part]), "\(range)")
      #expect(answer.headers["content-range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)")
      #expect(try session.fetch("Range: \(range)", "If-Range: \(tag)").status == 206)
      #expect(try session.fetch("Range: \(range)", "If-Range: \"other\"").body == bytes)
    }
    #expect(try session.fetch("Range: bytes=0-1,5-6").body == bytes, "several ranges are not had")
    let beyond = try session.fetch("Range: bytes=\(size)-")
    #expect(beyond.status == 416 && beyond.headers["content-range"] == "bytes */\(size)")
    let head = try session.fetch(method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty && head.headers["content-length"] == "\(size)")
    try await session.end()
  }

  @Test(.enabled(if: PlayStage.has("ffprobe") && PlayStage.has("curl"), "needs ffprobe and curl"))
  func `ffprobe and curl read the stream`() async throws {
    try await stage.download()
    let bytes = try PlayStage.lecture.get()
    let session = try await Session(stage)
    let probe = try ChildProcess(
      PlayStage.place(of: "ffprobe") ?? "ffprobe",
      ["-v", "error", "-show_entries", "format=duration,size", "-of", "csv=p=0", session.url],
      environment: ["PATH": PlayStage.path])
    let found = await probe.wait()
    found.expect(0)
    #expect(found.standardOutput == "24.000000,\(bytes.count)\n" && found.standardError.isEmpty)
    #expect(try await curl(session.url) == bytes)
    #expect(try await curl("-r", "70000-140000", session.url) == Array(bytes[70_000...140_000]))
    #expect(try await curl("-r", "-1000", session.url) == bytes.suffix(1_000))
    // A first part, then the rest, as a broken transfer goes on.
    let first = try await curl("-r", "0-499999", session.url)
    #expect(try await first + curl("-r", "500000-", session.url) == bytes)
    try await session.end()
  }

  @Test func `whoever does not know the address gets nothing, and after the play nobody does`() async throws {
    try await stage.download()
    let bytes = try PlayStage.lecture.get()
    let session = try await Session(stage)
    let path = session.path
    #expect(path.count == 49 && session.url == "http://\(session.host)\(path)", "\(session.url)")
    let last = path.last == "0" ? "1" : "0"
    let requests: [(String, String, String, Int)] = [
      ("/", "GET", session.host, 404), ("\(path.dropLast())\(last)", "GET", session.host, 404),
      (String(path.dropLast()), "GET", session.host, 404), ("\(path)/", "GET", session.host, 404),
      ("\(path)?a=b", "GET", session.host, 404), (path.uppercased(), "GET", session.host, 404),
      ("/x/..\(path)", "GET", session.host, 404), ("//\(path)", "GET", session.host, 404),
      (path, "GET", "localhost:\(session.port)", 421), (path, "GET", "127.0.0.1", 421),
      (path, "GET", "evil.example", 421), (path, "GET", "evil.example:\(session.port)", 421),
      (path, "POST", session.host, 405), (path, "PUT", session.host, 405),
      (path, "DELETE", session.host, 405),
      (path, "OPTIONS", session.host, 405),
    ]
    for (target, method, host, status) in requests {
      let answer = try session.fetch(target: target, method: method, host: host)
      #expect(answer.status == status, "\(method) \(target) at \(host)")
      #expect(answer.body.count < 200 && !answer.headers.keys.contains("etag"), "\(target)")
    }
    #expect(!stage.commandLine(session.process.pid).contains(path))
    #expect(
      try session.fetch("Range: bytes=0-9").body == Array(bytes.prefix(10)), "it is served all the while")
    // One who has begun to read is cut off at the end.
    let late = try LoopbackClient(port: session.port)
    try await session.end()
    #expect(throws: (any Error).self) { try session.fetch() }
    #expect(throws: (any Error).self) {
      try late.send(Array("GET \(path) HTTP/1.1\r\nHost: \(session.host)\r\n\r\n".utf8))
      _ = try late.answer()
    }
    let second = try await Session(stage, again: true)
    #expect(second.path != path)
    try await second.end()
  }

  @Test(.enabled(if: PlayStage.hasMPV, "needs mpv"))
  func `while mpv plays, no plain bytes lie on a disk and no list shows the address`() async throws {
    try await stage.download()
    let bytes = try PlayStage.lecture.get()
    let process = try stage.start("--speed", "2")
    let remote = try await stage.remote()
    #expect(await remote.reach(2))
    let marks = stride(from: 1_000, to: bytes.count - 64, by: 50_000).map { Data(bytes[$0..<$0 + 48]) }
    #expect(try filesHolding(marks).isEmpty)
    let players = stage.players
    #expect(players.count == 1)
    for pid in players + [process.pid] {
      #expect(!stage.commandLine(pid).contains("http://127.0.0.1"), "\(stage.commandLine(pid))")
      let environment = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ"))
      #expect(!String(decoding: environment, as: UTF8.self).contains("http://127.0.0.1"))
      for path in openFiles(of: pid) {
        #expect(!path.hasPrefix("/tmp") || path.hasPrefix(stage.folder), "\(path)")
        #expect(!path.hasSuffix("(deleted)") || path.contains("memfd"), "\(path)")
      }
    }
    // mpv has nothing of ours open but its socket.
    #expect(openFiles(of: try #require(players.first)).allSatisfy { !$0.hasPrefix(stage.tool.home) })
    process.kill(SIGINT)
    (await process.wait()).expect(130)
    #expect(try filesHolding(marks).isEmpty)
    // What is looked for can be found.
    try Data(bytes).write(to: URL(filePath: "\(stage.folder)/plain"))
    #expect(try filesHolding(marks) == ["plain"])
  }

  /// The files of this test's folder, home and temporary files included, that hold a mark.
  private func filesHolding(_ marks: [Data]) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: stage.folder).filter { name in
      let url = URL(filePath: "\(stage.folder)/\(name)")
      // Sockets and folders have no bytes, and a file may go while this looks.
      guard let bytes = try? Data(contentsOf: url) else { return false }
      return marks.contains { bytes.range(of: $0) != nil }
    }
  }

  private func openFiles(of pid: Int32) -> [String] {
    let folder = "/proc/\(pid)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
  }
}
