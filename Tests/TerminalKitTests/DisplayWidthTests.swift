import TerminalKit
import Testing

@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("\u{301}", 0), ("한글", 4), ("日本語", 6), ("カナ", 4),
    ("ｶﾅ", 2), ("Ａ", 2), ("，", 2), ("\u{1112}\u{1161}\u{11ab}", 2), ("\u{1161}", 0), ("\u{ac00}\u{11a8}", 2),
    ("㉿", 2), ("…", 1), ("—", 1), ("α", 1), ("ß", 1), ("😀", 2), ("👍🏽", 2), ("👨‍👩‍👧‍👦", 2), ("🇰🇷", 2),
    ("❤\u{fe0f}", 2), ("❤", 1), ("1\u{fe0f}\u{20e3}", 2), ("🏳\u{fe0f}\u{200d}🌈", 2), ("⛹🏽", 2), ("⌚", 2),
    ("\u{200b}", 0), ("a\u{200d}b", 2), ("\u{feff}", 0), ("क्ष", 2), ("ไทย", 3), ("נ", 1), ("\u{1f}", 0),
    ("\u{7f}", 0), ("a\n", 1), ("𠀀", 2), ("가\u{fe0e}", 2), ("1", 1), ("#", 1), ("Ω≈ç", 3),
  ])
  func `text takes as many columns as a terminal gives it`(_ text: String, _ width: Int) {
    #expect(text.displayWidth == width)
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abc", 1, "…"), ("abc", 0, ""), ("abc", -1, ""), ("", 0, ""),
    ("한글날", 6, "한글날"), ("한글날", 5, "한글…"), ("한글날", 4, "한…"), ("한글날", 2, "…"), ("a한글", 4, "a한…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("🇰🇷🇰🇷", 3, "🇰🇷…"), ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 4, "👨‍👩‍👧‍👦👨‍👩‍👧‍👦"),
  ])
  func `text is cut between characters`(_ text: String, _ width: Int, _ cut: String) {
    #expect(text.truncated(toWidth: width) == cut)
    #expect(cut.displayWidth <= max(width, 0))
  }

  @Test(arguments: [
    ("ab", 4, Alignment.left, "ab  "), ("ab", 4, .right, "  ab"), ("한", 3, .left, "한 "),
    ("한", 3, .right, " 한"), ("abc", 2, .left, "abc"), ("", 2, .right, "  "), ("a", -3, .left, "a"),
  ])
  func `text is padded to its column`(_ text: String, _ width: Int, _ side: Alignment, _ padded: String) {
    #expect(text.padded(toWidth: width, side) == padded)
  }
}
