import Testing

@testable import ServerKit

@Suite struct ByteRangeTests {
  @Test(
    arguments: [
      (nil, 100, .whole),
      ("bytes=0-", 100, .part(ByteRange(first: 0, count: 100))),
      ("bytes=0-0", 100, .part(ByteRange(first: 0, count: 1))),
      ("bytes=10-19", 100, .part(ByteRange(first: 10, count: 10))),
      ("bytes=99-", 100, .part(ByteRange(first: 99, count: 1))),
      ("bytes=90-200", 100, .part(ByteRange(first: 90, count: 10))),
      ("bytes=90-99999999999999999999", 100, .part(ByteRange(first: 90, count: 10))),
      ("bytes=-1", 100, .part(ByteRange(first: 99, count: 1))),
      ("bytes=-100", 100, .part(ByteRange(first: 0, count: 100))),
      ("bytes=-999", 100, .part(ByteRange(first: 0, count: 100))),
      ("bytes=-99999999999999999999", 100, .part(ByteRange(first: 0, count: 100))),
      ("BYTES=1-2", 100, .part(ByteRange(first: 1, count: 2))),
      ("bytes= 1-2 ", 100, .part(ByteRange(first: 1, count: 2))),
      ("bytes=100-", 100, .unsatisfiable),
      ("bytes=100-200", 100, .unsatisfiable),
      ("bytes=99999999999999999999-", 100, .unsatisfiable),
      ("bytes=-0", 100, .unsatisfiable),
      ("bytes=0-", 0, .unsatisfiable),
      ("bytes=-5", 0, .whole),
      ("bytes=5-4", 100, .whole),
      ("bytes=0-1,3-4", 100, .whole),
      ("bytes=0-1,", 100, .whole),
      ("lines=0-1", 100, .whole),
      ("bytes", 100, .whole),
      ("bytes=", 100, .whole),
      ("bytes=-", 100, .whole),
      ("bytes=--1", 100, .whole),
      ("bytes=+1-2", 100, .whole),
      ("bytes=1-+2", 100, .whole),
      ("bytes=0x1-2", 100, .whole),
      ("bytes=1-2-3", 100, .whole),
      ("bytes=a-b", 100, .whole),
      ("bytes=१-२", 100, .whole),
    ] as [(String?, Int, ByteRange.Selection)])
  func `a range field selects`(_ field: String?, of size: Int, _ selection: ByteRange.Selection) {
    #expect(ByteRange.select(field, size: size) == selection)
  }
}
