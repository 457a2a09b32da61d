import Foundation
import JSONKit
import KollusTestSupport
import Testing

typealias Digests = OriginContent.Digests

/// One origin, one content and one home, for a test of what `download` makes of a fault.
struct FaultBench {
  static let mebibyte = 1 << 20

  let site: OriginSite
  let tool: Tool
  /// As first published.
  let content: OriginContent

  init(
    _ digests: Digests, mebibytes: Int = 8, mck: String = "lecture/1", home: String? = nil,
    _ settings: [String: String] = [:]
  ) throws {
    site = try OriginSite()
    tool = try Tool(home: home, origin: site.url, settings)
    content = OriginContent(mck, bytes: randomBytes(mebibytes * Self.mebibyte), digests: digests)
    try site.publish(content)
  }

  var mck: String { content.mck }
  var size: Int { content.bytes.count }
  var mediaBytes: Int { site.mediaBytes(of: mck) }
  var mediaRequests: Int { site.mediaExchanges(of: mck).count }

  /// Another object in the content's place: new bytes, `longer` by that many, and a new validator.
  func changed(longer: Int = 0) -> OriginContent {
    content.with { content in
      content.bytes = randomBytes(size + longer, seed: 99)
      content.etag = "\"v2\""
    }
  }

  /// Wraps what the media are answered by now: the sound answer goes in, the faulty one comes out.
  func spoil(
    _ content: OriginContent? = nil, _ fault: @escaping @Sendable (ServedRequest, Answer) -> Answer
  ) {
    let sound = (content ?? self.content).handler
    site.answerMedia(of: mck) { fault($0, sound($0)) }
  }

  func heal() { site.answerMedia(of: mck, with: content.handler) }

  func startDownload(_ words: String...) throws -> ChildProcess {
    try tool.start(["download", mck, "--events", "jsonl"] + words)
  }

  func download(_ words: String...) async throws -> DownloadRun {
    DownloadRun(try await tool.start(["download", mck, "--events", "jsonl"] + words).wait())
  }

  /// A download that is killed once `fraction` of the object was sent; it must not be complete by then.
  func killedDownload(
    at fraction: Double = 0.5, by signal: Int32 = SIGKILL, connections: Int = 2, _ words: String...
  ) async throws -> DownloadRun {
    let limit = Int(Double(size) * fraction)
    let before = mediaBytes
    // Requests that come late get nothing, so that a busy machine cannot let the download end before the kill.
    spoil { _, sound in
      mediaBytes - before >= limit ? sound.stalled(after: 0) : sound.throttled(to: 4 * Self.mebibyte)
    }
    let words = ["download", mck, "--connections", "\(connections)"] + words
    let process = try tool.start(words + (words.contains("--json") ? [] : ["--events", "jsonl"]))
    #expect(await eventually { mediaBytes - before >= limit || !process.isRunning })
    process.kill(signal)
    let run = DownloadRun(await process.wait())
    heal()
    return run
  }

  /// Most bytes that all runs together may send, when a kill costs each connection one segment and what its
  /// sockets held.
  func allowance(connections: Int) -> Int { size + connections * (content.segmentSize + 384 << 10) }

  /// `export` gives exactly these bytes.
  func expectExported(_ bytes: [UInt8]? = nil, at location: SourceLocation = #_sourceLocation) async throws {
    let file = "\(TemporaryDirectory.path)/exported"
    (try await tool.run("export", mck, "-o", file)).expect(0, at: location)
    let exported = FileManager.default.contents(atPath: file)
    let isSame = exported == Data(bytes ?? content.bytes)
    #expect(isSame, "\(exported?.count ?? -1) bytes, not the object's", sourceLocation: location)
    if exported != nil { try FileManager.default.removeItem(atPath: file) }
  }

  /// The content as `list --json` shows it; nil when it is not listed.
  func listed() async throws -> JSON? {
    let outcome = try await tool.run("list", "--json")
    outcome.expect(0)
    let list = try JSON(parsing: outcome.standardOutput)
    return try list.elements.first { try $0.string("mediaContentKey") == mck }
  }

  /// Nothing of the content may be used.
  func expectNotReady(at location: SourceLocation = #_sourceLocation) async throws {
    let state = try await listed()?.string("state")
    #expect(state != "ready" && state != "fetched", sourceLocation: location)
    let file = "\(TemporaryDirectory.path)/not-ready"
    let export = try await tool.run("export", mck, "-o", file)
    #expect(export.status != 0 && export.status != nil, sourceLocation: location)
    #expect(!FileManager.default.fileExists(atPath: file), sourceLocation: location)
  }

  /// With a sound origin the next run ends well, whatever the last one left.
  func expectHealed(at location: SourceLocation = #_sourceLocation) async throws {
    heal()
    let run = try await download()
    run.outcome.expect(0, at: location)
    try await expectExported(at: location)
  }
}
