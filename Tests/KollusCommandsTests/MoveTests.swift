import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// `kollus move` and the tree of `kollus list`.
@Suite(.temporaryDirectory, .timeLimit(.minutes(10))) struct MoveTests {
  let site: OriginSite
  let stage: CommandStage
  static let (composed, decomposed) = ("각", "\u{1100}\u{1161}\u{11a8}")

  init() throws {
    site = try OriginSite()
    stage = try CommandStage(origin: site.url)
    for key in ["a", "b", "c", "d"] { try site.publish(OriginContent(key, bytes: randomBytes(1_000))) }
  }

  private func stock() async {
    await stage.run("download", "a").expect(0)
    await stage.run("download", "b", "--folder", "수학/1 단원").expect(0)
    await stage.run("download", "c", "--folder", "수학").expect(0)
    await stage.run("download", "d", "--folder", "과학").expect(0)
  }

  private func folders() async throws -> [String: String] {
    var folders: [String: String] = [:]
    for item in try await stage.run("list", "--json").expect(0).json.elements {
      folders[try item.string("mediaContentKey") ?? ""] = try item.string("folder")
    }
    return folders
  }

  @Test func `contents are moved, one by one told`() async throws {
    await stock()
    let run = await stage.run("move", "a", "nobody", "d", "--folder", "과학", "--json").expect(1)
    let items = Array(try run.json.elements)
    for item in items { expectShape(item, Contract.moved) }
    #expect(try items.map { try $0.bool("moved") } == [true, false, false])
    #expect(try items.map { try $0.string("folder") } == ["과학", nil, "과학"])
    #expect(try items.map { try $0.object("error")?.integer("code") } == [nil, -8638, nil])
    let root = await stage.run("move", "a", "--folder", "/").expect(0)
    #expect(root.output == "a: moved: from 과학 to /\n")
    #expect(try await folders()["a"] == "")
    await stage.run("move", "nobody", "--folder", "x").expect(66)
  }

  @Test func `a folder is renamed with all below it`() async throws {
    await stock()
    let dry = await stage.run("move", "--from", "수학", "--folder", "math", "-n").expect(0)
    #expect(dry.output.contains("b: would be moved from 수학/1 단원 to math/1 단원\n"))
    #expect(try await folders()["b"] == "수학/1 단원")
    let run = await stage.run("move", "--from", "수학/", "--folder", "/math", "--json").expect(0)
    #expect(try run.json.elements.map { try $0.string("folder") } == ["math/1 단원", "math"])
    #expect(try await folders() == ["a": "", "b": "math/1 단원", "c": "math", "d": "과학"])
    await stage.run("move", "--from", "수학", "--folder", "x").expect(66)
  }

  @Test(
    arguments: [
      ["a"], ["--folder", "x"], ["a", "--from", "y", "--folder", "x"], ["--from", "/", "--folder", "x"],
      ["a", "--folder", ""], ["a", "--folder", "../x"],
    ])
  func `what cannot be meant is refused`(_ words: [String]) async {
    await stage.run(["move"] + words).expect(64)
  }

  @Test func `Hangul stays as it was written`() async throws {
    await stage.run("download", "a", "--folder", Self.composed).expect(0)
    await stage.run("download", "b", "--folder", Self.decomposed).expect(0)
    let tree = Array(try await stage.run("list", "--tree", "--json").expect(0).json.elements)
    let titles = try tree.filter { try $0.integer("fileType") == 1 }.map {
      Array(try $0.string("title")?.utf8 ?? "".utf8)
    }
    #expect(titles == [Array(Self.decomposed.utf8), Array(Self.composed.utf8)])
    await stage.run("move", "--from", Self.decomposed, "--folder", Self.composed).expect(0)
    #expect(try await folders().values.allSatisfy { Array($0.utf8) == Array(Self.composed.utf8) })
  }

  // MARK: Lists

  @Test func `a tree has its folders as nodes, depth first`() async throws {
    await stock()
    let items = Array(try await stage.run("list", "--tree", "--json").expect(0).json.elements)
    #expect(
      try items.map { "\(try $0.string("mediaContentKey") ?? "-") \(try $0.string("folder") ?? "?")" } == [
        "a ", "- ", "d 과학", "- ", "c 수학", "- 수학", "b 수학/1 단원",
      ])
    for item in items {
      expectShape(item, try item.integer("fileType") == 1 ? Contract.folder : Contract.content)
    }
    let people = await stage.run("list", "--tree", "--columns", "key,state,title").expect(0)
    #expect(
      people.output == """
        KEY          STATE  TITLE
        a            ready  Lecture
        과학/
        `-- d        ready  Lecture
        수학/
        |-- c        ready  Lecture
        `-- 1 단원/
            `-- b    ready  Lecture

        """)
    let part = Array(
      try await stage.run("list", "--tree", "--folder", "과학", "--json").expect(0).json.elements)
    #expect(part.count == 2)
  }

  @Test func `columns are chosen and ordered`() async throws {
    await stock()
    let run = await stage.run("list", "--columns", "title,key,folder,duration,index").expect(0)
    #expect(run.output.hasPrefix("TITLE    KEY  FOLDER       DURATION  INDEX\n"))
    #expect(run.output.contains("Lecture  b    수학/1 단원     10:00      2\n"))
    let wrong = await stage.run("list", "--columns", "key,colour").expect(64)
    #expect(wrong.errors.contains("'colour' is not a column") && wrong.errors.contains("key, state, size"))
    await stage.run("list", "--columns", "").expect(64)
    await stage.run("list", "--columns", "key", "--json").expect(64)
  }

  // MARK: Kills

  @Test func `kill -9 of a move leaves all here or all there`() async throws {
    let keys = (0..<40).map { "k\($0)" }
    for key in keys { try site.publish(OriginContent(key, bytes: randomBytes(1_000))) }
    await stage.run(["download", "--folder", "old/x"] + keys).expect(0)
    var interrupted = 0
    for _ in 0..<KillTests.count(30) {
      let old = Set(try await folders().values)
      #expect(old.count == 1, "\(old)")
      let from = try #require(old.first)
      let to = from.hasPrefix("old") ? "new/y" : "old/x"
      let process = try stage.tool.start(["move", "--from", from, "--folder", to])
      try await Task.sleep(for: .microseconds(Int.random(in: 0...40_000)))
      process.kill(SIGKILL)
      if await process.wait().ending == .signal(9) { interrupted += 1 }
      let tree = Array(try await stage.run("list", "--tree", "--json").expect(0).json.elements)
      let nodes = try tree.filter { try $0.integer("fileType") == 1 }.map { try $0.string("title") }
      #expect(nodes == ["new", "y"] || nodes == ["old", "x"])
      #expect(tree.count == keys.count + 2)
    }
    #expect(interrupted > 0)
    await stage.run("verify").expect(0)
  }

  @Test func `kill -9 of a removal leaves what a rerun puts right`() async throws {
    let keys = (0..<12).map { "k\($0)" }
    for key in keys { try site.publish(OriginContent(key, bytes: randomBytes(1_000))) }
    var interrupted = 0
    for _ in 0..<KillTests.count(30) {
      await stage.run(["download", "--folder", "x", "--quiet"] + keys).expect(0)
      let process = try stage.tool.start("remove", "--all")
      try await Task.sleep(for: .microseconds(Int.random(in: 0...120_000)))
      process.kill(SIGKILL)
      if await process.wait().ending == .signal(9) { interrupted += 1 }
      let left = try await stage.listed()
      let ready = try await stage.listed("--state", "ready")
      #expect(Set(left).subtracting(ready).count <= 1, "\(left) \(ready)")
      if !ready.isEmpty { await stage.run(["verify"] + ready).expect(0) }
      #expect(try stage.sealedFiles().count <= left.count)
      await stage.run("remove", "--all").expect(0)
      #expect(try stage.sealedFiles().isEmpty)
      #expect(await stage.run("list", "--tree", "--json").expect(0).output == "[]\n")
    }
    #expect(interrupted > 0)
  }
}
