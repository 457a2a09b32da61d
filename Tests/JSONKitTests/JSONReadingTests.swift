import JSONKit
import Testing

struct JSONReadingTests {
  private let sample = #"""
    {"title":"Unit 1","media":{"size":123,"urls":["a","b"],"half":1.0,"thousand":1e3,
     "big":9223372036854775808,"text":"1","yes":true,"nothing":null},
     "contents":[{"media":{"size":"x"}},[[7]]],"empty":{},
     "twice":1,"twice":2,"escaped":3,"\u0065scape\u0064":3}
    """#

  @Test(
    arguments: [
      ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("9223372036854775807", .max),
      ("-9223372036854775808", .min),
      ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1.0", nil), ("1e3", nil), (#""1""#, nil),
      ("true", nil), ("null", nil), ("[1]", nil),
    ] as [(String, Int64?)])
  func `only integer tokens that fit are integers`(text: String, expected: Int64?) throws {
    #expect(try JSON(parsing: text).integer == expected)
  }

  @Test(
    arguments: [
      ("0", 0), ("-0.0", -0.0), ("1e3", 1000), ("2.5", 2.5),
      ("9223372036854775808", 9_223_372_036_854_775_808),
      ("5e-324", .leastNonzeroMagnitude), ("1e-999", 0), ("1.7976931348623157e308", .greatestFiniteMagnitude),
      ("1e309", nil),
      ("-1e999999999999999999999", nil), (#""1""#, nil), ("true", nil),
    ] as [(String, Double?)])
  func `number tokens are numbers unless too large`(text: String, expected: Double?) throws {
    #expect(try JSON(parsing: text).number == expected)
  }

  @Test func `values give what they hold and nothing else`() throws {
    let json = try JSON(parsing: #"[true,false,null,"é",3,{"a":1,"b":[2]}]"#)
    let values = Array(json.elements)
    #expect(values.map(\.bool) == [true, false, nil, nil, nil, nil])
    #expect(values.map(\.isNull) == [false, false, true, false, false, false])
    #expect(values.map(\.string) == [nil, nil, nil, "é", nil, nil])
    #expect(values.map(\.count) == [0, 0, 0, 0, 0, 2])
    #expect(values.map(\.rawText) == ["true", "false", "null", #""é""#, "3", #"{"a":1,"b":[2]}"#])
    #expect(json.count == 6)
    #expect(json.members.map(\.name).isEmpty)
    #expect(values[5].members.map(\.name) == ["a", "b"])
    #expect(values[5].members.map(\.value.rawText) == ["1", "[2]"])
    #expect(Array(values[5].elements).isEmpty)
    #expect(Array(values[0].elements).isEmpty)
  }

  @Test func `names are found however they are spaced and escaped`() throws {
    let json = try JSON(parsing: #" { "a" : "]}\",:" , "\"b\\" : [ { } , [ ] ] ,"":0, "\u00e9":1 } "#)
    #expect(json.members.map(\.name) == ["a", "\"b\\", "", "é"])
    #expect(try json.member("a")?.string == "]}\",:")
    #expect(try json.member("\"b\\")?.count == 2)
    #expect(try json.member("")?.integer == 0)
    #expect(try json.member("é")?.integer == 1)
    #expect(try json.member("e\u{301}") == nil, "names are compared by scalar")
    #expect(try json.member("b") == nil)
  }

  @Test func `members of the right type are read`() throws {
    let json = try JSON(parsing: sample)
    #expect(try json.string("title") == "Unit 1")
    let media = try #require(try json.object("media"))
    #expect(try media.integer("size") == 123)
    #expect(try media.integer("size", in: 0...123) == 123)
    #expect(try media.number("size") == 123)
    #expect(try media.number("half") == 1)
    #expect(try media.bool("yes") == true)
    #expect(try media.array("urls")?.elements.map(\.string) == ["a", "b"])
    #expect(try media.array("urls")?.elements.map(\.path) == ["media.urls[0]", "media.urls[1]"])
  }

  @Test(arguments: ["absent", "nothing"])
  func `absent and null members are nil`(name: String) throws {
    let media = try #require(try JSON(parsing: sample).object("media"))
    #expect(try media.string(name) == nil)
    #expect(try media.integer(name) == nil)
    #expect(try media.integer(name, in: 1...2) == nil)
    #expect(try media.number(name) == nil)
    #expect(try media.bool(name) == nil)
    #expect(try media.array(name) == nil)
    #expect(try media.object(name) == nil)
    #expect(try media.member(name)?.isNull == (name == "nothing" ? true : nil))
  }

  struct Wrong: Sendable {
    let description: String
    let read: @Sendable (JSON) throws -> Void

    init(_ description: String, _ read: @escaping @Sendable (JSON) throws -> Void) {
      self.description = description
      self.read = read
    }
  }

  static let wrongs = [
    Wrong("media.size: expected a string") { _ = try $0.object("media")?.string("size") },
    Wrong("media.half: expected an integer") { _ = try $0.object("media")?.integer("half") },
    Wrong("media.thousand: expected an integer") { _ = try $0.object("media")?.integer("thousand") },
    Wrong("media.text: expected an integer") { _ = try $0.object("media")?.integer("text") },
    Wrong("media.yes: expected an integer") { _ = try $0.object("media")?.integer("yes", in: 0...1) },
    Wrong("media.big: expected an integer from \(Int64.min) to \(Int64.max)") {
      _ = try $0.object("media")?.integer("big")
    },
    Wrong("media.big: expected an integer from 0 to 9") {
      _ = try $0.object("media")?.integer("big", in: 0...9)
    },
    Wrong("media.size: expected an integer from -1 to 9") {
      _ = try $0.object("media")?.integer("size", in: -1...9)
    },
    Wrong("media.text: expected a number") { _ = try $0.object("media")?.number("text") },
    Wrong("media.size: expected true or false") { _ = try $0.object("media")?.bool("size") },
    Wrong("media: expected an array") { _ = try $0.array("media") },
    Wrong("contents: expected an object") { _ = try $0.object("contents") },
    Wrong("escaped: appears twice") { _ = try $0.integer("escaped") },
    Wrong("twice: appears twice") { _ = try $0.integer("twice") },
    Wrong("title: expected an object") { _ = try $0.member("title")?.string("size") },
    Wrong("expected an object") { _ in _ = try JSON(parsing: "[1]").member("a") },
    Wrong("contents[1][0][0]: no") {
      throw try #require(try $0.array("contents")?.elements.last?.first?.first).failure("no")
    },
    Wrong("empty: no") { throw try #require(try $0.member("empty")).failure("no") },
    Wrong("no") { throw $0.failure("no") },
  ]

  @Test(arguments: wrongs)
  func `a wrong member is named`(wrong: Wrong) throws {
    let json = try JSON(parsing: sample)
    let error = #expect(throws: JSONError.self) { try wrong.read(json) }
    #expect(error?.description == wrong.description)
  }

  @Test func `names in a path are short and harmless`() throws {
    let name = String(repeating: "é", count: 41)
    let json = try JSON(parsing: #"[{"\u001b[2J\"\u202e":1,"\#(name)":2,"":3}]"#)
    let paths = json.elements.flatMap { $0.members.map(\.value.path) }
    #expect(paths == [#"[0].\u001b[2J\"\u202e"#, "[0].\(name.dropLast())…", "[0]."])
  }
}

extension JSON {
  fileprivate var first: JSON? { elements.first { _ in true } }
}

extension JSON.Elements {
  fileprivate var last: JSON? { reduce(nil) { $1 } }
}
