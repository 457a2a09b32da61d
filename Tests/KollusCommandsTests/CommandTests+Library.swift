import Foundation
import JSONKit
import KollusTestSupport
import Testing

extension CommandTests {
  @Test func `list and show print a table and lines for people`() async throws {
    #expect(await stage.run("list").expect(0).output == "nothing here; 'kollus download' fetches contents\n")
    #expect(await stage.run("list", "--json").expect(0).output == "[]\n")
    try publish(["a"]) { $0.title = "1강. 소리와 빛" }
    await stage.run("download", "a", "--folder", "과학/1").expect(0)
    let lines = await stage.run("list").expect(0).output.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines[0].split(separator: " ") == ["KEY", "STATE", "SIZE", "LICENCE", "FOLDER", "TITLE"])
    #expect(lines[1].hasPrefix("a") && lines[1].hasSuffix("과학/1  1강. 소리와 빛"), "\(lines[1])")
    let show = await stage.run("show", "a").expect(0)
    #expect(
      show.output.split(separator: "\n").filter { !$0.hasPrefix("downloaded") } == [
        "key             a", "title           1강. 소리와 빛", "folder          과학/1", "state           ready",
        "size            97.7 KiB (100000 bytes)", "type            video/mp4", "kind            download",
        "duration        10:00", "picture         1280 × 720", "licence         not needed",
      ], "\(show.output)")
  }

  @Test func `list and show have the same members`() async throws {
    try await stock("a")
    try await stockFailed("b")
    let list = Array(try await stage.run("list", "--json").expect(0).json.elements)
    #expect(list.count == 2)
    for content in list { expectShape(content, Contract.content) }
    let show = try await stage.run("show", "a", "--json").expect(0).json
    expectShape(show, Contract.shown)
    #expect(show.rawText == list[0].rawText.dropLast() + #","lastExchange":null}"#)
    #expect(try show.string("clientUserID") == "" && show.bool("checkAbuse") == false)
    #expect(try show.integer("expirationPlaytimeType") == 0)
    #expect(try show.member("naturalSize")?.rawText == "[1280,720]")
    #expect(try show.number("duration") == 600)
    #expect(try show.integer("contentType") == 1)
    #expect(try show.integer("downloadStopSize") == 0)
    #expect(try abs((show.integer("downloadedTime") ?? 0) - Int64(Date().timeIntervalSince1970)) < 60)
    let error = try #require(try list[1].object("error"))
    expectShape(error, Contract.error)
    #expect(try list[1].string("state") == "failed")
    #expect(try error.integer("code") == -8404)
  }

  @Test func `list selects by state, time and folder`() async throws {
    try publish(["a", "b", "c"])
    await stage.run("download", "a", "--folder", "수학/1강").expect(0)
    await stage.run("download", "b", "--folder", "/수학2/").expect(0)
    await stage.run("download", "c").expect(0)
    try await stockFailed("d")
    #expect(try await stage.listed() == ["a", "b", "c", "d"])
    #expect(try await stage.listed("--state", "ready") == ["a", "b", "c"])
    #expect(try await stage.listed("--state", "failed") == ["d"])
    #expect(try await stage.listed("--state", "failed", "--state", "ready").count == 4)
    #expect(try await stage.listed("--folder", "수학") == ["a"])
    #expect(try await stage.listed("--folder", "수학2") == ["b"])
    #expect(try await stage.listed("--folder", "없음").isEmpty)
    #expect(try await stage.listed("--recent") == ["a", "b", "c"])
    let week = stage.with { $0.later = 6 * 86_400 }
    #expect(try await week.listed("--recent") == ["a", "b", "c"])
    #expect(try await stage.with { $0.later = 8 * 86_400 }.listed("--recent").isEmpty)
    // Again without a folder leaves a content where it is; another folder moves it when it is fetched anew.
    await stage.run("download", "a").expect(0)
    #expect(try await stage.listed("--folder", "수학") == ["a"])
  }

  @Test func `list sorts`() async throws {
    for (key, title, size) in [("1", "b", 100), ("2", "c", 300), ("3", "a", 200)] {
      try site.publish(
        OriginContent(key, bytes: randomBytes(size)).with { $0.title = title })
      await stage.run("download", key).expect(0)
    }
    #expect(try await stage.listed() == ["1", "2", "3"])
    #expect(try await stage.listed("--sort", "registered") == ["1", "2", "3"])
    #expect(try await stage.listed("--sort", "title") == ["3", "1", "2"])
    #expect(try await stage.listed("--sort", "size") == ["2", "3", "1"])
    #expect(try await Set(stage.listed("--sort", "time")) == ["1", "2", "3"])
  }

  @Test func `a content whose file is gone is missing`() async throws {
    try await stock("a")
    try FileManager.default.removeItem(atPath: try #require(try stage.sealedFiles().first))
    let list = await stage.run("list").expect(0)
    #expect(list.output.contains("a: missing: "))
    #expect(try await stage.listed().isEmpty)
    #expect(try await stage.listed("--state", "missing") == ["a"])
    await stage.run("export", "a", "-o", TemporaryDirectory.path + "/x").expect(65)
    await stage.run("download", "a").expect(0)
    #expect(try await stage.listed("--state", "ready") == ["a"])
  }

  @Test func `remove takes one, several and all but samples`() async throws {
    try await stock("a", "b", "c", "d")
    try await stock("s") { $0.members["contentType"] = "\"sample\"" }
    let rehearsed = await stage.run("remove", "a", "--dry-run").expect(0)
    #expect(rehearsed.output == "a: would be removed (Lecture)\n")
    let one = await stage.run("remove", "a").expect(0)
    #expect(one.output == "a: removed: Lecture\n")
    let mixed = await stage.run("remove", "b", "nobody", "--json").expect(1)
    let items = Array(try mixed.json.elements)
    for item in items { expectShape(item, Contract.removed) }
    #expect(try items.map { try $0.bool("removed") } == [true, false])
    #expect(try items[1].object("error")?.integer("code") == -8638)
    #expect(mixed.failures.count == 1)
    let dry = await stage.run("remove", "--all", "-n", "--json").expect(0)
    #expect(try dry.json.elements.map { try $0.string("mediaContentKey") } == ["c", "d"])
    #expect(try dry.json.elements.map { try $0.bool("removed") } == [false, false])
    #expect(try await stage.listed() == ["c", "d", "s"])
    await stage.run("remove", "--all").expect(0)
    #expect(try await stage.listed() == ["s"])
    #expect(try stage.sealedFiles().count == 1)
    #expect(await stage.run("remove", "--all", "--json").expect(0).output == "[]\n")
    await stage.run("remove", "s").expect(0)
    #expect(try stage.sealedFiles().isEmpty)
  }

  @Test func `export writes the bytes and replaces a file`() async throws {
    try await stock("a")
    let path = TemporaryDirectory.path + "/out.mp4"
    try Data("old".utf8).write(to: URL(fileURLWithPath: path))
    let plain = await stage.run("export", "a", "-o", path).expect(0)
    #expect(plain.output == "a: 97.7 KiB written to \(path)\n")
    #expect(FileManager.default.contents(atPath: path) == Data(randomBytes(100_000, seed: 0)))
    let json = try await stage.run("export", "a", "-o", path, "--json").expect(0).json
    expectShape(json, Contract.exported)
    #expect(try json.string("output") == path)
    #expect(try json.integer("size") == 100_000)
  }

  @Test func `an export that cannot be written leaves nothing behind`() async throws {
    try await stock("a")
    let folder = TemporaryDirectory.path + "/folder"
    try FileManager.default.createDirectory(atPath: folder + "/inner", withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: folder + "/file"))
    for path in [folder + "/inner", folder + "/file/x", folder + "/missing/x", "/proc/x"] {
      let run = await stage.run("export", "a", "-o", path, "--json").expect(74)
      #expect(run.output.isEmpty)
      #expect(run.failures.count == 1)
      #expect(try run.failures.first?.string("mediaContentKey") == "a")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["file", "inner"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/inner").isEmpty)
  }

  @Test func `a content that is not ready is not exported`() async throws {
    try await stockFailed("b")
    let path = TemporaryDirectory.path + "/out.mp4"
    let run = await stage.run("export", "b", "-o", path, "--json").expect(65)
    #expect(try run.failures.first?.object("error")?.integer("code") == -8629)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `export to standard output is the bytes and nothing else`() async throws {
    let text = String(repeating: "0123456789\n", count: 30_000)
    try site.publish(OriginContent("a", bytes: Array(text.utf8)))
    await stage.run("download", "a").expect(0)
    // Of the machine that the stage takes itself to be, the program knows nothing.
    (try await stage.tool.run("identity", "new")).expect(0)
    let outcome = try await stage.tool.run("export", "a", "-o", "-")
    outcome.expect(0)
    let isSame = outcome.standardOutput == text
    #expect(isSame)
    #expect(outcome.standardError.isEmpty)
  }

  @Test func `verify tells the sound from the damaged`() async throws {
    #expect(await stage.run("verify", "--json").expect(0).output == "[]\n")
    try await stock("a")
    #expect(await stage.run("verify").expect(0).output == "a: sound, 1 segments\n")
    let sound = Array(try await stage.run("verify", "a", "--json").expect(0).json.elements)
    expectShape(sound[0], Contract.verified)
    #expect(try sound[0].bool("sound") == true)
    #expect(try sound[0].member("damaged")?.rawText == "[]")
    try damage()
    try await stock("b")
    let run = await stage.run("verify", "--json").expect(1)
    // The one that was never checked comes first.
    let items = Array(try run.json.elements)
    for item in items { expectShape(item, Contract.verified) }
    #expect(try items.map { try $0.bool("sound") } == [true, false])
    #expect(try items[1].member("damaged")?.rawText == "[0]")
    #expect(try items[1].object("error")?.integer("code") == -8646)
    #expect(try run.failures.map { try $0.integer("status") } == [65])
    let plain = await stage.run("verify", "a").expect(65)
    #expect(
      plain.errors.hasPrefix(
        "error: a: 1 of 1 segments are damaged (-8646)\nhint: run 'kollus verify --repair'"))
    // Found damaged, it is out of use until it is fetched again.
    await stage.run("export", "a", "-o", TemporaryDirectory.path + "/x").expect(65)
    await stage.run("download", "a").expect(0)
    // In the order of their last checks, which may lie within one second.
    let lines = await stage.run("verify").expect(0).output.split(separator: "\n").sorted()
    #expect(lines == ["a: sound, 1 segments", "b: sound, 1 segments"])
    try await stockFailed("c")
    await stage.run("verify", "c").expect(65)
  }

  @Test
  func `a batch is listed in the order it was given`() async throws {
    let keys = (1...12).map { "lecture \($0)" }
    try publish(keys)
    site.answerManifest(of: keys[0]) { [site] _ in
      let content = OriginContent(keys[0], bytes: randomBytes(100_000, seed: 0))
      return Answer(
        200, text: content.manifest(mediaURL: site.mediaURL(of: keys[0])), type: "application/json"
      )
      .delayed(by: .milliseconds(100))
    }
    await stage.run(["download"] + keys).expect(0)
    #expect(try await stage.listed() == keys)
  }
}
