import TerminalKit
import Testing

@Suite struct TerminalSequenceTests {
  @Test(arguments: [
    ([], 0, "\r"),
    (["a", "b"], 0, "\ra\u{1b}[K\nb\u{1b}[K\n"),
    (["a", "b"], 2, "\u{1b}[2A\ra\u{1b}[K\nb\u{1b}[K\n"),
    (["a"], 3, "\u{1b}[3A\ra\u{1b}[K\n\u{1b}[J"),
    ([], 2, "\u{1b}[2A\r\u{1b}[J"),
  ])
  func `lines are drawn over the ones before`(_ lines: [String], _ drawn: Int, _ sequence: String) {
    #expect(TerminalSequence.redraw(lines, over: drawn) == sequence)
  }

  @Test func `a drawing is removed without a trace`() {
    #expect(TerminalSequence.clear(0) == "")
    #expect(TerminalSequence.clear(3) == "\u{1b}[3A\r\u{1b}[J")
    #expect(TerminalSequence.hideCursor + TerminalSequence.showCursor == "\u{1b}[?25l\u{1b}[?25h")
  }
}
