import Foundation
import KollusTestSupport
import SQLiteKit
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LibraryTests {
  let home: Home

  init() throws { home = try Home(opening: TemporaryDirectory.path + "/home", machineID: "machine") }

  @Test func `everything of a content is kept over a reopening`() async throws {
    let full = LibraryStage.content("한/../\u{1}key") {
      $0.title = "제목"
      ($0.company, $0.course, $0.teacher, $0.synopsis) = ("a", "b", "c", "d\nd")
      ($0.descriptionURL, $0.mediaType, $0.encodingProfile, $0.contentProviderKey) = ("e", "f", "g", "h")
      ($0.clientUserID, $0.userValues) = ("i", "{\"uservalue0\":\"j\"}")
      ($0.kind, $0.duration, $0.fileSize) = (.sample, 600.25, 1 << 50)
      ($0.naturalWidth, $0.naturalHeight, $0.needsLicence) = (1_280, 720, true)
    }
    let stored = try await Library(home).register(
      full, source: [1, 2, 3], playURL: [9], folder: "math/unit 1")
    var expected = full
    (expected.id, expected.folder) = (stored.id, "math/unit 1")
    expected.fileName = Home.mediaName(of: full.mediaContentKey)
    #expect(stored == expected)
    let reopened = try Library(home)
    #expect(try await reopened.content(full.mediaContentKey) == expected)
    #expect(try await reopened.source(of: stored.id) == [1, 2, 3])
    #expect(try await reopened.contents(ofPlayURL: [9]) == [expected])
    #expect(try await reopened.contents(ofPlayURL: [8]) == [])
    #expect(try await reopened.content("other") == nil)
    #expect(try await reopened.folders() == ["math/unit 1"])
  }

  @Test func `registering anew takes the metadata and keeps the rest`() async throws {
    let library = try Library(home)
    let first = try await library.register(
      LibraryStage.content("a") { ($0.title, $0.needsLicence) = ("one", true) }, source: [1], playURL: [1],
      folder: "f")
    try await library.begin(first.id, holding: 40)
    let second = try await library.register(
      LibraryStage.content("a") { $0.title = "two" }, source: [2], playURL: [2], folder: nil)
    #expect(second.id == first.id)
    #expect(second.title == "two")
    #expect(second.folder == "f")
    #expect(second.state == .fetching)
    #expect(second.downloadSize == 40)
    // A content that once had a DRM callback never loses it.
    #expect(second.needsLicence)
    #expect(try await library.source(of: first.id) == [2])
    #expect(try await library.contents(ofPlayURL: [1]).map(\.id) == [first.id])
    #expect(
      try await library.register(LibraryStage.content("a"), source: [], playURL: nil, folder: "").folder == ""
    )
  }

  @Test func `a download's steps are stored`() async throws {
    let library = try Library(home)
    let stored = try await library.register(LibraryStage.content("a"), source: [], playURL: nil, folder: nil)
    func now() async throws -> Content { try #require(try await library.content("a")) }
    try await library.begin(stored.id, holding: 10)
    #expect(try await now().state == .fetching)
    try await library.setProgress(stored.id, 20)
    let failure = KollusError(.tryLater, code: -8_028, "no answer", mediaContentKey: "a")
    try await library.fail(stored.id, failure, notBefore: 77)
    var content = try await now()
    #expect(content.state == .failed)
    #expect(content.failure == failure)
    #expect((content.downloadSize, content.notBefore, content.stopSize) == (20, 77, 20))
    // The next run's failure is the one to tell.
    let other = KollusError(.refused, code: 1, "other", mediaContentKey: "a")
    try await library.fail(stored.id, other)
    #expect(try await (now().failure, now().notBefore) == (other, 0))
    try await library.begin(stored.id, holding: 20)
    #expect(try await now().failure == nil)
    content = try #require(try await library.finish(stored, at: 5_000, stamp: 9, filesNeedSync: true))
    #expect((content.state, content.downloadSize, content.downloadedTime) == (.ready, 100, 5_000))
    #expect((content.fileStamp, content.notBefore, content.stopSize) == (9, 0, 0))
    // What is ready does not fail by a late word.
    try await library.fail(stored.id, failure)
    #expect(try await now().state == .ready)
    try await library.setPictures(stored.id, snapshot: "s", thumbnail: "t")
    try await library.setDamaged(stored.id, holding: 60, failure)
    content = try await now()
    #expect((content.state, content.downloadSize, content.fileStamp) == (.failed, 60, 0))
    #expect((content.snapshot, content.thumbnail) == ("s", "t"))
    try await library.delete(stored.id)
    #expect(try await library.content("a") == nil)
    #expect(try await library.source(of: stored.id) == nil)
    #expect(try await library.finish(stored, at: 1, stamp: 1, filesNeedSync: false) == nil)
  }

  @Test func `lists choose by state, time and folder`() async throws {
    let library = try Library(home)
    try await library.ready("a", at: 1_000)
    try await library.ready("b", at: 2_000)
    _ = try await library.register(LibraryStage.content("c"), source: [], playURL: nil, folder: "x/y")
    _ = try await library.register(LibraryStage.content("d"), source: [], playURL: nil, folder: "x")
    _ = try await library.register(LibraryStage.content("e"), source: [], playURL: nil, folder: "xy")
    _ = try await library.register(LibraryStage.content("f"), source: [], playURL: nil, folder: "한/국")
    let missing = try await library.ready("g")
    try await library.setMissing([missing.id])
    func keys(_ change: (inout Library.Selection) -> Void) async throws -> String {
      var selection = Library.Selection()
      change(&selection)
      return try await library.contents(selection).map(\.mediaContentKey).joined()
    }
    #expect(try await keys { _ in } == "abcdef")
    #expect(try await keys { $0.states = [.missing] } == "g")
    #expect(try await keys { $0.states = [.ready, .missing] } == "abg")
    #expect(try await keys { $0.states = [] } == "")
    #expect(try await keys { $0.downloadedSince = 1_500 } == "b")
    #expect(try await keys { $0.downloadedSince = 1_000 } == "ab")
    #expect(try await keys { $0.folder = "x" } == "cd")
    #expect(try await keys { $0.folder = "x/y" } == "c")
    #expect(try await keys { $0.folder = "한" } == "f")
    #expect(try await keys { $0.folder = "%" } == "")
    let seen = KollusTestSupport.Protected("")
    try await library.forEach(Library.Selection()) { content in
      seen.withLock { $0 += content.mediaContentKey }
    }
    #expect(seen.withLock { $0 } == "abcdef")
    #expect(try await Set(library.contents(withKeys: ["a", "g", "z"]).keys.map(\.text)) == ["a", "g"])
    #expect(try await library.contents(withKeys: (0..<600).map { "k\($0)" } + ["b"]).count == 1)
  }

  @Test(
    arguments: [
      (.registered, "abc"), (.title, "cab"), (.time, "bca"), (.size, "cab"),
    ] as [(Library.Selection.Order, String)]) func `lists have their orders`(
      _ order: Library.Selection.Order, _ keys: String
    ) async throws
  {
    let library = try Library(home)
    try await library.ready("a", at: 1_000) { ($0.title, $0.fileSize) = ("나", 10) }
    try await library.ready("b", at: 2_000) { ($0.title, $0.fileSize) = ("나", 10) }
    try await library.ready("c", at: 2_000) { ($0.title, $0.fileSize) = ("가", 20) }
    var selection = Library.Selection()
    selection.order = order
    let found = try await library.contents(selection).map(\.mediaContentKey).joined()
    #expect(found == (order == .time ? "bca" : keys))
  }

  @Test func `only what is ready goes missing`() async throws {
    let library = try Library(home)
    let one = try await library.ready("a")
    let two = try await library.register(LibraryStage.content("b"), source: [], playURL: nil, folder: nil)
    try await library.setMissing([one.id, two.id])
    #expect(try await library.content("a")?.state == .missing)
    #expect(try await library.content("b")?.state == .registered)
  }

  @Test func `many tasks write at once and every one is told`() async throws {
    let library = try Library(home)
    let content = LibraryStage.content("x")
    let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
      for index in 0..<100 {
        group.addTask {
          var own = content
          own.mediaContentKey = "k\(index)"
          return try await library.register(
            own, source: [UInt8(index)], playURL: nil, folder: "f\(index % 3)"
          ).id
        }
      }
      return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
    }
    #expect(ids.count == 100)
    #expect(try await library.contents().count == 100)
    #expect(try await library.folders() == ["f0", "f1", "f2"])
  }

  @Test func `two libraries on one home write at once`() async throws {
    let libraries = try [Library(home), Library(home)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, library) in libraries.enumerated() {
        for index in 0..<50 {
          let own = LibraryStage.content("\(number)-\(index)")
          group.addTask { _ = try await library.register(own, source: [], playURL: nil, folder: nil) }
        }
      }
      try await group.waitForAll()
    }
    for library in libraries { #expect(try await library.contents().count == 100) }
  }

  @Test(arguments: 0..<3) func `a library that many open at once is made once`(_ round: Int) async throws {
    let home = home
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<6 {
        let own = LibraryStage.content("\(index)")
        group.addTask { @concurrent in
          _ = try await Library(home).register(own, source: [], playURL: nil, folder: nil)
        }
      }
      try await group.waitForAll()
    }
    #expect(try await Library(home).contents().count == 6)
  }

  @Test func `a library of a newer version is refused`() throws {
    _ = try Library(home)
    try Connection(path: home.libraryPath).execute("PRAGMA user_version = 99")
    let error = #expect(throws: KollusError.self) { try Library(home) }
    #expect(error?.kind == .configuration)
  }

  @Test(arguments: [100, 5_000]) func `a library that is no database is bad data`(_ length: Int) throws {
    try Files.write(randomBytes(length), to: home.libraryPath)
    let error = #expect(throws: KollusError.self) { try Library(home) }
    #expect(error?.kind == .badData)
  }

  @Test func `damage inside the library is bad data, not a trap`() async throws {
    do {
      let library = try Library(home)
      for index in 0..<50 { try await library.ready("k\(index)") }
    }
    for name in ["library.db-wal", "library.db-shm"] { try Files.remove("\(home.path)/\(name)") }
    let file = try File(home.libraryPath, O_RDWR)
    let size = try file.information().size
    guard size > 8_192 else { return }
    try file.write([UInt8](repeating: 0xa5, count: Int(size) - 4_096), at: 4_096)
    let error = await #expect(throws: KollusError.self) { try await Library(home).contents() }
    #expect(error?.kind == .badData)
  }

  @Test func `the library is private`() throws {
    _ = try Library(home)
    for name in try Files.names(in: home.path) {
      #expect(try Files.information("\(home.path)/\(name)")?.mode == 0o600, "\(name)")
    }
  }
}
