import Foundation
import JSONKit
import KollusTestSupport
import Testing

extension CommandTests {
  static let keys = [
    "origin", "cuid", "drmCallback", "lmsCallback", "timeout", "retries", "jobs", "connections",
    "renewWithin",
    "reserve", "player", "language", "caFile", "proxy", "allowPlainHTTP",
  ]

  @Test func `config shows what is in force`() async throws {
    let all = try await stage.run("config", "--json").expect(0).json
    expectShape(all, Self.keys.map { "\($0) string|null" })
    #expect(try all.string("origin") == site.url)
    #expect(try all.string("jobs") == "2")
    #expect(try all.string("reserve") == "0")
    #expect(try all.string("renewWithin") == "3d")
    let lines = await stage.run("config").expect(0).output.split(separator: "\n")
    #expect(lines[0] == "# \(stage.tool.configuration)")
    #expect(lines.dropFirst().map { String($0.prefix { $0 != " " }) } == Self.keys)
    #expect(lines.contains("jobs            2"))
    #expect(lines.contains("player          -"))
    let variable = stage.with { $0 = $0.setting("KOLLUS_JOBS", "5") }
    #expect(await variable.run("config", "jobs").expect(0).output == "5\n")
    let wrong = await stage.with { $0 = $0.setting("KOLLUS_JOBS", "many") }.run("config").expect(78)
    #expect(wrong.errors.contains("KOLLUS_JOBS must be a number from 1 to 16"))
  }

  @Test func `config sets, shows and unsets a key`() async throws {
    let set = await stage.run("config", "jobs", "4").expect(0)
    #expect(set.output == "jobs set in \(stage.tool.configuration)\n")
    #expect(await stage.run("config", "jobs").output == "4\n")
    #expect(await stage.run("config", "jobs", "--json").output == #"{"jobs":"4"}"# + "\n")
    #expect(await stage.run("config", "origin").output == "\(site.url)\n", "the rest stays")
    #expect(await stage.run("config", "jobs", "--unset").expect(0).output.hasPrefix("jobs taken out of"))
    #expect(await stage.run("config", "jobs").output == "2\n")
    for (key, value) in [
      ("jobs", "0"), ("timeout", "0"), ("reserve", "much"), ("allowPlainHTTP", "perhaps"), ("retries", "101"),
    ] {
      let run = await stage.run("config", key, value, "--json").expect(64)
      #expect(try run.failures.first?.object("error")?.string("message")?.contains(key) == true)
    }
    await stage.run("config", "keys").expect(64)
    await stage.run("config", "language", "").expect(0)
    #expect(await stage.run("config", "language").expect(0).output == "\n")
  }

  @Test func `a file and its folder are made for the first key, and a wrong file is left alone`() async throws
  {
    let path = TemporaryDirectory.path + "/new/folder/config.json"
    await stage.run("--config", path, "config", "cuid", "학생").expect(0)
    #expect(FileManager.default.contents(atPath: path) == Data("{\"cuid\":\"학생\"}\n".utf8))
    try Data("{".utf8).write(to: URL(fileURLWithPath: path))
    await stage.run("--config", path, "config", "cuid", "x").expect(78)
    #expect(FileManager.default.contents(atPath: path) == Data("{".utf8))
  }

  @Test(arguments: [
    "http://user:pass-word@127.0.0.1:9", "user:pass-word@127.0.0.1:9", "http://u:pass-word@x@127.0.0.1:9",
  ])
  func `a proxy's password is never shown`(_ proxy: String) async throws {
    try publish(["a"])
    for words in [
      ["config", "proxy", proxy], ["config", "proxy"], ["config"], ["config", "--json"],
      ["config", "proxy", "--json"], ["download", "a"], ["download", "a", "--events", "jsonl"],
      ["download", "a", "--json"], ["list"],
    ] {
      let run = await stage.run(words)
      #expect(!(run.output + run.errors).contains("pass-word"), "\(run)")
    }
    #expect(await stage.run("config", "proxy").output.hasSuffix("…@127.0.0.1:9\n"))
  }

  @Test func `identity is shown, and renewed on another machine`() async throws {
    try await stock("a")
    let first = await stage.run("identity").expect(0).output
    #expect(first.count == 41 && first.dropLast().allSatisfy(\.isHexDigit))
    let json = try await stage.run("identity", "show", "--json").expect(0).json
    expectShape(json, Contract.identity)
    #expect(try json.string("playerID") == String(first.dropLast()))
    #expect(try json.string("home") == stage.tool.home)

    let other = stage.with { $0.machineID = "machine-2" }
    for words in [["identity"], ["list"], ["show", "a"], ["download", "a"], ["verify"], ["remove", "a"]] {
      let run = await other.run(words).expect(78)
      #expect(
        run.output.isEmpty && run.errors.contains("other device") && run.errors.contains("identity new"))
    }
    let second = await other.run("identity", "new").expect(0).output
    #expect(second.count == 41 && second != first)
    #expect(await other.run("identity").expect(0).output == second)
    let path = TemporaryDirectory.path + "/out.mp4"
    await other.run("export", "a", "-o", path).expect(0)
    #expect(FileManager.default.contents(atPath: path) == Data(randomBytes(100_000, seed: 0)))
    await stage.run("list").expect(78)
  }
}

extension CommandStage {
  /// The same with one more variable in the environment.
  func setting(_ name: String, _ value: String) -> Self {
    var tool = tool
    tool.environment[name] = value
    return CommandStage(tool: tool)
  }

  private init(tool: Tool) { self.tool = tool }
}
