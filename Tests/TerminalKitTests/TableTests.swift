import TerminalKit
import Testing

@Suite struct TableTests {
  static let table = Table([
    .init("MCK"), .init("TITLE", minimumWidth: 6, canShrink: true), .init("SIZE", .right), .init("STATE"),
  ])
  static let rows = [
    ["abc", "한글 제목", "1.5 KiB", "stored"], ["defgh", "Plain", "12 B", ""], ["i", "日本語のタイトル", "", "half"],
  ]

  @Test(
    arguments: [
      (
        nil,
        """
        MCK    TITLE                SIZE  STATE
        abc    한글 제목         1.5 KiB  stored
        defgh  Plain                12 B
        i      日本語のタイトル           half
        """
      ),
      (
        42,
        """
        MCK    TITLE                SIZE  STATE
        abc    한글 제목         1.5 KiB  stored
        defgh  Plain                12 B
        i      日本語のタイトル           half
        """
      ),
      (
        34,
        """
        MCK    TITLE          SIZE  STATE
        abc    한글 제목   1.5 KiB  stored
        defgh  Plain          12 B
        i      日本語の…            half
        """
      ),
      (
        10,
        """
        MCK    TITLE      SIZE  STATE
        abc    한글 …  1.5 KiB  stored
        defgh  Plain      12 B
        i      日本…            half
        """
      ),
    ] as [(Int?, String)])
  func `columns stay aligned whatever the script`(_ width: Int?, _ drawn: String) {
    #expect(Self.table.render(Self.rows, width: width).joined(separator: "\n") == drawn)
  }

  @Test func `cells from outside cannot drive the terminal`() {
    let table = Table([.init("A\u{1b}"), .init("B")])
    #expect(
      table.render([["x\ny\u{1b}[2J", "\u{202e}z"]], width: nil) == [
        "A\\u{1b}        B", "x\\ny\\u{1b}[2J  \\u{202e}z",
      ])
  }

  @Test func `titles and cells may be missing`() {
    #expect(
      Table([.init(""), .init("")]).render([["a", "b"], ["cc"], [], ["d", "e", "f"]], width: 80) == [
        "a   b", "cc", "", "d   e",
      ])
    #expect(Table([]).render([["a"]], width: 3) == [""])
    #expect(Self.table.render([], width: nil) == ["MCK  TITLE  SIZE  STATE"])
  }

  @Test(arguments: [20, 30, 40, 60, 200])
  func `the widest column gives first`(_ width: Int) {
    let table = Table([
      .init("", minimumWidth: 2, canShrink: true), .init("", minimumWidth: 2, canShrink: true),
    ])
    let line = table.render(
      [[String(repeating: "한", count: 40), String(repeating: "b", count: 12)]], width: width)[0]
    #expect(line.displayWidth <= width)
    #expect(line.displayWidth >= min(width - 1, 94))
    #expect(line.hasSuffix(width >= 30 ? "  bbbbbbbbbbbb" : "b…"))
  }

  @Test(.timeLimit(.minutes(1))) func `a hundred thousand rows are drawn in passing`() {
    let rows = (0..<100_000).lazy.map { ["key\($0)", "한국어 제목 \($0) 긴 이름", "\($0 * 37) B", "stored"] }
    var count = 0
    let time = ContinuousClock().measure { Self.table.draw(rows, width: 60) { _ in count += 1 } }
    #expect(count == 100_001)
    #expect(
      time < .seconds(20), "a debug build on a busy machine; a release build takes a fraction of a second")
  }

  /// Draws the rows one by one as they come.
  private static func flow(_ table: Table, _ rows: some Sequence<[String]>, width: Int?) -> [String] {
    var (lines, flow) = ([String](), TableFlow(table, width: width))
    for row in rows { flow.append(row) { lines.append($0) } }
    flow.end { lines.append($0) }
    return lines
  }

  @Test(arguments: [nil, 60, 34, 10], [0, 1, 3, 999, TableFlow.blockLength])
  func `rows that come one by one look the same in a table of one block`(_ width: Int?, _ count: Int) {
    let rows = (0..<count).map { Self.rows[$0 % 3].map { "\($0)" } }
    #expect(
      Self.flow(Self.table, rows, width: width) == (count == 0 ? [] : Self.table.render(rows, width: width)))
  }

  @Test func `a longer table shows its first block at once, and is aligned within each block`() {
    let short = Array(repeating: ["a", "b", "1 B", "x"], count: TableFlow.blockLength)
    var flow = TableFlow(Self.table, width: nil)
    var shown: [String] = []
    for row in short { flow.append(row) { shown.append($0) } }
    #expect(shown == Self.table.render(short, width: nil))
    let wide = ["abcdefghij", "b", "1 B", "x"]
    let lines = Self.flow(Self.table, short + [wide] + short, width: nil)
    #expect(lines.count == 2 * TableFlow.blockLength + 2, "titles stand at the top alone")
    // From the block of the wide row on, the columns are those of the whole.
    let whole = Self.table.render(short + [wide] + short, width: nil)
    #expect(lines[...TableFlow.blockLength] == shown[...])
    #expect(lines[(TableFlow.blockLength + 1)...] == whole[(TableFlow.blockLength + 1)...])
  }
}
