import SealKit
import Testing

struct SymmetricKeyTests {
  private func hex(_ key: SymmetricKey) -> String {
    key.withBytes { bytes in
      Hex.encode((0..<bytes.byteCount).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) })
    }
  }

  @Test(arguments: [
    // RFC 5869, A.3: the first 32 of its 42 bytes.
    ("", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"),
    ("kollus", "e24345b434da4b1075e43b180200e49ff1b636fb472c672c26ab3a518002150e"),
  ])
  func `keys are derived by RFC 5869`(info: String, expected: String) {
    let key = SymmetricKey(bytes: Array(repeating: 0x0B, count: 22))
    #expect(hex(key.derived(info)) == expected)
  }

  @Test func `a key lends the bytes it was made of`() {
    #expect(hex(SymmetricKey(bytes: [1, 2, 255])) == "0102ff")
    #expect(hex(SymmetricKey(bytes: [])) == "")
    #expect(SymmetricKey(bytes: []).derived("x").byteCount == 32)
  }

  @Test func `random keys and bytes are never the same`() throws {
    let keys = try Set((0..<100).map { _ in hex(try SymmetricKey.random()) })
    #expect(keys.count == 100)
    #expect(keys.allSatisfy { $0.count == 64 })
    #expect(try SecureRandom.bytes(16) != SecureRandom.bytes(16))
    #expect(try SecureRandom.bytes(0) == [])
    #expect(throws: SealError.self) { try SecureRandom.bytes(-1) }
    #expect(throws: SealError.self) { try SecureRandom.bytes(1 << 31) }
  }

  @Test func `a key is never printed`() {
    let key = SymmetricKey(bytes: Array("secret".utf8))
    var dumped = ""
    dump((key, [key]), to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped, "\([key])"] {
      #expect(!text.contains("secret") && !text.contains("115") && !text.contains("0x"))
    }
    #expect("\(key)" == "SymmetricKey")
  }
}
