import Foundation
import KollusTestSupport
import Testing

/// A content removed while another process has it in its queue.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RemovalTests {
  @Test(arguments: [false, true])
  func `a queued content that is removed is not fetched behind its row`(_ comesBack: Bool) async throws {
    let site = try OriginSite()
    let bytes = randomBytes(300_000)
    for key in ["a", "b"] { try site.publish(OriginContent(key, bytes: bytes)) }
    let sound = OriginContent("a", bytes: bytes).handler
    let isHeld = Protected(true)
    site.answerMedia(of: "a") { request in
      // On the connection's own thread; the deadline only keeps a failed test from hanging.
      let deadline = ContinuousClock.now + .seconds(40)
      while isHeld.withLock({ $0 }), .now < deadline { usleep(10_000) }
      return sound(request)
    }
    let tool = try Tool(origin: site.url, ["jobs": "1", "timeout": "\"50s\""])
    let queue = try tool.start("download", "a", "b", "--events", "jsonl")
    _ = await queue.line(within: .seconds(30)) { $0.contains("\"a\"") && $0.contains("downloadContent") }
    (try await tool.run("remove", "b")).expect(0)
    if comesBack { (try await tool.run("download", "b")).expect(0) }
    isHeld.withLock { $0 = false }
    let outcome = await queue.wait()
    outcome.expect(comesBack ? 0 : 1)
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(tool.home)/media")
      .filter { $0.hasSuffix(".sealed") }
    #expect(files.count == (comesBack ? 2 : 1))
    #expect(site.mediaExchanges(of: "b").count == (comesBack ? 1 : 0))
    (try await tool.run("verify")).expect(0)
  }
}
