import TerminalKit
import Testing

@Suite struct TerminalSafeTests {
  @Test(arguments: [
    ("", ""), ("plain", "plain"), ("한글 제목 😀", "한글 제목 😀"), ("a\nb\r\nc\td", "a\\nb\\r\\nc\\td"),
    ("\u{1b}[31mred", "\\u{1b}[31mred"), ("\u{0}\u{7f}\u{9b}2J", "\\u{0}\\u{7f}\\u{9b}2J"),
    (
      "a\u{202e}b\u{2066}c\u{2069}\u{200e}\u{200f}\u{61c}",
      "a\\u{202e}b\\u{2066}c\\u{2069}\\u{200e}\\u{200f}\\u{61c}"
    ),
    ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"), ("C:\\n", "C:\\n"), ("\u{fffd}", "\u{fffd}"),
    ("“ok” – … © ß é", "“ok” – … © ß é"), ("👨‍👩‍👧 e\u{301}\u{200d}", "👨‍👩‍👧 e\u{301}\u{200d}"),
    ("\u{a0}\u{ad}", "\u{a0}\u{ad}"),
    ("ب", "ب"),
  ])
  func `what a terminal would obey is shown by name`(_ text: String, _ safe: String) {
    #expect(Array(text.terminalSafe.unicodeScalars) == Array(safe.unicodeScalars))
  }

  @Test func `every scalar is either harmless or escaped`() {
    for value in UInt32(0)...0x3000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let isHarmful =
        value < 0x20 || (0x7F..<0xA0).contains(value) || value == 0x61C || (0x200E...0x200F).contains(value)
        || (0x2028...0x202E).contains(value) || (0x2066...0x2069).contains(value)
      #expect((String(scalar).terminalSafe != String(scalar)) == isHarmful)
    }
  }

  @Test func `bytes that are no text become harmless`() {
    let text = String(decoding: [0x41, 0x9b, 0x33, 0xff, 0x1b] as [UInt8], as: UTF8.self)
    #expect(text.terminalSafe == "A\u{fffd}3\u{fffd}\\u{1b}")
  }
}
