import Foundation
import KollusSDK
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct ReadmeTests {
  @Test func `the README shows the example as it is compiled here`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let example = try String(contentsOf: folder.appending(path: "ReadmeExample.swift"), encoding: .utf8)
    let root = folder.deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    #expect(readme.contains("## As a Swift library\n"))
    #expect(readme.contains("```swift\n\(example)```\n"))
    let lines = example.split(separator: "\n")
    #expect((15...25).contains(lines.count), "\(lines.count) lines")
  }

  @Test func `the README's example downloads and renews`() async throws {
    let stage = try await SDKStage()
    try await stage.publish(under: .granted(plays: 2))
    let lectures = try Lectures(stage.storage.configuration)
    try lectures.fetch(stage.origin.playURL(stage.mck))
    let title = "Title of \(stage.mck)"
    #expect(await eventually(within: .seconds(20)) { lectures.renew() == [title] })
    #expect(stage.callback.items(of: stage.mck, kind: 1).count == 1)
  }
}
