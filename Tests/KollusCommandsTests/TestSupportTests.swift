import Foundation
import KollusTestSupport
import Testing

/// The scripted faults themselves, seen by a client that has nothing to do with ours.
@Suite(.serialized, .temporaryDirectory, .enabled(if: PlainClient.isInstalled), .timeLimit(.minutes(1)))
struct TestSupportTests {
  static let bytes = randomBytes(300_000)

  func fetch(_ words: String..., from url: String) async throws -> (outcome: ChildProcess.Outcome, body: Data)
  {
    let file = "\(TemporaryDirectory.path)/body"
    let words = ["-s", "-S", "-q", "--noproxy", "*", "-w", "%{http_code}", "-o", file, "-m", "10"] + words
    let process = try ChildProcess(PlainClient.program, words + [url], environment: [:])
    let outcome = await process.wait()
    return (outcome, FileManager.default.contents(atPath: file) ?? Data())
  }

  @Test func `a sound object answers whole, in part and out of range`() async throws {
    let server = try ScriptedServer(ScriptedServer.object(Self.bytes))
    #expect(try await fetch(from: server.url).body == Data(Self.bytes))
    let part = try await fetch("-r", "1000-1999", from: server.url)
    #expect(part.outcome.standardOutput == "206")
    #expect(part.body == Data(Self.bytes[1_000..<2_000]))
    #expect(try await fetch("-r", "-5", from: server.url).body == Data(Self.bytes.suffix(5)))
    #expect(try await fetch("-r", "300000-", from: server.url).outcome.standardOutput == "416")
    let changed = try await fetch("-r", "5-", "-H", "If-Range: \"v0\"", from: server.url)
    #expect(changed.outcome.standardOutput == "200")
    #expect(try await fetch("-I", from: server.url).outcome.standardOutput == "200")
    #expect(server.exchanges.count == 6)
    #expect(server.exchanges[1].bodyBytes == 1_000)
    #expect(server.exchanges[2].request.range == .last(5))
  }

  @Test(arguments: [
    (ScriptedFault.cutWithLength, "18"), (.cutChunked, "18"), (.cutUntilClose, "0"), (.chunked, "0"),
    (.stalled, "28"), (.throttled, "0"),
  ])
  func `each fault shows as meant`(_ fault: ScriptedFault, status: String) async throws {
    let server = try ScriptedServer { _ in fault.answer(Self.bytes[...]) }
    let fetched = try await fetch("-m", "1", from: server.url)
    #expect(fetched.outcome.ending == .exit(Int(status) ?? -1), "\(fetched.outcome)")
    #expect(fetched.body == Data(Self.bytes.prefix(fault.isCut ? 100_000 : 300_000)))
    #expect(await eventually { server.exchanges.first?.isFinished == true })
    #expect(server.exchanges.first?.bodyBytes == (fault.isCut ? 100_000 : 300_000))
  }

  @Test func `a delay is kept and a stopped server is gone`() async throws {
    let server = try ScriptedServer { _ in Answer(503).retryAfter("7").delayed(by: .milliseconds(200)) }
    let start = ContinuousClock.now
    #expect(try await fetch(from: server.url).outcome.standardOutput == "503")
    #expect(ContinuousClock.now - start >= .milliseconds(200))
    server.stop()
    #expect(try await fetch(from: server.url).outcome.ending == .exit(7))
  }

  @Test func `a child gets its input, its signals and no descriptor of ours`() async throws {
    let input = randomBytes(500_000)
    let echo = try ChildProcess("/bin/cat", [], environment: [:], input: Array("line\n".utf8))
    #expect(await echo.line { $0 == "line" } == "line")
    #expect(await echo.wait().ending == .exit(0))
    let count = try ChildProcess("/usr/bin/wc", ["-c"], environment: [:], input: input)
    #expect(await count.wait().standardOutput == "500000\n")
    let server = try ScriptedServer { _ in Answer(200) }
    let list = try ChildProcess("/bin/ls", ["/proc/self/fd"], environment: [:])
    #expect(await list.wait().standardOutput.split(separator: "\n").count == 4, "3 streams and the folder")
    server.stop()
    let sleeper = try ChildProcess("/bin/sleep", ["60"], environment: [:])
    sleeper.kill(SIGTERM)
    #expect(await sleeper.wait().ending == .signal(Int(SIGTERM)))
    let late = try ChildProcess("/bin/sleep", ["60"], environment: [:])
    #expect(await late.wait(within: .milliseconds(50)).ending == .deadline)
    #expect(!late.isRunning)
  }

  @Test(.enabled(if: Nginx.isInstalled)) func `nginx serves a folder and its log counts the bytes`()
    async throws
  {
    let root = "\(TemporaryDirectory.path)/root"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    try Data(Self.bytes).write(to: URL(fileURLWithPath: "\(root)/a.mp4"))
    let nginx = try await Nginx(serving: root)
    #expect(try await fetch("-r", "0-99", from: nginx.url + "/a.mp4").body == Data(Self.bytes.prefix(100)))
    #expect(try await eventually { try nginx.bodyBytes(under: "/a.mp4") == 100 })
  }

  @Test func `random bytes repeat by seed and nowhere else`() {
    let bytes = randomBytes(1 << 20, seed: 7)
    #expect(bytes == randomBytes(1 << 20, seed: 7))
    #expect(bytes != randomBytes(1 << 20, seed: 8))
    let runs = stride(from: 0, to: bytes.count, by: 64).map { Data(bytes[$0..<$0 + 64]) }
    #expect(Set(runs).count == runs.count)
    #expect(randomBytes(100, seed: 7) == Array(bytes.prefix(100)))
  }
}

enum ScriptedFault: CaseIterable {
  case cutWithLength, cutChunked, cutUntilClose, chunked, stalled, throttled

  var isCut: Bool { self != .chunked && self != .throttled }

  func answer(_ bytes: ArraySlice<UInt8>) -> Answer {
    let sound = Answer(200, bytes)
    return switch self {
    case .cutWithLength: sound.cut(after: 100_000)
    case .cutChunked: sound.framed(.chunked).cut(after: 100_000)
    case .cutUntilClose: sound.framed(.untilClose).cut(after: 100_000)
    case .chunked: sound.framed(.chunked)
    case .stalled: sound.stalled(after: 100_000)
    case .throttled: sound.throttled(to: 1_000_000)
    }
  }
}

enum PlainClient {
  static let program = "/usr/bin/curl"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: program)
}
