import Foundation
import KollusTestSupport
import Testing

/// The built program with a terminal for its standard error, made by script(1).
@Suite(
  .serialized, .temporaryDirectory, .timeLimit(.minutes(1)),
  .enabled(if: ScriptProgram.isInstalled, "script(1) is not installed"))
struct TerminalTests {
  static let hideCursor = "\u{1b}[?25l"
  static let showCursor = "\u{1b}[?25h"

  let site: OriginSite
  let tool: Tool
  let content = OriginContent("a", bytes: randomBytes(2 << 20)).with { $0.segmentSize = 65_536 }

  init() throws {
    site = try OriginSite()
    tool = try Tool(origin: site.url, ["retries": "0"])
    try site.publish(content)
  }

  var output: String { "\(TemporaryDirectory.path)/output" }
  var pidFile: String { "\(TemporaryDirectory.path)/pid" }

  /// What `script` gives out is the program's standard error; standard output goes to a file.
  func start(_ words: String, terminal: String = "xterm") throws -> ChildProcess {
    let program = try Tool.built("kollus")
    let command =
      "echo $$ >'\(pidFile)'; exec '\(program)' --config '\(tool.configuration)' \(words) >'\(output)'"
    var environment = tool.environment
    (environment["TERM"], environment["SHELL"]) = (terminal, "/bin/sh")
    return try ChildProcess(
      ScriptProgram.path, ["-q", "-e", "-c", command, "/dev/null"], environment: environment)
  }

  /// The cursor was hidden, and is shown at the end.
  func expectRestored(_ screen: String, at location: SourceLocation = #_sourceLocation) throws {
    let hidden = try #require(
      screen.range(of: Self.hideCursor, options: .backwards), sourceLocation: location)
    let shown = try #require(screen.range(of: Self.showCursor, options: .backwards), sourceLocation: location)
    #expect(hidden.lowerBound < shown.lowerBound, "\(screen.debugDescription)", sourceLocation: location)
  }

  @Test func `a bar is drawn on standard error and the cursor comes back`() async throws {
    let sound = content.handler
    site.answerMedia(of: "a") { sound($0).throttled(to: 6 << 20) }
    let outcome = try await start("download a").wait()
    outcome.expect(0)
    let screen = outcome.standardOutput
    try expectRestored(screen)
    #expect(screen.contains("Lecture"))
    #expect(screen.contains("%"))
    #expect(screen.contains("\u{1b}[1A"), "redrawn in place")
    // Whatever is drawn fits the width that counts when none is told.
    for line in screen.split(separator: "\r\n") {
      let text = line.replacing(/\x{1b}\[\??[0-9]*[A-Za-z]/, with: "").replacing("\r", with: "")
      #expect(text.count <= 80, "\(text)")
    }
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(text == "a (Lecture): downloaded, 2.0 MiB\n", "\(text)")
  }

  @Test func `the cursor comes back after a failure`() async throws {
    let sound = content.handler
    site.answerMedia(of: "a") { request in
      request.earlier == 0 ? sound(request).throttled(to: 6 << 20).cut(after: 1 << 20) : Answer(503)
    }
    let outcome = try await start("download a --connections 1").wait()
    outcome.expect(75)
    try expectRestored(outcome.standardOutput)
    let end = outcome.standardOutput.components(separatedBy: Self.showCursor).last ?? ""
    #expect(end.hasPrefix("error: a: "), "\(end.debugDescription)")
    #expect(!end.contains("\u{1b}"))
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `the cursor comes back after a signal`(_ signal: Int32) async throws {
    let sound = content.handler
    site.answerMedia(of: "a") { sound($0).throttled(to: 1 << 18) }
    let process = try start("download a")
    #expect(await eventually { process.text(on: .standardOutput).contains(Self.hideCursor) })
    let text = try String(contentsOfFile: pidFile, encoding: .utf8)
    let pid = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    kill(pid, signal)
    let outcome = await process.wait()
    outcome.expect(128 + Int(signal))
    try expectRestored(outcome.standardOutput)
    #expect(outcome.standardOutput.contains("interrupted"))
  }

  @Test func `without a capable terminal lines are plain`() async throws {
    let outcome = try await start("download a", terminal: "dumb").wait()
    outcome.expect(0)
    #expect(outcome.standardOutput.isEmpty, "\(outcome.standardOutput.debugDescription)")
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(text.hasPrefix("a (Lecture): 0%, 0 B of 2.0 MiB\n"), "\(text)")
    #expect(text.hasSuffix("a (Lecture): downloaded, 2.0 MiB\n"))
    #expect(!text.contains("\u{1b}"))
  }

  @Test(arguments: ["--quiet", "--json", "--events jsonl"])
  func `no bar is drawn when another form is asked for`(_ option: String) async throws {
    let outcome = try await start("download a \(option)").wait()
    outcome.expect(0)
    #expect(!outcome.standardOutput.contains("\u{1b}"))
  }
}

/// script(1), which runs a program with a terminal of its own.
enum ScriptProgram {
  static let path = "/usr/bin/script"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
}
