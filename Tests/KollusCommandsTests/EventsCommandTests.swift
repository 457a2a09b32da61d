import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// `kollus events`: the log of what happened, by the built program and in this process.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct EventsCommandTests {
  let site: OriginSite
  let stage: CommandStage

  init() throws {
    site = try OriginSite()
    stage = try CommandStage(origin: site.url, ["retries": "0"])
    for key in ["a", "b"] { try site.publish(OriginContent(key, bytes: randomBytes(100_000))) }
  }

  private var path: String { "\(stage.tool.home)/events.jsonl" }

  private func events(_ words: String...) async throws -> [JSON] {
    Array(try await stage.run(["events", "--json"] + words).expect(0).json.elements)
  }

  private func names(_ events: [JSON]) throws -> [String] {
    try events.map { try $0.string("note") ?? $0.string("event") ?? "" }
  }

  @Test func `every command leaves what it changed or found`() async throws {
    await stage.run("download", "a", "b").expect(0)
    await stage.run("download", "c", "--quiet").expect(66)
    await stage.run("verify", "--json").expect(0)
    await stage.run("move", "a", "--folder", "x").expect(0)
    try FileManager.default.removeItem(atPath: stage.sealedFiles()[0])
    await stage.run("list").expect(0)
    await stage.run("remove", "--all").expect(0)
    let events = try await events()
    let names = try names(events)
    #expect(names.count { $0 == "resolved" } == 2 && names.count { $0 == "downloadContent" } == 3)
    #expect(names.suffix(4) == ["moved", "missing", "removed", "removed"])
    for event in events {
      let contract = try event.string("event") == "note" ? Contract.note : Contract.downloadEvent
      expectShape(event, contract)
    }
    let lines = await stage.run("events", "--events", "jsonl").expect(0)
    #expect(JSONLines(lines.output).objects.map(\.rawText) == events.map(\.rawText))
    let people = await stage.run("events").expect(0).output.split(separator: "\n")
    #expect(people.count == events.count && people.allSatisfy { $0.contains("Z  ") })
    #expect(people.contains { $0.hasSuffix("  a (Lecture): downloaded, 97.7 KiB") })
    let quiet = await stage.run("events", "--quiet").expect(0).output.split(separator: "\n")
    #expect(quiet.count == 2 && quiet[0].contains("c: error: ") && quiet[1].contains(": missing: "))
  }

  @Test func `since goes on behind a number or from a time`() async throws {
    await stage.run("download", "a").expect(0)
    let first = try await events()
    let last = try #require(try first.last?.integer("seq"))
    #expect(try await events("--since", "\(last)").isEmpty)
    let later = stage.with { $0.later = 7_200 }
    await later.run("remove", "a").expect(0)
    #expect(try names(try await events("--since", "\(last)")) == ["removed"])
    let recent = await later.run("events", "--json", "--since", "1h").expect(0)
    #expect(try names(Array(try recent.json.elements)) == ["removed"])
    #expect(try await events("--since", "30d").count == first.count + 1)
    #expect(try await events("--since", "2020-01-01").count == first.count + 1)
    #expect(try await events("--since", "2100-01-01T00:00:00Z").isEmpty)
    for word in ["-1", "soon", "12x"] { await stage.run("events", "--since=\(word)").expect(64) }
  }

  @Test(arguments: ["2026-11-30", "2026-11-30T00:00:00Z"])
  func `a day begins with its first second`(_ word: String) async throws {
    try FileManager.default.createDirectory(atPath: stage.tool.home, withIntermediateDirectories: true)
    let lines = ["2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"].map {
      #"{"v":1,"seq":0,"at":"\#($0)","event":"note","note":"removed","mediaContentKey":"a","message":""}"#
    }
    try ([#"{"v":1,"log":"events","base":0}"#] + lines).joined(separator: "\n").appending("\n")
      .write(toFile: path, atomically: true, encoding: .utf8)
    let run = try await stage.tool.run("events", "--since", word, "--events", "jsonl")
    run.expect(0)
    #expect(JSONLines(run.standardOutput).objects.count == 1)
  }

  @Test func `it needs no library and makes nothing`() async throws {
    let empty = await stage.run("events").expect(0)
    #expect(empty.output.isEmpty && empty.errors.isEmpty)
    #expect(await stage.run("events", "--json").expect(0).output == "[]\n")
    #expect(!FileManager.default.fileExists(atPath: stage.tool.home))
    await stage.run("download", "a").expect(0)
    let library = "\(stage.tool.home)/library.db"
    for name in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: library + name) }
    try Data("no library".utf8).write(to: URL(filePath: library))
    #expect(try await events().count > 1)
    #expect(try Data(contentsOf: URL(filePath: library)) == Data("no library".utf8))
  }

  @Test func `a log that cannot be written costs no command`() async throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: stage.tool.home)
    let run = await stage.run("download", "a", "b").expect(0)
    #expect(run.output.split(separator: "\n").count { $0.contains("not kept in the log") } == 1)
  }

  @Test func `a rehearsal leaves nothing`() async throws {
    await stage.run("download", "a", "--dry-run").expect(0)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  // MARK: Processes

  @Test func `a follower tells what others do, past a file put aside, until interrupted`() async throws {
    let follower = try stage.tool.start("events", "--follow", "--json")
    (try await stage.tool.run("download", "a")).expect(0)
    #expect(await follower.line { $0.contains(#""downloaded":true"#) } != nil)
    // Nearly full: the next lines begin another file.
    let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    let line =
      #"{"v":1,"seq":0,"at":"2000-01-01T00:00:00Z","event":"note","note":"resolved","message":"x"}"# + "\n"
    let count = ((8 << 20) - size) / line.utf8.count - 1
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(String(repeating: line, count: count).utf8))
    for _ in 0..<3 { (try await stage.tool.run("download", "b")).expect(0) }
    (try await stage.tool.run("remove", "b")).expect(0)
    #expect(FileManager.default.fileExists(atPath: "\(stage.tool.home)/events.1.jsonl"))
    #expect(await follower.line(within: .seconds(20)) { $0.contains(#""note":"removed""#) } != nil)
    follower.kill(SIGINT)
    let outcome = await follower.wait()
    outcome.expect(130)
    #expect(outcome.standardError.isEmpty)
    let numbers = try JSONLines(outcome.standardOutput).objects.map { try $0.integer("seq") ?? 0 }
    #expect(numbers == numbers.sorted() && numbers.count > count + 5)
    // What is left can be had again from any number.
    let again = try await stage.tool.run("events", "--since", "\(numbers[count])", "--events", "jsonl")
    #expect(JSONLines(again.standardOutput).objects.count == numbers.count - count - 1)
  }

  @Test func `a follower that waits for a home costs next to nothing`() async throws {
    let follower = try stage.tool.start("events", "--follow")
    try await Task.sleep(for: .seconds(2))
    let stat = try String(contentsOfFile: "/proc/\(follower.pid)/stat", encoding: .utf8)
    let fields = stat.split(separator: " ")
    #expect((Int(fields[13]) ?? 99) + (Int(fields[14]) ?? 99) < 20, "hundredths of a second: \(stat)")
    (try await stage.tool.run("download", "a")).expect(0)
    #expect(await follower.line { $0.contains("a (Lecture): downloaded") } != nil)
    follower.kill(SIGTERM)
    await follower.wait().expect(143)
  }

  @Test(arguments: 0..<4) func `kill -9 loses nothing that was told`(_ trial: Int) async throws {
    for number in 0..<60 { try site.publish(OriginContent("k\(number)", bytes: randomBytes(2_000))) }
    let words = ["download", "--events", "jsonl", "--jobs", "4"] + (0..<60).map { "k\($0)" }
    let process = try stage.tool.start(words)
    let wanted = 10 + 20 * trial
    let seen = Protected(0)
    _ = await process.line { _ in
      seen.withLock { seen in
        seen += 1
        return seen > wanted
      }
    }
    process.kill(SIGKILL)
    let told = DownloadRun(await process.wait()).events.filter {
      (try? $0.string("note")) != .some(nil) || (try? $0.bool("downloaded")) == true
    }
    let kept = try await events().map { event in
      try
        "\(event.string("mediaContentKey") ?? "") \(event.string("note") ?? "") \(event.bool("downloaded") ?? false)"
    }
    for event in told {
      let text =
        try
        "\(event.string("mediaContentKey") ?? "") \(event.string("note") ?? "") \(event.bool("downloaded") ?? false)"
      #expect(kept.contains(text), "\(text)")
    }
    #expect(told.count >= wanted / 3)
  }
}
