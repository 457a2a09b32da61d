import KollusTestSupport
import SQLiteKit
import Testing

@testable import KollusCore

/// Virtual folders in the library.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct FolderTests {
  let library: Library
  /// The same to a reader, other bytes to an origin.
  static let (composed, decomposed) = ("수학", "\u{1109}\u{116e}\u{1112}\u{1161}\u{11a8}")

  init() throws { library = try Library(Home(opening: TemporaryDirectory.path + "/home", machineID: "m")) }

  private func register(_ key: String, in folder: String) async throws {
    _ = try await library.register(
      LibraryStage.content(key), source: [1], playURL: nil, folder: folder)
  }

  private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

  private func folder(of key: String) async throws -> String { try await library.content(key)?.folder ?? "?" }

  @Test func `folders are told apart byte for byte`() async throws {
    try await register("a", in: Self.composed)
    try await register("b", in: Self.decomposed)
    #expect(bytes(try await library.folders()) == bytes([Self.decomposed, Self.composed]))
    let moves = try await library.moveFolder(Self.decomposed, to: "과학/\(Self.decomposed)")
    #expect(moves.map(\.mediaContentKey) == ["b"])
    #expect(Array(try await folder(of: "a").utf8) == Array(Self.composed.utf8))
    #expect(Array(try await folder(of: "b").utf8) == Array("과학/\(Self.decomposed)".utf8))
    // To the same text in other bytes is a move.
    let again = try await library.move(["a"], to: Self.decomposed)
    #expect(again.map(\.isChange) == [true])
  }

  @Test func `a folder that holds nothing is gone with what left it`() async throws {
    try await register("a", in: "x/y")
    try await register("b", in: "x")
    _ = try await library.move(["a", "nobody", "a"], to: "z")
    #expect(try await library.folders() == ["x", "z"])
    _ = try await library.move(["a"], to: "")
    #expect(try await library.folders() == ["x"])
    let content = try #require(try await library.content("b"))
    try await library.remove(content, SilentSink())
    #expect(try await library.folders().isEmpty)
    try await register("a", in: "x")
    try await register("a", in: "y")
    #expect(try await library.folders() == ["y"])
  }

  @Test(
    arguments: [
      ("math", "maths", ["maths", "maths/1", "maths/1/a b", "mathx", ""]),
      ("math/1", "math", ["math", "math", "math/a b", "mathx", ""]),
      ("math", "math/old", ["math/old", "math/old/1", "math/old/1/a b", "mathx", ""]),
      ("math", "", ["", "1", "1/a b", "mathx", ""]),
      ("math", "math", ["math", "math/1", "math/1/a b", "mathx", ""]),
      ("math/1/a b", "mathx", ["math", "math/1", "mathx", "mathx", ""]),
    ])
  func `a folder becomes another with all below it`(_ old: String, _ new: String, _ wanted: [String])
    async throws
  {
    let before = ["math", "math/1", "math/1/a b", "mathx", ""]
    for (number, path) in before.enumerated() { try await register("k\(number)", in: path) }
    let rehearsed = try await library.moveFolder(old, to: new, isRehearsal: true)
    #expect(try await places(5) == before)
    let moves = try await library.moveFolder(old, to: new)
    #expect(moves.map(\.to) == rehearsed.map(\.to))
    #expect(try await places(5) == wanted)
    #expect(try await library.folders() == Set(wanted).subtracting([""]).sorted())
  }

  private func places(_ count: Int) async throws -> [String] {
    var places: [String] = []
    for number in 0..<count { places.append(try await folder(of: "k\(number)")) }
    return places
  }

  @Test func `an unknown folder and a path too deep change nothing`() async throws {
    let deep = Array(repeating: "d", count: 30).joined(separator: "/")
    try await register("a", in: "x")
    try await register("b", in: "x/1/2/3")
    let unknown = await #expect(throws: KollusError.self) { try await library.moveFolder("y", to: "z") }
    #expect(unknown?.kind == .unknownContent)
    let tooDeep = await #expect(throws: KollusError.self) { try await library.moveFolder("x", to: deep) }
    #expect(tooDeep?.kind == .usage)
    #expect(try await folder(of: "a") == "x")
  }

  @Test func `contents come folder by folder`() async throws {
    for (key, path) in [("1", "b"), ("2", "a/c"), ("3", ""), ("4", "a b"), ("5", "a"), ("6", "a/c")] {
      try await register(key, in: path)
    }
    var selection = Library.Selection()
    selection.isByFolder = true
    #expect(try await library.contents(selection).map(\.mediaContentKey) == ["3", "5", "2", "6", "4", "1"])
  }

  @Test func `a library from before loses its empty folders`() async throws {
    let home = try Home(opening: TemporaryDirectory.path + "/old", machineID: "m")
    do {
      let db = try Connection(path: home.libraryPath)
      let old = Migrator(Array(Schema.migrator.migrations.prefix { $0.name != "folders" }))
      try old.migrate(db)
      try db.execute("INSERT INTO folder (path) VALUES ('empty')")
    }
    #expect(try await Library(home).folders().isEmpty)
  }
}
