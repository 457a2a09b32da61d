import TerminalKit
import Testing

struct BlockBarTests {
  @Test(
    arguments: [
      ([], "[]"), ([0], "[.]"), ([100], "[#]"), ([1], "[+]"), ([100, 50, 0, 120], "[#+.#]"),
    ] as [([Int], String)]) func `each part is a character`(_ parts: [Int], _ text: String)
  {
    #expect("\(BlockBar(parts))" == text)
  }

  @Test func `parts share characters where there are too many`() {
    #expect("\(BlockBar([100, 100, 100, 0, 0, 0], width: 3))" == "[#+.]")
    #expect("\(BlockBar(Array(repeating: 100, count: 1_000), width: 7))" == "[#######]")
    #expect("\(BlockBar([100, 0, 100], width: 2))" == "[#+]")
  }
}
