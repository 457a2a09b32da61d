import SealKit
import Testing

struct DigestTests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func `the vectors of FIPS 180 hold, whole and in parts`(message: String, hex: String) {
    let bytes = Array(message.utf8)
    #expect(SHA256.hash(bytes).hex == hex)
    #expect(SHA256.hash(bytes.span.bytes).hex == hex)
    var hasher = SHA256()
    for _ in 0..<2 {
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = Array(rest.prefix(7777))
        hasher.update(part.span.bytes)
        rest = rest.dropFirst(7777)
      }
      #expect(hasher.finish().hex == hex)
    }
  }

  @Test func `a digest is its 32 bytes in every form`() throws {
    let bytes = [UInt8](0..<32)
    let digest = try #require(Digest(bytes: bytes))
    #expect(digest.bytes == bytes)
    #expect(digest.hex == "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
    #expect(digest.base64 == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    #expect("\(digest)" == digest.hex)
    #expect(Digest(hex: digest.hex.uppercased()) == digest)
    #expect(Digest(base64: digest.base64) == digest)
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 1
      #expect(Digest(bytes: other) != digest)
      #expect(Digest(bytes: other)?.bytes == other)
    }
    #expect(Digest(bytes: bytes.dropLast()) == nil)
    #expect(Digest(bytes: bytes + [0]) == nil)
    #expect(Digest(hex: String(digest.hex.dropLast())) == nil)
    #expect(Digest(hex: "g" + digest.hex.dropFirst()) == nil)
    #expect(Digest(base64: "") == nil)
    #expect(MemoryLayout<Digest>.size == 32)
  }
}
