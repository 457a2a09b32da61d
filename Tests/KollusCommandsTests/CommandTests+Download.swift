import Foundation
import JSONKit
import KollusTestSupport
import Testing

extension CommandTests {
  @Test func `a download prints lines for people`() async throws {
    try publish(["a", "b"])
    let one = await stage.run("download", "a").expect(0)
    #expect(one.output.contains("a (Lecture): 0%, 0 B of 97.7 KiB\n"), "\(one.output)")
    #expect(one.output.hasSuffix("a (Lecture): downloaded, 97.7 KiB\n"), "\(one.output)")
    #expect(one.errors.isEmpty)
    let two = await stage.run("download", "a", "b").expect(0)
    #expect(two.output.hasSuffix("2 of 2 downloaded\n"), "\(two.output)")
    let mixed = await stage.run("download", "a", "nobody").expect(1)
    #expect(mixed.output.hasSuffix("1 of 2 downloaded\n"))
    #expect(mixed.errors.hasPrefix("error: nobody: the origin knows no such content"))
    #expect(mixed.errors.contains("(-4012)\nhint: "))
  }

  @Test func `a download's document is a contract`() async throws {
    try publish(["a"])
    let list = try await stage.run("download", "a", "--json").expect(0).json
    let item = try #require(Array(list.elements).first)
    expectShape(item, Contract.download)
    let content = try #require(try item.object("content"))
    expectShape(content, Contract.content)
    #expect(try content.string("state") == "ready")
    #expect(try item.bool("downloaded") == true)
    #expect(try item.member("error")?.isNull == true)

    let mixed = await stage.run("download", "nobody", "a", "--json").expect(1)
    let items = Array(try mixed.json.elements)
    #expect(try items.map { try $0.string("mediaContentKey") } == ["nobody", "a"])
    expectShape(items[0], Contract.download)
    #expect(try items[0].bool("downloaded") == false)
    #expect(try items[0].member("content")?.isNull == true)
    let error = try #require(try items[0].object("error"))
    expectShape(error, Contract.error)
    #expect(try error.integer("code") == -4012)
    let failure = try #require(mixed.failures.first)
    #expect(mixed.failures.count == 1)
    expectShape(failure, Contract.failure)
    #expect(try failure.string("mediaContentKey") == "nobody")
    #expect(try failure.integer("status") == 66)
    #expect(try failure.object("error")?.rawText == error.rawText)
  }

