import JSONKit
import Testing

struct JSONParsingTests {
  @Test(arguments: [
    ("null", JSON.Kind.null), ("true", .bool), ("false", .bool), ("0", .integer), ("-0", .integer),
    ("9223372036854775807", .integer), ("123456789012345678901234567890", .integer), ("1.0", .number),
    ("1e3", .number), ("1E+3", .number), ("-0.5e-7", .number), ("0e0", .number), (#""""#, .string),
    (#""true""#, .string), ("[]", .array), ("{}", .object), (" \t\r\n[ \t\r\n] \t\r\n", .array),
  ])
  func `a document of one value has the kind of its token`(text: String, kind: JSON.Kind) throws {
    #expect(try JSON(parsing: text).kind == kind)
  }

  @Test(arguments: [
    "", " ", "nul", "nulL", "True", "truefalse", "NaN", "Infinity", "-Infinity", "undefined", "'a'",
    "a", "01", "-01", "00", "+1", "-", "--1", "1.", ".1", "-.1", "1.e3", "1e", "1e+", "1e1.5", "0x10",
    "1_000", "1 2", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1}", "{1:2}",
    "{a:1}", "{'a':1}", "[1]]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a" 1}"#,
    #"{"a"::1}"#, #"{"a":1 "b":2}"#, #"{"a":1]"#, #"{"a":1}}"#, #"{"a":1},"#, "[1]x", "[1]\0", "\0",
    "[1]//", "/*a*/1", "#1", "1;", "\u{feff}1", "\u{a0}1", "\u{2028}1", "\u{c}1", "\u{b}1", "\"", "\"a",
    #""\""#, #""\x41""#, #""\'""#, #""\U0041""#, #""\u""#, #""\u12""#, #""\u123g""#, #""\u 123""#,
    #""\u+123""#, "\"\n\"", "\"\t\"", "\"\0\"", "\"\u{1f}\"", #""\ud800""#, #""\ud800x""#,
    #""\ud800\n""#, #""\ud800\ud800""#, #""\udc00""#, #""\udc00\ud800""#, #""\ud800\u0041""#,
    #""\ud800\""#, #""\ud83d\ude""#, #"{"\ud800":1}"#, "{\"\n\":1}",
  ])
  func `what the grammar does not allow is refused with its place`(text: String) {
    let error = #expect(throws: JSONError.self) { try JSON(parsing: text) }
    #expect(error?.path == "")
    #expect(error?.description.hasPrefix("invalid JSON at byte ") == true)
  }

  @Test(
    arguments: [
      [0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
      [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xFE], [0xFF], [0xE2, 0x28, 0xA1], [0xF0, 0x28, 0x8C, 0xBC],
    ] as [[UInt8]])
  func `bytes that are not UTF-8 are refused in strings and in names`(bytes: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    #expect(throws: JSONError(path: "", reason: "invalid JSON at byte 1: not UTF-8")) {
      try JSON(parsing: [quote] + bytes + [quote])
    }
    #expect(throws: JSONError(path: "", reason: "invalid JSON at byte 2: not UTF-8")) {
      try JSON(parsing: Array("{\"".utf8) + bytes + Array("\":1}".utf8))
    }
    #expect(throws: JSONError.self) { try JSON(parsing: [quote] + bytes) }
    #expect(throws: JSONError.self) { try JSON(parsing: bytes) }
  }

  @Test func `every scalar is read both as it is and escaped`() throws {
    for value in UInt32(0)...0x10FFFF where value % 7 == 0 || value < 0x3000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = String(scalar)
      let escapes = text.utf16.map { unit in
        let digits = String(unit, radix: 16, uppercase: value % 2 == 0)
        return #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
      }
      var document = "[\"\(escapes.joined())\""
      if value >= 0x20, text != "\"", text != "\\" { document += ",\"\(text)\"" }
      let elements = try JSON(parsing: document + "]").elements.map { $0.string?.unicodeScalars.map(\.value) }
      guard elements.allSatisfy({ $0 == [value] }) else {
        Issue.record("U+\(String(value, radix: 16)) was read as \(elements)")
        return
      }
    }
  }

  @Test func `the short escapes are read`() throws {
    #expect(try JSON(parsing: #""a\"\\\/\b\f\n\r\tz\u0000""#).string == "a\"\\/\u{8}\u{c}\n\r\tz\0")
    #expect(try JSON(parsing: #""\ud83d\ude00\ud83d\ude00é""#).string == "😀😀é")
  }

  @Test func `a document cut anywhere is refused`() throws {
    let text = #" {"a":[1,-2.5e+3,"x\u00e9\ud83d\ude00é😀",true,false,null,{}],"b":{"c":[[]]}}"#
    let whole = Array(text.utf8)
    _ = try JSON(parsing: whole)
    for length in 0..<whole.count {
      #expect(throws: JSONError.self, "cut after \(length)") {
        try JSON(parsing: Array(whole.prefix(length)))
      }
    }
  }

  @Test(arguments: [0, 1, 32, 5000])
  func `nesting is allowed up to the limit`(depth: Int) throws {
    func nested(_ depth: Int) -> String {
      String(repeating: #"[{"a":"#, count: depth / 2) + (depth % 2 == 1 ? "[]" : "0")
        + String(repeating: "}]", count: depth / 2)
    }
    let limits = JSON.Limits(depth: depth)
    _ = try JSON(parsing: nested(depth), limits: limits)
    let error = #expect(throws: JSONError.self) { try JSON(parsing: nested(depth + 1), limits: limits) }
    #expect(error?.reason.contains("deeper than \(depth) levels") == true)
  }

  @Test func `a flood of brackets is refused at the limit`() {
    #expect(throws: JSONError.self) { try JSON(parsing: String(repeating: "[", count: 1_000_000)) }
    #expect(throws: JSONError.self) { try JSON(parsing: String(repeating: #"{"":"#, count: 1_000_000)) }
  }

  @Test func `length and number of values are limited`() throws {
    let limits = JSON.Limits(bytes: 10, values: 4)
    #expect(try JSON(parsing: "[1,2,3]   ", limits: limits).count == 3)
    #expect(throws: JSONError(path: "", reason: "the JSON text is longer than 10 bytes")) {
      try JSON(parsing: "[1,2,3]    ", limits: limits)
    }
    #expect(throws: JSONError(path: "", reason: "invalid JSON at byte 7: more than 4 values")) {
      try JSON(parsing: "[1,2,3,4]", limits: limits)
    }
    #expect(throws: JSONError.self) { try JSON(parsing: "1", limits: JSON.Limits(values: 0)) }
    #expect(try JSON(parsing: "1", limits: JSON.Limits(bytes: .max, depth: .max, values: .max)).integer == 1)
  }

  @Test(.timeLimit(.minutes(1)))
  func `large documents are read in one pass`() throws {
    let arrays = "[" + String(repeating: "[],", count: 999_998) + "[]]"
    #expect(try JSON(parsing: arrays).count == 999_999)
    let strings =
      "[" + String(repeating: #""0123456789012345678901234567890123456789","#, count: 180_000) + "0]"
    #expect(try JSON(parsing: strings).elements.reduce(0) { $0 + ($1.string?.utf8.count ?? 0) } == 7_200_000)
    let digits = String(repeating: "9", count: 1 << 20)
    #expect(try JSON(parsing: digits).integer == nil)
    #expect(try JSON(parsing: digits).number == nil)
    #expect(try JSON(parsing: "0.\(digits)").number == 1)
  }
}
