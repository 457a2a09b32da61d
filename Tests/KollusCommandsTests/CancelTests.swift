import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// `kollus cancel` against downloads of other processes.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct CancelTests {
  let site: OriginSite
  let callback: DRMCallback
  let tool: Tool
  let content: OriginContent
  let mck = "강의/1"

  init() throws {
    site = try OriginSite()
    callback = try DRMCallback()
    tool = try Tool(origin: site.url, DRMCallback.settings().merging(["timeout": "\"50s\""]) { $1 })
    content = OriginContent(mck, bytes: randomBytes(4_000_000)).licensed(by: callback)
    try site.publish(content)
    try site.publish(OriginContent("other", bytes: randomBytes(100_000)))
  }

  /// Media that stop in the middle and leave the connection open.
  private func stall() {
    let sound = content.handler
    site.answerMedia(of: mck) { request in
      sound(request).stalled(after: site.mediaBytes(of: mck) > 1_000_000 ? 0 : 1_200_000)
    }
  }

  private func heal() { site.answerMedia(of: mck, with: content.handler) }

  private func startDownload(_ more: [String] = []) throws -> ChildProcess {
    try tool.start(["download", mck] + more + ["--events", "jsonl", "--jobs", "1", "--connections", "1"])
  }

  /// A download that hangs in mid-way, with bytes that it holds.
  private func hangingDownload(_ more: String...) async throws -> ChildProcess {
    stall()
    let process = try startDownload(more)
    #expect(await eventually { site.mediaBytes(of: mck) > 1_000_000 })
    return process
  }

  private var kinds: [Int] { callback.items(of: mck).map(\.kind) }

  private var sealed: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "\(tool.home)/media"))?
      .filter { $0.hasSuffix(".sealed") } ?? []
  }

  private func cancel(_ status: Int, at location: SourceLocation = #_sourceLocation) async throws -> JSON {
    let run = try await tool.run("cancel", mck, "--json")
    run.expect(status, at: location)
    let item = try #require(Array(try JSON(parsing: run.standardOutput).elements).first)
    expectShape(item, Contract.cancelled, at: location)
    #expect(try item.bool("cancelled") == (status == 0), sourceLocation: location)
    return item
  }

  private func state() async throws -> String? {
    let list = try JSON(parsing: try await tool.run("list", "--json").standardOutput)
    return try list.elements.first { try $0.string("mediaContentKey") == mck }?.string("state")
  }

  /// The process ended with this content because it was cancelled.
  private func expectCancelled(
    _ process: ChildProcess, _ status: Int = 130, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let run = DownloadRun(await process.wait())
    run.outcome.expect(status, at: location)
    let last = try #require(run.downloads(of: mck).last, sourceLocation: location)
    #expect(try last.object("error")?.integer("code") == -8615, sourceLocation: location)
    #expect(try await state() == "cancelled", sourceLocation: location)
    #expect(sealed.count == (status == 130 ? 0 : 1), sourceLocation: location)
  }

  private func expectNewDownload(_ wanted: [Int]) async throws {
    heal()
    callback.override(nil)
    callback.answer { _ in .init() }
    (try await tool.run("download", mck)).expect(0)
    #expect(kinds == wanted)
    (try await tool.run("play-check", mck, "--deep")).expect(0)
  }

  @Test func `a running download ends, what it held is dropped, other contents go on`() async throws {
    let process = try await hangingDownload("other")
    _ = try await cancel(0)
    try await expectCancelled(process, 1)
    let log = try await tool.run("events", "--events", "jsonl")
    #expect(log.standardOutput.contains(#""note":"cancelled""#))
    try await expectNewDownload([1, 1, 2])
  }

  @Test(arguments: ["kind 1", "kind 2", "media", "patience"])
  func `it ends whatever a download waits for`(_ what: String) async throws {
    let isOpen = Protected(false)
    let isHeld = Protected(false)
    defer { isOpen.withLock { $0 = true } }
    let hold: @Sendable () -> Void = { for _ in 0..<20_000 where !isOpen.withLock({ $0 }) { usleep(2_000) } }
    callback.answer { item in
      if what == "kind \(item.kind)" { hold() }
      return .init()
    }
    let sound = content.handler
    site.answerMedia(of: mck) { request in
      if what == "media" {
        isHeld.withLock { $0 = true }
        hold()
      }
      return what == "patience" ? Answer(503).retryAfter("100") : sound(request)
    }
    let process = try startDownload()
    #expect(
      await eventually {
        switch what {
        case "kind 1": kinds == [1]
        case "kind 2": kinds == [1, 2]
        case "media": isHeld.withLock { $0 }
        default: !site.mediaExchanges(of: mck).isEmpty
        }
      })
    _ = try await cancel(0)
    try await expectCancelled(process)
    isOpen.withLock { $0 = true }
    if what != "patience" { try await expectNewDownload(what == "kind 2" ? [1, 2, 1, 2] : [1, 1, 2]) }
  }

  @Test func `who joined shares the outcome`() async throws {
    let first = try await hangingDownload()
    let second = try startDownload()
    #expect(await second.line { $0.contains("joined") } != nil)
    let watch = try tool.start("watch", mck, "--events", "jsonl")
    #expect(await watch.line { $0.contains("downloadContent") } != nil)
    _ = try await cancel(0)
    for process in [first, second] { try await expectCancelled(process) }
    let watched = await watch.wait()
    watched.expect(130)
    #expect(watched.standardOutput.contains("-8615"))
  }

  @Test func `a download that is not running loses what it holds, again and again`() async throws {
    let process = try await hangingDownload()
    process.kill(SIGKILL)
    _ = await process.wait()
    #expect(sealed.count == 1)
    for _ in 0..<2 { _ = try await cancel(0) }
    #expect(try await state() == "cancelled" && sealed.isEmpty)
    try await expectNewDownload([1, 1, 2])
  }

  @Test func `what is downloaded is not cancelled, what is unknown is unknown`() async throws {
    (try await tool.run("download", mck)).expect(0)
    let item = try await cancel(65)
    #expect(try item.object("error")?.string("hint")?.contains("remove") == true)
    #expect(try await state() == "ready" && sealed.count == 1)
    let mixed = try await tool.run("cancel", mck, "nobody", "--json")
    mixed.expect(1)
    (try await tool.run("cancel", "nobody")).expect(66)
    (try await tool.run("cancel")).expect(64)
  }

  @Test func `one that waits in a queue is not begun`() async throws {
    try site.publish(content.with { $0.mck = "third" })
    let process = try await hangingDownload("third", "other")
    (try await tool.run("cancel", "third")).expect(0)
    heal()
    _ = try await cancel(0)
    let run = DownloadRun(await process.wait())
    run.outcome.expect(1)
    #expect(site.mediaExchanges(of: "third").isEmpty)
    try run.expectDownloaded("other")
  }

  // MARK: Kills

  @Test func `a wish outlives who had it`() async throws {
    let process = try await hangingDownload()
    process.kill(SIGSTOP)
    let canceller = try tool.start("cancel", mck)
    try await Task.sleep(for: .milliseconds(500))
    canceller.kill(SIGKILL)
    #expect(await canceller.wait().ending == .signal(9))
    process.kill(SIGCONT)
    try await expectCancelled(process)
  }

  @Test func `an old wish does not end a later download`() async throws {
    let process = try await hangingDownload()
    process.kill(SIGSTOP)
    let canceller = try tool.start("cancel", mck)
    try await Task.sleep(for: .milliseconds(500))
    for end in [canceller, process] {
      end.kill(SIGKILL)
      _ = await end.wait()
    }
    try await expectNewDownload([1, 2])
  }

  @Test func `a canceller finishes for a download that dies`() async throws {
    let process = try await hangingDownload()
    process.kill(SIGSTOP)
    let canceller = try tool.start("cancel", mck)
    try await Task.sleep(for: .milliseconds(300))
    process.kill(SIGKILL)
    await canceller.wait().expect(0)
    #expect(try await state() == "cancelled" && sealed.isEmpty)
  }

  @Test(arguments: 0..<6) func `kill -9 of either at any moment leaves what a rerun puts right`(_ trial: Int)
    async throws
  {
    let process = try await hangingDownload()
    let canceller = try tool.start("cancel", mck)
    try await Task.sleep(for: .milliseconds(Int.random(in: 0...400)))
    (trial.isMultiple(of: 2) ? process : canceller).kill(SIGKILL)
    _ = await canceller.wait()
    if trial < 4 { _ = try await cancel(0) }
    process.kill(SIGKILL)
    _ = await process.wait()
    if trial < 4 { #expect(try await state() == "cancelled" && sealed.isEmpty) }
    heal()
    (try await tool.run("download", mck)).expect(0)
    (try await tool.run("play-check", mck, "--deep")).expect(0)
  }
}
