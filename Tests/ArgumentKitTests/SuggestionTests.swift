import Testing

@testable import ArgumentKit

@Suite struct SuggestionTests {
  @Test(arguments: [
    ("", "", 0), ("list", "list", 0), ("lst", "list", 1), ("lsit", "list", 2), ("kitten", "sitting", 3),
    ("a", "abcdef", 3), ("한글", "한국", 1),
  ])
  func `edits are counted`(_ source: String, _ target: String, _ edits: Int) {
    #expect(Suggestion.edits(from: source, to: target) == edits)
    #expect(Suggestion.edits(from: target, to: source) == edits)
  }

  @Test(arguments: [
    ("sho", "show"), ("shwo", "show"), ("exprot", "export"), ("xx", nil), ("", nil), ("q", nil),
    ("slow", "show"), (String(repeating: "x", count: 100_000), nil),
  ])
  func `the nearest word is suggested`(_ word: String, _ expected: String?) {
    #expect(Suggestion.closest(to: word, among: ["export", "show", "a"]) == expected)
  }
}
