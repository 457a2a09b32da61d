import JSONKit
import Testing

struct JSONWriterTests {
  @Test func `commas and brackets are set`() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("a", 1)
    writer.name("b")
    writer.beginArray()
    writer.value("x")
    writer.beginArray()
    writer.endArray()
    writer.value(true)
    writer.raw(#"{"y":[]}"#)
    writer.null()
    writer.endArray()
    writer.name("c")
    writer.beginObject()
    writer.endObject()
    writer.member("d", nil as String?)
    writer.member("e", nil as Int?)
    writer.member("f", nil as Double?)
    writer.member("g", nil as Bool?)
    writer.member("h", Int64.min)
    writer.member("i", Int.max)
    writer.member("j", "text")
    writer.member("k", 1.5)
    writer.member("l", false)
    writer.endObject()
    #expect(
      writer.text == #"{"a":1,"b":["x",[],true,{"y":[]},null],"c":{},"d":null,"e":null,"f":null,"g":null,"#
        + #""h":-9223372036854775808,"i":9223372036854775807,"j":"text","k":1.5,"l":false}"#)
    writer.removeAll(keepingCapacity: true)
    writer.value(7)
    #expect(writer.text == "7")
  }

  @Test(
    arguments: [
      (600, "600.0"), (-0.0, "-0.0"), (0.1, "0.1"), (1e100, "1e+100"), (.leastNonzeroMagnitude, "5e-324"),
      (.infinity, "null"),
      (-.infinity, "null"), (.nan, "null"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
    ] as [(Double, String)])
  func `numbers are written so that they read back`(number: Double, text: String) throws {
    var writer = JSONWriter()
    writer.value(number)
    #expect(writer.text == text)
    #expect(try JSON(parsing: writer.bytes).number == (number.isFinite ? number : nil))
  }

  @Test(arguments: [
    ("", #""""#), ("plain 수업 😀 é", #""plain 수업 😀 é""#), ("a\"b\\c/", #""a\"b\\c/""#),
    ("\0\u{1b}\n\t\u{1f}", #""\u0000\u001b\u000a\u0009\u001f""#),
    ("\u{7f}\u{80}\u{9f}\u{a0}", "\"\\u007f\\u0080\\u009f\u{a0}\""),
    (
      "\u{61b}\u{61c}\u{61d}\u{200d}\u{200e}\u{200f}\u{2010}",
      "\"\u{61b}\\u061c\u{61d}\u{200d}\\u200e\\u200f\u{2010}\""
    ), ("نص", #""نص""#),
    ("\u{2027}\u{2028}\u{2029}\u{202f}", "\"\u{2027}\\u2028\\u2029\u{202f}\""),
    ("\u{202a}\u{202e}\u{2065}\u{2066}\u{2069}\u{206a}", "\"\\u202a\\u202e\u{2065}\\u2066\\u2069\u{206a}\""),
  ])
  func `what a terminal might obey is escaped and nothing else`(text: String, quoted: String) throws {
    #expect(text.jsonQuoted.unicodeScalars.elementsEqual(quoted.unicodeScalars))
    #expect(
      try JSON(parsing: text.jsonQuoted).string?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
  }

  @Test func `every scalar survives a round trip in a value and in a name`() throws {
    var writer = JSONWriter()
    var expected: [String] = []
    var batch = String.UnicodeScalarView()
    for value in UInt32(0)...0x10FFFF {
      if let scalar = Unicode.Scalar(value) { batch.append(scalar) }
      if value % 64 == 63 {
        expected.append(String(batch))
        batch.removeAll()
      }
    }
    writer.beginArray()
    for text in expected {
      writer.beginObject()
      writer.member(text, text)
      writer.endObject()
    }
    writer.endArray()
    let json = try JSON(parsing: writer.bytes, limits: JSON.Limits(bytes: 64 << 20))
    let members = json.elements.flatMap(\.members)
    #expect(members.count == expected.count)
    for (text, member) in zip(expected, members) {
      let scalars = text.unicodeScalars
      #expect(scalars.elementsEqual(member.name.unicodeScalars))
      #expect(member.value.string.map { scalars.elementsEqual($0.unicodeScalars) } == true)
    }
  }
}