  @Test func `an unknown key is 66 in both forms`() async throws {
    let download = await stage.run("download", "nobody", "--json").expect(66)
    #expect(Array(try download.json.elements).count == 1)
    for words in [["show", "nobody"], ["export", "nobody", "-o", "x"]] {
      let run = await stage.run(words + ["--json"]).expect(66)
      #expect(run.output.isEmpty)
      expectShape(try #require(run.failures.first), Contract.failure)
      #expect(try run.failures[0].string("mediaContentKey") == "nobody")
      #expect(await stage.run(words).errors.hasPrefix("error: nobody: "))
    }
    for command in ["verify", "remove"] {
      let run = await stage.run(command, "nobody", "--json").expect(66)
      #expect(Array(try run.json.elements).count == 1)
      #expect(run.failures.count == 1)
    }
  }

  @Test func `words that look like something else are settled`() async throws {
    let keys = ["http://a/b?c", "kollus://download?url=x", "-dash", "--json"]
    try publish(keys)
    for key in keys { await stage.run("download", "--mck=\(key)").expect(0) }
    #expect(try await stage.listed() == keys)
    await stage.run("remove", "--", "-dash", "--json").expect(0)
    await stage.run("download", "--", "-dash", "--json").expect(0)
    #expect(try await stage.listed().count == 4)
    await stage.run("show", "--", "--json").expect(0)
    // A URL stays one whichever way it is given, and whatever its scheme's letters look like.
    site.answer("/s") { [site] _ in
      let content = OriginContent("by-url", bytes: randomBytes(10))
      return Answer(
        200, text: content.manifest(mediaURL: site.mediaURL(of: "-dash")), type: "application/json")
    }
    site.answerMedia(of: "-dash", with: OriginContent("by-url", bytes: randomBytes(10)).handler)
    await stage.run("download", "--url", "HTTP://127.0.0.1:\(site.server.port)/s?jwt=x").expect(0)
    #expect(try await stage.listed().contains("by-url"))
  }

  @Test func `a kollus URL brings several contents and their folder`() async throws {
    for name in ["one", "two"] {
      let content = OriginContent(name, bytes: randomBytes(1_000, seed: UInt64(name.count)))
      site.answerMedia(of: name, with: content.handler)
      let text = content.manifest(mediaURL: site.mediaURL(of: name))
      site.answer("/\(name)") { _ in Answer(200, text: text, type: "application/json") }
    }
    let urls = ["one", "two"].map { "url=\(Self.escaped("\(site.url)/\($0)?jwt=secret-\($0)&custom_key=k"))" }
    let word = "kollus://download?\(urls.joined(separator: "&"))&folder=\(Self.escaped("수학/1강"))&other=1"
    let run = await stage.run("download", word, "--folder", "elsewhere").expect(0)
    #expect(!(run.output + run.errors).contains("secret-"))
    #expect(try await stage.listed("--folder", "수학").sorted() == ["one", "two"])
    #expect(try await stage.listed("--folder", "수학/1강").sorted() == ["one", "two"])
    #expect(try await stage.listed("--folder", "elsewhere").isEmpty)
    let below = try await stage.listed("kollus://list?folder=\(Self.escaped("수학"))")
    #expect(below.sorted() == ["one", "two"])
    #expect(try await stage.listed("KOLLUS://list").count == 2)
    let show = try await stage.run("show", "one", "--json").expect(0).json
    #expect(try show.string("folder") == "수학/1강")
  }

  static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  @Test func `a list of contents is read from a file or standard input`() async throws {
    try publish(["a", "b", "c d"])
    let path = TemporaryDirectory.path + "/list.txt"
    try Data("\r\na\r\n\r\nb\n\n\nc d".utf8).write(to: URL(fileURLWithPath: path))
    await stage.run("download", "--from", path).expect(0)
    #expect(try await stage.listed().sorted() == ["a", "b", "c d"])
    await stage.run("remove", "--all").expect(0)
    await stage.with { $0.input = ["b", "", "a", "b"] }.run("download", "c d", "--from", "-", "--jobs", "1")
      .expect(0)
    #expect(try await stage.listed().sorted() == ["a", "b", "c d"])
    let empty = await stage.run("download", "--from", "-", "--json").expect(0)
    #expect(empty.output == "[]\n")
  }

  @Test func `a list that cannot be used is told`() async throws {
    let folder = TemporaryDirectory.path
    for (from, status) in [(folder + "/missing", 74), (folder, 74)] as [(String, Int32)] {
      let run = await stage.run("download", "--from", from).expect(status)
      #expect(run.errors.contains(from))
    }
    let path = folder + "/large"
    try Data(repeating: UInt8(ascii: "\n"), count: 17 << 20).write(to: URL(fileURLWithPath: path))
    let large = await stage.run("download", "--from", path).expect(64)
    #expect(large.errors.contains("larger than 16 MiB"))
    let endless = await stage.with { $0.input = nil }.run("download", "--from", "-", "--json").expect(64)
    #expect(endless.output.isEmpty)
    #expect(endless.failures.count == 1)
    try Data("a\nkollus://nonsense?jwt=secret\n".utf8).write(to: URL(fileURLWithPath: path))
    let wrong = await stage.run("download", "--from", path).expect(64)
    #expect(wrong.errors.contains(path) && !wrong.errors.contains("secret"))
  }

  @Test func `the same content twice in one call is one`() async throws {
    try publish(["a"])
    let run = await stage.run("download", "a", "a", "--mck", "a", "--json").expect(0)
    #expect(Array(try run.json.elements).count == 1)
    #expect(site.mediaBytes(of: "a") == 100_000)
  }

  @Test func `a dry run says what would be and stores nothing`() async throws {
    try publish(["a", "b"])
    let run = await stage.run("download", "a", "b", "--dry-run").expect(0)
    #expect(
      run.output == """
        a (Lecture): would fetch 97.7 KiB
        b (Lecture): would fetch 97.7 KiB
        in all 195.3 KiB

        """, "\(run.output)")
    let items = Array(try await stage.run("download", "a", "-n", "--json").expect(0).json.elements)
    expectShape(items[0], Contract.rehearsal)
    #expect(try items[0].integer("pendingSize") == 100_000)
    #expect(try items[0].bool("downloaded") == false)
    #expect(site.mediaExchanges(of: "a").isEmpty && site.mediaExchanges(of: "b").isEmpty)
    #expect(try await stage.listed().isEmpty)
    #expect(try stage.sealedFiles().isEmpty)
    await stage.run("download", "nobody", "-n").expect(66)
    await stage.run("download", "a").expect(0)
    let here = await stage.run("download", "a", "b", "-n").expect(0)
    #expect(here.output.contains("a (Lecture): is here\n"))
  }

  @Test(.enabled(if: SQLiteProgram.isInstalled)) func `user values and user id are kept`() async throws {
    try publish(["a", "b"])
    await stage.run(
      "download", "a", "--uservalue", "10=ten=10", "--uservalue", "0=한글", "--uservalue", "3=", "--cuid", "me"
    ).expect(0)
    await stage.run("download", "b").expect(0)
    let rows = try await SQLiteProgram.rows(
      "SELECT user_values, client_user_id FROM content ORDER BY id", of: stage.tool)
    // An empty one is none.
    #expect(rows == [#"{"uservalue0":"한글","uservalue10":"ten=10"}|me"#, "{}|"])
    #expect(await stage.run("show", "a").output.contains("user            me\n"))
    #expect(try await stage.run("show", "a", "--json").expect(0).json.string("clientUserID") == "me")
    let list = try await stage.run("list", "--json").expect(0).json
    #expect(try list.elements.map { try $0.string("clientUserID") } == ["me", ""])
  }
}

/// The sqlite3 shell, for what no command shows.
enum SQLiteProgram {
  static let path = "/usr/bin/sqlite3"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: path)

  static func rows(_ query: String, of tool: Tool) async throws -> [String] {
    try await run(["-readonly", "\(tool.home)/library.db", query])
  }

  static func change(_ sql: String, of tool: Tool) async throws {
    _ = try await run(["\(tool.home)/library.db", sql])
  }

  private static func run(_ words: [String]) async throws -> [String] {
    let process = try ChildProcess(path, words, environment: [:])
    let outcome = await process.wait()
    outcome.expect(0)
    return outcome.standardOutput.split(separator: "\n").map(String.init)
  }
}
