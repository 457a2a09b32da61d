import ArgumentKit
import Foundation
import JSONKit
import KollusCommands
import KollusTestSupport
import Testing

/// What each subcommand prints and how it ends, run in this process.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct CommandTests {
  let site: OriginSite
  let stage: CommandStage

  init() throws {
    site = try OriginSite()
    stage = try CommandStage(origin: site.url, ["retries": "0"])
  }

  /// Publishes contents of 100,000 bytes and downloads them.
  func stock(_ keys: String..., change: (inout OriginContent) -> Void = { _ in }) async throws {
    try publish(keys, change: change)
    // One by one, so that they are registered in this order.
    for key in keys { await stage.run("download", key).expect(0) }
  }

  func publish(_ keys: [String], change: (inout OriginContent) -> Void = { _ in }) throws {
    for (number, key) in keys.enumerated() {
      let bytes = randomBytes(100_000 + number, seed: UInt64(number))
      try site.publish(OriginContent(key, bytes: bytes).with(change))
    }
  }

  /// Publishes a content whose media nobody has, and tries to download it.
  func stockFailed(_ key: String) async throws {
    try publish([key])
    site.answerMedia(of: key) { _ in Answer(404) }
    await stage.run("download", key).expect(69)
  }

  /// Turns a byte in the middle of the only sealed file.
  func damage() throws {
    let path = try #require(try stage.sealedFiles().first)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }  // Closing cannot lose what a test still needs.
    let middle = try file.seekToEnd() / 2
    try file.seek(toOffset: middle)
    let byte = try #require(try file.read(upToCount: 1)?.first)
    try file.seek(toOffset: middle)
    try file.write(contentsOf: Data([byte ^ 1]))
  }

  @Test func `the declarations have no problems`() {
    #expect(Kollus.tree.problems.isEmpty)
  }

  @Test(arguments: Kollus.tree.commands.map(\.name))
  func `help of a command names every input`(_ name: String) async throws {
    let path = name.split(separator: " ").map(String.init)
    let page = await stage.run(["help"] + path).expect(0)
    #expect(page.errors.isEmpty)
    #expect(page.output.hasPrefix("Usage: kollus \(name)"))
    let spec = try #require(Kollus.tree.command(name))
    // Words, since help is wrapped.
    let words = page.output.split(whereSeparator: \.isWhitespace)
    for input in spec.inputs + Kollus.tree.common {
      #expect(page.output.contains(input.label), "\(input.label)")
      let help = input.help.split(separator: " ")
      #expect(words.indices.contains { words[$0...].starts(with: help) }, "\(input.label): \(input.help)")
    }
    for example in spec.examples { #expect(page.output.contains(example)) }
    #expect(await stage.run(path + ["--help"]).output == page.output)
    #expect(page.output.split(separator: "\n").allSatisfy { $0.count <= 110 })
  }

  @Test func `examples on help pages are understood`() throws {
    for example in Kollus.tree.commands.flatMap(\.examples) {
      // What stands between quotes is one word.
      let parts = example.split(separator: ">")[0].split(separator: "'", omittingEmptySubsequences: false)
      let words = parts.enumerated().flatMap { number, part in
        number.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
      }
      #expect(words.first == "kollus" && !parts.count.isMultiple(of: 2))
      #expect(throws: Never.self, "\(example)") { try Kollus.tree.parse(Array(words.dropFirst())) }
    }
  }

  @Test(arguments: [["help"], ["--help"], [], ["-h"]])
  func `the overview names every command`(_ words: [String]) async throws {
    let page = await stage.run(words).expect(0)
    for spec in Kollus.tree.commands { #expect(page.output.contains("  \(spec.name)")) }
  }

  @Test func `the version is one line`() async throws {
    #expect(await stage.run("--version").expect(0).output == "kollus \(Kollus.version)\n")
  }

  @Test(
    arguments: [
      (["downlaod", "a"], "did you mean 'download'?"),
      (["download", "a", "--jbos", "2"], "did you mean '--jobs'?"),
      (["list", "--sort", "titel"], "titel"), (["list", "--state", "done"], "states are registered"),
      (["list", "http://127.0.0.1/"], "no kollus://list URL"),
      (["list", "kollus://download?url=x"], "kollus://list"),
      (["download"], "missing CONTENT"), (["download", ""], "may not be empty"),
      (["download", "a", "--uservalue", "100=x"], "0 to 99"),
      (["download", "a", "--uservalue", "x"], "N=VALUE"),
      (["download", "a", "--limit-rate", "0"], "at least 1"), (["download", "a", "--jobs", "0"], "jobs"),
      (["download", "a", "--jobs", "17"], "jobs"), (["download", "a", "--timeout", "never"], "timeout"),
      (["download", "a", "--folder", "a/../b"], "folder"),
      (["download", "--url", "ftp://x/"], "not a usable"),
      (["download", "kollus://path?folder=x"], "no download"),
      (["download", "kollus://nonsense"], "kollus://nonsense"),
      (["download", "kollus://download?url=%zz"], "percent-encoding"),
      (["download", "a", "-j"], "needs a value"),
      (["download", "-x4y", "a"], "connections"), (["show"], "missing KEY"),
      (["show", "a", "b"], "unexpected argument 'b'"),
      (["remove"], "missing KEY"), (["remove", "a", "--all"], "exclude each other"),
      (["export", "a"], "missing -o FILE"),
      (["export", "a", "-o", ""], "missing -o FILE"),
      (["export", "a", "-o", "-", "--json"], "both want standard output"),
      (["config", "colour"], "no configuration key"), (["config", "--unset"], "--unset needs a KEY"),
      (["config", "jobs", "2", "--unset"], "no VALUE"),
      (["config", "jobs", "many"], "expected a number from 1 to 16"),
      (["identity", "forget"], "actions are show and new"), (["completions", "tcsh"], "bash"),
      (["completions"], "SHELL"),
      (["list", "--json=yes"], "takes no value"),
      (["list", "--folder", "a", "--folder", "b"], "given twice"),
      (["list", "-z"], "-z"),
    ] as [([String], String)])
  func `a wrong command line is told in both forms`(_ words: [String], _ part: String) async throws {
    let isJSON = words.contains("--json")
    if !isJSON {
      let plain = await stage.run(words).expect(64)
      #expect(plain.output.isEmpty)
      #expect(plain.errors.hasPrefix("error: ") && plain.errors.contains(part), "\(plain.errors)")
    }
    let run = await stage.run(isJSON ? words : ["--json"] + words).expect(64)
    #expect(run.output.isEmpty)
    #expect(run.errors.contains(part), "\(run.errors)")
    let failure = try #require(run.failures.first)
    #expect(run.failures.count == 1)
    expectShape(failure, Contract.failure)
    #expect(try failure.integer("status") == 64)
    #expect(!FileManager.default.fileExists(atPath: stage.tool.home))
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `completions know every command and option`(_ shell: String) async throws {
    let script = await stage.run("completions", shell).expect(0).output
    for spec in Kollus.tree.commands {
      for word in spec.name.split(separator: " ") { #expect(script.contains(word)) }
      for input in spec.inputs where input.kind != .positional {
        #expect(script.contains(shell == "fish" ? "-l \(input.name)" : input.label))
      }
    }
    guard shell == "bash" else { return }
    let check = try ChildProcess("/bin/bash", ["-n"], environment: [:], input: Array(script.utf8))
    let outcome = await check.wait()
    outcome.expect(0)
    #expect(outcome.standardError.isEmpty)
  }

  @Test func `output that nobody takes is 74`() async throws {
    try await stock("a")
    let deaf = stage.with { $0.isHeard = false }
    let file = TemporaryDirectory.path + "/out"
    for words in [
      ["list"], ["list", "--json"], ["show", "a"], ["show", "a", "--json"], ["verify"], ["verify", "--json"],
      ["config"], ["config", "jobs"], ["config", "--json"], ["identity"], ["identity", "--json"],
      ["completions", "bash"], ["help"], ["help", "list"], ["--version"], ["download", "a"],
      ["download", "a", "--json"], ["download", "a", "--events", "jsonl"], ["export", "a", "-o", file],
      ["remove", "a", "--dry-run"],
    ] {
      await deaf.run(words).expect(74)
    }
    // What was asked for is done all the same.
    #expect(FileManager.default.contents(atPath: file)?.count == 100_000)
  }

  @Test func `quiet prints only what a person must act on`() async throws {
    try await stock("a")
    try await stockFailed("b")
    for words in [
      ["download", "a"], ["verify", "a"], ["remove", "a", "--dry-run"], ["config", "jobs", "3"],
    ] {
      let run = await stage.run(["--quiet"] + words).expect(0)
      #expect(run.output.isEmpty && run.errors.isEmpty, "\(run)")
    }
    let failed = await stage.run("download", "b", "-q").expect(69)
    #expect(failed.output.isEmpty)
    #expect(failed.errors.hasPrefix("error: b: "))
    let offline = try CommandStage(
      origin: "http://127.0.0.1:\(try unusedPort())", name: "offline", ["retries": "0"])
    let run = await offline.run("download", "c", "--quiet").expect(75)
    #expect(run.output.isEmpty && run.errors.isEmpty, "\(run)")
  }
}
