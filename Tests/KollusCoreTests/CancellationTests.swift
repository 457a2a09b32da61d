import KollusTestSupport
import SQLiteKit
import Testing

@testable import KollusCore

/// Giving up downloads, as far as the library alone is concerned.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct CancellationTests {
  let home: Home
  let library: Library
  let sink = RecordingSink()

  init() throws {
    home = try Home(opening: TemporaryDirectory.path + "/home", machineID: "machine")
    library = try Library(home) { 1_000_000 }
    try home.makeMedia()
  }

  private func registered(_ key: String, revives: Bool = false) async throws -> Content {
    try await library.register(
      LibraryStage.content(key), source: [1], playURL: nil, folder: nil, revives: revives)
  }

  @Test(arguments: [Content.State.registered, .approved, .fetching, .fetched, .failed, .cancelled])
  func `what is not ready is given up, and again`(_ state: Content.State) async throws {
    let content = try await registered("a")
    try await library.record { db throws(SQLiteError) in
      try db.execute("UPDATE content SET state = ?", .text(state.rawValue))
    }
    for _ in 0..<2 {
      let current = try #require(try await library.content("a"))
      try await library.cancel(current, sink)
      #expect(try await library.content("a")?.state == .cancelled)
    }
    #expect(sink.notes == [.cancelled, .cancelled])
    #expect(try await library.cancellations().isEmpty)
    #expect(try await registered("a").state == .cancelled, "who was at it before does not revive it")
    #expect(try await registered("a", revives: true).state == .registered)
    #expect(content.id == (try await library.content("a"))?.id)
  }

  @Test func `what is ready or gone stays as it is`() async throws {
    let ready = try await library.ready("a")
    let error = await #expect(throws: KollusError.self) { try await library.cancel(ready, sink) }
    #expect(error?.kind == .badData && error?.hint?.contains("remove") == true)
    try await library.setMissing([ready.id])
    let missing = try #require(try await library.content("a"))
    await #expect(throws: KollusError.self) { try await library.cancel(missing, sink) }
    #expect(try await library.content("a")?.state == .missing)
    // One that became ready while it was to be given up.
    let other = try await registered("b")
    _ = try await library.ready("b")
    await #expect(throws: KollusError.self) { try await library.cancel(other, sink) }
    #expect(try await library.content("b")?.state == .ready)
  }

  @Test func `a wish stands while somebody holds the content`() async throws {
    let content = try await registered("a")
    let lock = try #require(try home.lock(content: content.id))
    let error = await #expect(throws: KollusError.self) {
      try await library.cancel(content, within: .milliseconds(200), sink)
    }
    #expect(error?.kind == .tryLater)
    #expect(try await library.cancellations() == [content.id])
    #expect(try await library.content("a")?.state == .registered)
    withExtendedLifetime(lock) {}
  }

  @Test func `a canceller finishes what its holder has left`() async throws {
    let content = try await registered("a")
    let lock = KollusTestSupport.Protected(try home.lock(content: content.id))
    async let cancelling: Void = library.cancel(content, sink)
    while try await library.cancellations().isEmpty { try await Task.sleep(for: .milliseconds(2)) }
    lock.withLock { $0 = nil }
    try await cancelling
    #expect(try await library.content("a")?.state == .cancelled)
    #expect(try await library.cancellations().isEmpty)
  }

  @Test func `locks are seen without being taken`() async throws {
    let first = try await registered("a")
    let second = try await registered("b")
    #expect(try home.lockedContents().isEmpty)
    let locks = [try home.lock(content: second.id), try home.lock(content: first.id)]
    #expect(try home.lockedContents() == [first.id, second.id])
    #expect(try home.isLocked(content: first.id) && !home.isLocked(content: 99))
    #expect(try await library.running().map(\.key) == ["a", "b"])
    _ = try await library.ready("b")
    #expect(try await library.running().map(\.key) == ["a"], "one that is ready is not downloaded")
    withExtendedLifetime(locks) {}
    #expect(throws: Never.self) { try ByteLockProbe.many(home) }
  }

  /// Many locks at once, in no order.
  private enum ByteLockProbe {
    static func many(_ home: Home) throws {
      let ids = Array(Int64(100)..<160).shuffled()
      let locks = try ids.map { try home.lock(content: $0) }
      let locked = try home.lockedContents()
      #expect(locked.filter { $0 >= 100 } == ids.sorted(), "those from before may still be held")
      withExtendedLifetime(locks) {}
    }
  }
}
