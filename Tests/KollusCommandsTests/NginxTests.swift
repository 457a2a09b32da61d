import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// The same contract held by a plain static server.
@Suite(.serialized, .temporaryDirectory, .enabled(if: Nginx.isInstalled), .timeLimit(.minutes(1)))
struct NginxTests {
  let bytes = randomBytes((8 << 20) + 77)

  /// A folder that holds one content's manifest and media, and the server over it.
  func serve(_ digests: Digests) async throws -> Nginx {
    let root = "\(TemporaryDirectory.path)/root"
    for folder in ["contents", "media"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
    }
    try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/media/a.mp4"))
    let nginx = try await Nginx(serving: root)
    let manifest = OriginContent("lecture", bytes: bytes, digests: digests)
      .manifest(mediaURL: "\(nginx.url)/media/a.mp4")
    try manifest.write(toFile: "\(root)/contents/lecture", atomically: true, encoding: .utf8)
    return nginx
  }

  @Test(arguments: Digests.allCases)
  func `a static origin is enough, and each byte is sent once`(_ digests: Digests) async throws {
    let nginx = try await serve(digests)
    defer { withExtendedLifetime(nginx) {} }
    let tool = try Tool(origin: nginx.url)
    let run = DownloadRun(try await tool.start("download", "lecture", "--events", "jsonl").wait())
    run.outcome.expect(0)
    try run.expectDownloaded("lecture")
    #expect(try await eventually { try nginx.bodyBytes(under: "/media/") >= bytes.count })
    #expect(try nginx.bodyBytes(under: "/media/") == bytes.count)
    let file = "\(TemporaryDirectory.path)/exported"
    (try await tool.run("export", "lecture", "-o", file)).expect(0)
    let isSame = FileManager.default.contents(atPath: file) == Data(bytes)
    #expect(isSame)
  }

  @Test(arguments: FaultTests.digests)
  func `a killed download of a slow line goes on`(_ digests: Digests) async throws {
    let nginx = try await serve(digests)
    defer { withExtendedLifetime(nginx) {} }
    let tool = try Tool(origin: nginx.url)
    let words = ["download", "lecture", "--events", "jsonl", "--limit-rate", "8M"]
    let process = try tool.start(words)
    // Half of it at least, by what the events say.
    let half = await process.line { line in
      // Notes have none.
      let size = (try? JSON(parsing: String(line)).integer("downloadSize")).flatMap { $0 }
      return size ?? 0 > 2 << 20
    }
    #expect(half != nil)
    process.kill(SIGKILL)
    let first = DownloadRun(await process.wait())
    let second = DownloadRun(try await tool.start("download", "lecture", "--events", "jsonl").wait())
    second.outcome.expect(0)
    expectNoStepBack(first, second, mck: "lecture")
    let file = "\(TemporaryDirectory.path)/exported"
    (try await tool.run("export", "lecture", "-o", file)).expect(0)
    let isSame = FileManager.default.contents(atPath: file) == Data(bytes)
    #expect(isSame)
  }
}
