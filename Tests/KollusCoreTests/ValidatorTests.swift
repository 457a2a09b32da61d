import CurlKit
import KollusTestSupport
import Testing

@testable import KollusCore

@Suite struct ValidatorTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  @Test(
    arguments: [
      (["ETag": "\"a\""], "\"a\""), (["ETag": "\"\""], "\"\""), (["ETag": "W/\"a\""], nil),
      (["ETag": "a"], nil), (["ETag": "\""], nil),
      (["ETag": ""], nil), ([:], nil), (["Last-Modified": date], nil),
      (["Last-Modified": date, "Date": "Sun, 06 Nov 1994 08:50:37 GMT"], date),
      (["Last-Modified": date, "Date": "Sun, 06 Nov 1994 08:50:36 GMT"], nil),
      (["Last-Modified": date, "Date": "soon"], nil), (["Last-Modified": "yesterday", "Date": date], nil),
      (["ETag": "W/\"a\"", "Last-Modified": date, "Date": "Sun, 06 Nov 1999 08:50:36 GMT"], nil),
      (["ETag": "\"\(String(repeating: "x", count: 510))\""], "\"\(String(repeating: "x", count: 510))\""),
      (["ETag": "\"\(String(repeating: "x", count: 511))\""], nil),
    ] as [([String: String], String?)])
  func `a strong validator is told from none`(_ headers: [String: String], _ text: String?) {
    #expect(Validator(CoreStage.head(200, headers))?.text == text)
  }

  @Test(
    arguments: [
      ("\"a\"", ["ETag": "\"a\""], true), ("\"a\"", ["ETag": "\"b\""], false),
      ("\"a\"", ["ETag": "W/\"a\""], false),
      ("\"a\"", [:], true), ("\"a\"", ["ETag": "\"A\""], false),
    ] as [(String, [String: String], Bool)])
  func `an answer agrees with its tag or is another object`(
    _ tag: String, _ headers: [String: String], _ agrees: Bool
  ) {
    #expect(Validator.entityTag(tag).agrees(with: CoreStage.head(206, headers)) == agrees)
  }

  @Test(
    arguments: [(date, true), (nil, true), ("Sun, 06 Nov 1994 08:49:38 GMT", false)] as [(String?, Bool)])
  func `an answer agrees with its date or is another object`(_ sent: String?, _ agrees: Bool) {
    let head = CoreStage.head(206, sent.map { ["Last-Modified": $0] } ?? [:])
    #expect(Validator.lastModified(Self.date).agrees(with: head) == agrees)
  }

  @Test func `tags that differ only in bytes beyond ASCII are not the same`() {
    // What a repaired header line looks like, whichever bytes it had.
    #expect(Validator(CoreStage.head(200, ["ETag": "\"\u{fffd}\""])) == nil)
  }

  @Test(arguments: [nil, .entityTag("\"한\""), .entityTag(""), .lastModified(date)] as [Validator?])
  func `a source reads as it is written`(_ validator: Validator?) throws {
    let source = try SegmentSource(CoreStage.address("https://h/x?token"), validator: validator)
    #expect(SegmentSource(source.encoded) == source)
    #expect(SegmentSource(([9] + source.encoded).dropFirst()) == source)
  }

  @Test(arguments: [[], [UInt8](repeating: 0, count: 16), [UInt8](repeating: 3, count: 17)])
  func `bytes that are no source are nil`(_ bytes: [UInt8]) { #expect(SegmentSource(bytes) == nil) }

  @Test(arguments: [
    ("https://h/x?a", "https://h/x?b", true), ("https://h/x", "https://H:443/x", true),
    ("https://h/x", "http://h/x", false),
    ("https://h/x", "https://h:1/x", false), ("https://h/x", "https://h/X", false),
    ("https://h/x", "https://i/x", false),
  ]) func `a place is an address without its query`(_ one: String, _ other: String, _ isSame: Bool) throws {
    let places = try [one, other].map { try SegmentSource.place(of: CoreStage.address($0)) }
    #expect((places[0] == places[1]) == isSame)
  }

  @Test(
    arguments: [
      ("bytes 0-0/1", 0, 0, 1), ("bytes 5-9/*", 5, 9, nil), ("BYTES 0-1/2", 0, 1, 2),
      ("bytes */10", nil, nil, 10),
      ("bytes 0-9223372036854775806/9223372036854775807", 0, Int64.max - 1, Int64.max),
      ("bytes */*", nil, nil, nil),
      ("bytes 0-9223372036854775806/*", 0, Int64.max - 1, nil),
    ] as [(String, Int64?, Int64?, Int64?)])
  func `a content range is read`(_ text: String, _ first: Int64?, _ last: Int64?, _ total: Int64?) throws {
    let range = try #require(ContentRange(text))
    #expect(range.bytes?.lowerBound == first)
    #expect(range.bytes?.upperBound == last)
    #expect(range.total == total)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "0-1/2", "items 0-1/2", "bytes 0-1", "bytes 1-0/2", "bytes 0-2/2", "bytes 0-1/2/3",
    "bytes -1/2",
    "bytes 0-/2", "bytes -5-9/20", "bytes +0-1/2", "bytes 0 - 1/2", "bytes 0-1/x",
    "bytes 0-9223372036854775808/*",
    "bytes 0-1/99999999999999999999", "bytes ٠-١/٢", "bytes=0-1/2", "bytes 0-9223372036854775807/*",
  ]) func `what contradicts itself is no content range`(_ text: String) { #expect(ContentRange(text) == nil) }
}
