import ArgumentKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct AnyWordsTests {
  static let vocabulary = [
    "", "-", "--", "---", "=", "--=", "-=", "--home", "--home=", "--home=x", "-q", "-qq", "-h", "-qh",
    "--help",
    "--version", "help", "list", "lms", "show", "export", "download", "-j", "-j4", "-fj", "--jobs=x",
    "--start",
    "-5", "--tag", "-t", "x", "한글", "-한", "--한=글", "\u{301}", "-\u{301}", "\u{0}", "--format",
    "--format=json",
  ]

  @Test func `no sequence of words traps, and every refusal says something`() throws {
    var state: UInt64 = 42
    func next(below limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    var runs = 0
    for _ in 0..<20_000 {
      let words = (0..<next(below: 7)).map { _ in Self.vocabulary[next(below: Self.vocabulary.count)] }
      _ = SampleTool.tree.usage(for: words)
      do {
        guard case .run = try SampleTool.tree.parse(words) else { continue }
        runs += 1
      } catch {
        #expect(!error.message.isEmpty)
      }
    }
    #expect(runs > 100)
  }
}
