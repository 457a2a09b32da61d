import Foundation
import JSONKit
import KollusOrigin
import KollusTestSupport
import Testing

/// The origin run in this process over a folder of its own, its output kept.
final class OriginStage: Sendable {
  /// Seconds that the origin takes for now.
  static let now: Int64 = 1_800_000_000

  let root: String
  private let streams = Protected<(output: [String], error: [String])>(([], []))
  private let stops = AsyncStream<Int32>.makeStream()

  init(root: String = TemporaryDirectory.path + "/site") { self.root = root }

  var output: [String] { streams.withLock { $0.output } }
  var errors: [String] { streams.withLock { $0.error } }

  func run(_ words: String...) async -> Int32 { await run(words) }

  func run(_ words: [String]) async -> Int32 {
    let (streams, stops) = (streams, stops)
    return await Origin.run(
      words,
      in: Context(
        output: { line in streams.withLock { $0.output.append(line) } },
        error: { line in streams.withLock { $0.error.append(line) } }, now: { Self.now },
        stops: { stops.stream }))
  }

  /// Writes a file and publishes it.
  @discardableResult
  func publish(
    _ key: String, _ bytes: [UInt8] = Array("media".utf8), title: String = "Lecture", _ options: String...
  ) async throws -> Int32 {
    let file = TemporaryDirectory.path + "/source.mp4"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let words = ["publish", file, "--mck", key, "--title", title, "--root", root]
    return await run(words + options)
  }

  /// The first manifest of a published document.
  func manifest(_ key: String) throws -> JSON {
    let text = try String(contentsOfFile: "\(root)/contents/\(key)", encoding: .utf8)
    return try #require(try JSON(parsing: text).array("contents")?.elements.map { $0 }.first)
  }

  /// Serves while the body runs, and expects the server to end with 0.
  func serving(_ options: String..., body: (_ port: Int) async throws -> Void) async throws {
    let words = ["serve", "--root", root, "--port", "0"] + options
    let status = Task { await run(words) }
    _ = await eventually { self.output.last?.hasPrefix("listening on ") == true || !self.errors.isEmpty }
    let line = try #require(output.last { $0.hasPrefix("listening on http://127.0.0.1:") })
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    do { try await body(port) } catch { Issue.record(error) }
    stops.continuation.yield(15)
    #expect(await status.value == 0)
  }
}

extension LoopbackClient.Answer {
  var json: JSON { get throws { try JSON(parsing: body) } }

  var code: Int64? { get throws { try json.integer("code") } }
}
