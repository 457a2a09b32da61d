import SealKit
import Testing

struct TextCodingTests {
  /// RFC 4648, section 10, and one text that tells the alphabets apart.
  static let vectors: [(bytes: [UInt8], standard: String, url: String)] = [
    ([], "", ""), (Array("f".utf8), "Zg==", "Zg"), (Array("fo".utf8), "Zm8=", "Zm8"),
    (Array("foo".utf8), "Zm9v", "Zm9v"), (Array("foob".utf8), "Zm9vYg==", "Zm9vYg"),
    (Array("fooba".utf8), "Zm9vYmE=", "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy", "Zm9vYmFy"),
    ([0xFB, 0xFF, 0xBF, 0xFE], "+/+//g==", "-_-__g"),
  ]

  @Test(arguments: vectors)
  func `base64 is written and read in both alphabets`(bytes: [UInt8], standard: String, url: String) {
    #expect(Base64.encode(bytes) == standard)
    #expect(Base64.encodeURL(bytes) == url)
    #expect(Base64.decode(standard) == bytes)
    #expect(Base64.decode(url) == bytes)
    #expect(Base64.decode(standard.filter { $0 != "=" }) == bytes)
    #expect(Base64.decode(url + standard.filter { $0 == "=" }) == bytes)
  }

  @Test(arguments: [
    "Z", "Zg=", "Zg===", "Zm8==", "Zm9v=", "Zm9v==", "Zm9v====", "=", "==", "====", "Z===", "Zg==Zg==",
    "Z=g=",
    "=Zg=", " Zg==", "Zg== ", "Zg==\n", "Zm 9v", "Zh==", "Zh", "Zm9=", "Zm9", "Zm9v!", "Zm9vé", "+_==",
    "-/8=",
    "Zg\0=", "Ｚg==",
  ])
  func `what is not exactly base64 is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test func `all lengths and bytes survive a round trip`() throws {
    for length in 0..<300 {
      let bytes = try SecureRandom.bytes(length) + [UInt8(length % 256)]
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64.decode(Base64.encodeURL(bytes)) == bytes)
      #expect(Hex.decode(Hex.encode(bytes)) == bytes)
      #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
    }
  }

  @Test(arguments: ["0", "0g", "0x00", " 00", "00 ", "0 0", "é", "００", "-1", "+1", "abc"])
  func `what is not exactly hexadecimal is refused`(text: String) {
    #expect(Hex.decode(text) == nil)
  }
}
