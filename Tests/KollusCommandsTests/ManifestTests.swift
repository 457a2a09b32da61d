import JSONKit
import KollusTestSupport
import Testing

/// Manifests that lie, and keys and titles that would do harm if they were believed.
@Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct ManifestTests {
  let bytes = randomBytes((1 << 20) + 5)

  @Test(arguments: ManifestLie.all) func `a lying manifest stores nothing`(_ lie: ManifestLie) async throws {
    let site = try OriginSite()
    defer { withExtendedLifetime(site) {} }
    let tool = try Tool(origin: site.url)
    var content = OriginContent("lecture", bytes: bytes, digests: lie.digests)
    site.answerMedia(of: "lecture", with: content.handler)
    lie.change(&content)
    let text = lie.edit(content.manifest(mediaURL: site.mediaURL(of: "lecture")))
    site.answerManifest(of: "lecture") { _ in Answer(200, text: text, type: "application/json") }

    let outcome = try await tool.run("download", "lecture")
    #expect(outcome.status.map(lie.statuses.contains) == true, "\(outcome)")
    let told = outcome.standardError + outcome.standardOutput
    #expect(told.contains(lie.member) || lie.member.isEmpty, "does not name \(lie.member): \(told)")
    expectPrintable(outcome)
    #expect(told.utf8.count < 4_000, "repeats what it was sent")
    let list = try await tool.run("list", "--json")
    list.expect(0)
    #expect(!list.standardOutput.contains("\"ready\""))
  }

  @Test(arguments: [["download", "lecture"], ["download", "lecture", "--events", "jsonl"]])
  func `control characters of a title reach no terminal`(_ words: [String]) async throws {
    let site = try OriginSite()
    defer { withExtendedLifetime(site) {} }
    let tool = try Tool(origin: site.url)
    let content = OriginContent("lecture", bytes: bytes).with {
      $0.title = "a\u{1b}]0;owned\u{7}\u{9b}31m\r\nb\u{202e}c"
    }
    try site.publish(content)
    let outcome = try await tool.run(words)
    outcome.expect(0, 65)
    expectPrintable(outcome)
    for words in [["list"], ["list", "--json"], ["show", "lecture"], ["show", "lecture", "--json"]] {
      expectPrintable(try await tool.run(words))
    }
  }

  @Test(arguments: [
    "../../../../etc/passwd", "/", "..", ".", "a/b", "a%2Fb", "한글 강의", "-", "--json", "a?b#c&d=e", " ",
    "\u{1b}[31mred", "e\u{301}", String(repeating: "x", count: 1_000),
  ])
  func `any key is a key and never a path`(_ mck: String) async throws {
    let site = try OriginSite()
    defer { withExtendedLifetime(site) {} }
    let tool = try Tool(origin: site.url)
    try site.publish(OriginContent(mck, bytes: bytes))
    let outcome = try await tool.run("download", "--", mck)
    outcome.expect(0)
    expectPrintable(outcome)
    let list = try JSON(parsing: try await tool.run("list", "--json").standardOutput)
    #expect(try list.elements.map { try $0.string("mediaContentKey") } == [mck])
    (try await tool.run("remove", "--", mck)).expect(0)
  }
}

/// Nothing that a terminal would obey, on either stream.
func expectPrintable(_ outcome: ChildProcess.Outcome, at location: SourceLocation = #_sourceLocation) {
  for text in [outcome.standardOutput, outcome.standardError] {
    let odd = text.unicodeScalars.filter { scalar in
      scalar != "\n" && (scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value))
    }
    #expect(odd.isEmpty, "\(odd.map(\.value)) in \(text.debugDescription)", sourceLocation: location)
  }
}
