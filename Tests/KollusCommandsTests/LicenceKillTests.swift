import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// `kill -9` between any two steps of a download under a licence: the next run goes on truthfully.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceKillTests {
  let site: OriginSite
  let callback: DRMCallback
  let tool: Tool
  let content: OriginContent
  let mck = "AbCd1234"
  /// Whether what was held back goes on.
  let isOpen = Protected(false)

  init() throws {
    site = try OriginSite()
    callback = try DRMCallback()
    tool = try Tool(origin: site.url, DRMCallback.settings())
    content = OriginContent(mck, bytes: randomBytes(2_000_000)).licensed(by: callback)
    try site.publish(content)
  }

  /// Blocks a server's thread until the kill, ten seconds at most.
  private func hold() { for _ in 0..<5_000 where !isOpen.withLock({ $0 }) { usleep(2_000) } }

  private var kinds: [Int] { callback.items.map(\.kind) }

  /// Starts a download, kills it when `isThere`, and lets go of what was held.
  private func killedDownload(when isThere: @Sendable () -> Bool) async throws {
    let process = try tool.start("download", mck)
    #expect(await eventually { isThere() || !process.isRunning })
    process.kill(SIGKILL)
    #expect(await process.wait().ending == .signal(9))
    isOpen.withLock { $0 = true }
  }

  private func expectNotReady() async throws {
    let check = try await tool.run("play-check", mck, "--json")
    check.expect(65)
    #expect(check.standardOutput.contains("-8629"))
  }

  /// A rerun makes it ready, after which the callback was asked for these kinds in all.
  private func expectRerun(_ wanted: [Int]) async throws {
    (try await tool.run("download", mck)).expect(0)
    #expect(kinds == wanted)
    (try await tool.run("play-check", mck, "--deep")).expect(0)
    (try await tool.run("download", mck)).expect(0)
    #expect(kinds == wanted)
  }

  @Test func `while kind 1 is answered`() async throws {
    callback.answer { item in
      if item.kind == 1 { hold() }
      return .init()
    }
    try await killedDownload { kinds == [1] }
    try await expectNotReady()
    #expect(site.mediaExchanges(of: mck).isEmpty)
    try await expectRerun([1, 1, 2])
  }

  @Test func `between approval and the first byte`() async throws {
    let sound = content.handler
    site.answerMedia(of: mck) { request in
      hold()
      return sound(request)
    }
    try await killedDownload {
      kinds == [1]
        && !(FileManager.default.subpaths(atPath: "\(tool.home)/media") ?? [])
          .filter { $0.hasSuffix(".sealed") }.isEmpty
    }
    try await expectNotReady()
    try await expectRerun([1, 2])
  }

  @Test func `in the middle of the bytes`() async throws {
    let sound = content.handler
    site.answerMedia(of: mck) { request in
      request.earlier == 0 ? sound(request) : sound(request).stalled(after: 1_000)
    }
    try await killedDownload { site.mediaBytes(of: mck) > 900_000 }
    site.answerMedia(of: mck, with: sound)
    try await expectNotReady()
    try await expectRerun([1, 2])
  }

  @Test func `while kind 2 is answered`() async throws {
    callback.answer { item in
      if item.kind == 2 { hold() }
      return .init()
    }
    try await killedDownload { kinds == [1, 2] }
    try await expectNotReady()
    let bytes = site.mediaBytes(of: mck)
    // Still nobody takes it, in a way that says nothing: not ready without an answer.
    callback.override { _, _ in Answer(200, text: "no token").with("X-Kollus-UserKey", "demo") }
    (try await tool.run("download", mck)).expect(65)
    try await expectNotReady()
    callback.override(nil)
    try await expectRerun([1, 2, 2, 2])
    #expect(site.mediaBytes(of: mck) == bytes, "no byte is fetched twice")
  }

  @Test(arguments: 0..<6)
  func `at a random moment`(_ trial: Int) async throws {
    let sound = content.handler
    site.answerMedia(of: mck) { sound($0).throttled(to: 8 << 20) }
    callback.override { _, answer in answer.delayed(by: .milliseconds(40)) }
    let process = try tool.start("download", mck)
    try await Task.sleep(for: .milliseconds(40 + 70 * trial + Int.random(in: 0...70)))
    process.kill(SIGKILL)
    _ = await process.wait()
    let first = kinds
    (try await tool.run("download", mck)).expect(0)
    // An approval that was not kept is asked for again; a completion until it was answered.
    #expect([[1, 2], [1, 1, 2], [1, 2, 2]].contains(kinds), "\(first), then \(kinds)")
    (try await tool.run("play-check", mck, "--deep")).expect(0)
  }
}
