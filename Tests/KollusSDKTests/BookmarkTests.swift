import Foundation
import JSONKit
import KollusSDK
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct BookmarkTests {
  let stage: SDKStage
  let player = KollusPlayerView()
  let listener = PlayerListener()

  init() async throws {
    stage = try await SDKStage()
    listener.follow(player)
  }

  /// Downloads the lecture with an index of two marks and one of the user's, under `offline_bookmark`.
  private func download(_ policy: String? = nil) async throws {
    let marks = """
      "bookmarks":[{"position":3,"label":"Sound"},{"position":12,"label":"Light","kind":1},
      {"position":5,"value":"ask","kind":0}],"channel":{"bookmarkURL":"\(stage.receiver.url)/marks",
      """
    var entry = policy.map { _ in SDKStage.Entry.granted() }
    if let policy { entry?.members["offline_bookmark"] = .some(policy) }
    try await stage.download(under: entry, changes: [("\"channel\":{", marks)])
    player.kollusContent = try stage.content()
  }

  /// The elements that were sent, in order.
  private func sent() throws -> [JSON] {
    try stage.forms("/marks").flatMap { form in
      Array(try JSON(parsing: try #require(form["bookmarks"])).elements)
    }
  }

  @Test(
    arguments: [
      ("{\"download\":0,\"readonly\":0}", [], 1, 0, 0),
      ("{\"download\":1,\"readonly\":0}", [3, 12], 1, 1, 0),
      ("{\"download\":2,\"readonly\":1}", [3, 5, 12], 1, 2, 1),
      ("{\"download\":0,\"readonly\":1}", [], 0, 0, 1),
    ] as [(String, [Double], Int, Int, Int)])
  func `what comes along and what may be changed is the licence's to say`(
    _ policy: String, _ positions: [Double], _ use: Int, _ download: Int, _ readOnly: Int
  ) async throws {
    try await self.download(policy)
    #expect(player.bookmarks.map(\.position) == positions)
    #expect(player.nOfflineBookmarkUse == use && player.nOfflineBookmarkDownload == download)
    #expect(player.nOfflineBookmarkReadOnly == readOnly)
    #expect(player.bookmarkModifyEnabled == (readOnly == 0))
    #expect(code { try player.addBookmark(9, value: "mine") } == (readOnly == 1 ? -1010 : 0))
    #expect(player.bookmarks.contains { $0.position == 9 && $0.value == "mine" } == (readOnly == 0))
  }

  @Test func `marks are made, replaced and removed, and the channel is told`() async throws {
    try await download()
    #expect(player.bookmarks.map(\.title) == ["Sound", "", "Light"])
    #expect(player.bookmarks.map(\.kind) == [.index, .user, .index])
    try player.addBookmark(9.7, value: "first")
    try player.addBookmark(9, value: "second")
    try player.removeBookmark(5)
    #expect(player.bookmarks.map(\.position) == [3, 9, 12])
    let mark = try #require(player.bookmarks.first { $0.position == 9 })
    #expect(mark.value == "second" && mark.time.map { abs($0.timeIntervalSinceNow) < 60 } == true)
    await listener.waits { $0.bookmarks.count == 3 && $0.bookmarks.last?.count == 3 }
    stage.storage.sendStoredLms()
    let stage = stage
    #expect(
      await eventually {
        let text = stage.forms("/marks").compactMap { $0["bookmarks"] }.joined()
        return text.contains("second") && text.contains("remove")
      })
    let told = try sent()
    let last = try #require(try told.last { try $0.integer("position") == 9 })
    #expect(try last.string("action") == "add" && last.string("value") == "second")
    #expect(
      try last.string("media_content_key") == stage.mck && last.string("client_user_id") == "learner-17")
    let removed = try #require(try told.last { try $0.integer("position") == 5 })
    #expect(try removed.string("action") == "remove")
  }

  @Test func `what cannot be sent waits, in the library, until it is accepted`() async throws {
    try await download()
    stage.receiver.answer { _ in Answer(503) }
    try player.addBookmark(9, value: "kept")
    let (stage, refused) = (stage, stage.receiver)
    #expect(await eventually { !stage.forms("/marks").isEmpty })
    // Another program's storage over the same library finds it.
    let other = KollusStorage(configuration: stage.storage.configuration)
    other.setNetworkTimeOut(2, retry: 0)
    try other.start()
    refused.answer { _ in Answer(200, text: "{\"error\":0}") }
    let before = stage.forms("/marks").count
    #expect(
      await eventually(within: .seconds(20)) {
        // Whoever is still at it holds it back for a moment.
        other.sendStoredLms()
        return stage.forms("/marks").count > before
      })
    #expect(try sent().allSatisfy { try $0.string("value") == "kept" })
    let again = KollusPlayerView(mediaContentKey: stage.mck, storage: other)
    #expect(again.bookmarks.contains { $0.value == "kept" })
  }

  @Test func `a channel that is down is told once it is back, each change once`() async throws {
    let channel = try ScriptedServer { _ in Answer(200, text: "{\"error\":0}") }
    try await stage.download(
      changes: [("\"channel\":{", "\"channel\":{\"bookmarkURL\":\"\(channel.url)/marks\",")])
    player.kollusContent = try stage.content()
    channel.stop()
    let held = try HeldPort(channel.port)
    try player.addBookmark(4, value: "before")
    try player.addBookmark(8, value: "kept")
    try player.addBookmark(4, value: "after")
    try player.removeBookmark(8)
    #expect(player.bookmarks.map(\.value) == ["after"])
    held.release()
    let back = try ScriptedServer(on: channel.port) { _ in Answer(200, text: "{\"error\":0}") }
    let storage = stage.storage
    let isTold = try await eventually(within: .seconds(20)) {
      // Whoever is still at it, in vain, holds the others back for a moment.
      storage.sendStoredLms()
      let told = try Self.told(back)
      return told.contains { $0.hasPrefix("4 add after") } && told.contains { $0.hasPrefix("8 remove") }
    }
    let told = try Self.told(back)
    #expect(isTold && told.last { $0.hasPrefix("8") }?.hasPrefix("8 remove") == true, "\(told)")
    #expect(!told.contains { $0.contains("before") }, "what was replaced is not told any more")
    // What was accepted is not sent again.
    try player.addBookmark(12, value: "next")
    #expect(try await eventually { try Self.told(back).contains("12 add next") })
    #expect(try Self.told(back) == told + ["12 add next"])
  }

  /// Position, action and value of all changes that a channel was told, in order.
  private static func told(_ channel: ScriptedServer) throws -> [String] {
    try channel.exchanges.flatMap { exchange in
      let form = String(decoding: exchange.request.body, as: UTF8.self).replacing("+", with: " ")
      let text = try #require(form.removingPercentEncoding).dropFirst("bookmarks=".count)
      return try JSON(parsing: String(text)).elements.map { change in
        let position = try change.integer("position") ?? -1
        return "\(position) \(try change.string("action") ?? "") \(try change.string("value") ?? "")"
      }
    }
  }

  @Test func `what cannot be kept is refused`() async throws {
    try await download()
    for (position, value) in [
      (-1, "a"), (.nan, "a"), (1e12, "a"), (1, "a&b"), (1, String(repeating: "가", count: 400)),
    ]
      as [(Double, String)]
    {
      #expect(
        code { try player.addBookmark(position, value: value) } == -8613, "\(position) \(value.prefix(3))")
    }
    #expect(code { try player.removeBookmark(3) } == -8613, "the provider's")
    #expect(code { try player.removeBookmark(4) } == -8613, "none there")
    #expect(code { try KollusPlayerView().addBookmark(1, value: "a") } == -8661)
  }
}
