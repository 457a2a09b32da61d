/// What is written to a terminal to draw over what was drawn before.
///
/// The cursor rests at the beginning of the line below the drawing.
package enum TerminalSequence {
  /// Before the first drawing; ``showCursor`` is owed on every way out.
  package static let hideCursor = "\u{1b}[?25l"
  /// Undoes ``hideCursor``; harmless without it.
  package static let showCursor = "\u{1b}[?25h"

  /// Replaces the `drawn` lines above the cursor by others, each narrower than the window.
  ///
  /// Lines that shall stay, such as messages, are put first and left out of the next count.
  package static func redraw(_ lines: [String], over drawn: Int) -> String {
    // Each line is cleared behind its text, not before it, which would flicker.
    let text = lines.map { "\($0)\u{1b}[K\n" }.joined()
    return up(drawn) + text + (drawn > lines.count ? "\u{1b}[J" : "")
  }

  /// Removes the `drawn` lines above the cursor.
  package static func clear(_ drawn: Int) -> String {
    drawn > 0 ? up(drawn) + "\u{1b}[J" : ""
  }

  private static func up(_ lines: Int) -> String {
    lines > 0 ? "\u{1b}[\(lines)A\r" : "\r"
  }
}
