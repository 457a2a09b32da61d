import SealKit
import Testing

struct CipherTests {
  /// AES-256 vectors of the GCM specification (McGrew and Viega, cases 13, 14 and 16).
  static let vectors:
    [(key: String, nonce: String, plain: String, associated: String, sealed: String, tag: String)] = [
      (
        String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "", "",
        "530f8afbc74536b9a963b4f1c4cb738b"
      ),
      (
        String(repeating: "00", count: 32), String(repeating: "00", count: 12),
        String(repeating: "00", count: 16),
        "", "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"
      ),
      (
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
          + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
          + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b"
      ),
    ]

  private let nonce = [UInt8](0..<12)

  @Test(arguments: vectors)
  func `the vectors of the GCM specification hold`(
    key: String, nonce: String, plain: String, associated: String, sealed: String, tag: String
  ) throws {
    var cipher = try Cipher(key: SymmetricKey(bytes: try #require(Hex.decode(key))))
    let nonce = try #require(Hex.decode(nonce))
    let associated = try #require(Hex.decode(associated))
    var bytes = try #require(Hex.decode(plain))
    for _ in 0..<3 {
      #expect(Hex.encode(try cipher.seal(&bytes, nonce, associated)) == tag)
      #expect(Hex.encode(bytes) == sealed)
      try cipher.open(&bytes, nonce, try #require(Hex.decode(tag)), associated)
      #expect(Hex.encode(bytes) == plain)
    }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 1 << 20])
  func `many sizes are sealed and opened in place`(size: Int) throws {
    var cipher = try Cipher(key: .random())
    let plain = try SecureRandom.bytes(size)
    var bytes = plain
    let tag = try cipher.seal(&bytes, nonce, [7])
    #expect(tag.count == Cipher.tagByteCount)
    #expect(size < 15 || bytes != plain)
    try cipher.open(&bytes, nonce, tag, [7])
    #expect(bytes == plain)
  }

  @Test func `any change is refused, the bytes are wiped, and the next message opens`() throws {
    var cipher = try Cipher(key: .random())
    let plain = Array("sealed lecture".utf8)
    var sealed = plain
    let tag = try cipher.seal(&sealed, nonce, [1, 2])
    let rightTag = tag
    func refuse(
      _ bytes: [UInt8], _ nonce: [UInt8], _ tag: [UInt8], _ associated: [UInt8], code: SealError.Code
    ) throws {
      var bytes = bytes
      let error = #expect(throws: SealError.self) { try cipher.open(&bytes, nonce, tag, associated) }
      #expect(error?.code == code)
      #expect(bytes.allSatisfy { $0 == 0 })
      bytes = sealed
      try cipher.open(&bytes, self.nonce, rightTag, [1, 2])
      #expect(bytes == plain)
    }
    for changed in changes(of: sealed) {
      try refuse(changed, nonce, tag, [1, 2], code: .authenticationFailed)
    }
    for changed in changes(of: nonce) {
      try refuse(sealed, changed, tag, [1, 2], code: .authenticationFailed)
    }
    for changed in changes(of: tag) {
      try refuse(sealed, nonce, changed, [1, 2], code: .authenticationFailed)
    }
    for changed in changes(of: [1, 2]) + [[], [1], [1, 2, 0]] {
      try refuse(sealed, nonce, tag, changed, code: .authenticationFailed)
    }
    try refuse(sealed.dropLast(), nonce, tag, [1, 2], code: .authenticationFailed)
    try refuse(sealed + [0], nonce, tag, [1, 2], code: .authenticationFailed)
    try refuse([], nonce, tag, [1, 2], code: .authenticationFailed)
    for nonce in [[], Array(nonce.dropLast()), nonce + [0]] {
      try refuse(sealed, nonce, tag, [1, 2], code: .invalidInput)
    }
    for tag in [[], Array(tag.dropLast()), tag + [0]] {
      try refuse(sealed, nonce, tag, [1, 2], code: .invalidInput)
    }
    var other = try Cipher(key: .random())
    #expect(throws: SealError.self) { try other.open(&sealed, nonce, tag, [1, 2]) }
  }

  @Test(arguments: [0, 16, 31, 33])
  func `a key of another size is refused`(size: Int) {
    let error = #expect(throws: SealError.self) {
      _ = try Cipher(key: SymmetricKey(bytes: Array(repeating: 1, count: size)))
    }
    #expect(error?.code == .invalidInput)
  }

  @Test func `a box opens only with what it was sealed with`() throws {
    let key = try SymmetricKey.random()
    let plain = Array("play URL".utf8)
    let box = try SealedBox.seal(plain, with: key, authenticating: [9])
    #expect(box.count == plain.count + 28)
    #expect(try box != SealedBox.seal(plain, with: key, authenticating: [9]))
    #expect(try SealedBox.open(box, with: key, authenticating: [9]) == plain)
    #expect(try SealedBox.open(SealedBox.seal([], with: key), with: key) == [])
    for changed in changes(of: box) + [Array(box.dropLast()), box + [0]] {
      let error = #expect(throws: SealError.self) {
        try SealedBox.open(changed, with: key, authenticating: [9])
      }
      #expect(error?.code == .authenticationFailed)
    }
    #expect(throws: SealError.self) { try SealedBox.open(box, with: key) }
    #expect(throws: SealError.self) { try SealedBox.open(box, with: .random(), authenticating: [9]) }
    for length in 0..<28 {
      let error = #expect(throws: SealError.self) { try SealedBox.open(Array(box.prefix(length)), with: key) }
      #expect(error?.code == .invalidInput)
    }
  }

  /// The bytes with one bit changed, for each byte.
  private func changes(of bytes: [UInt8]) -> [[UInt8]] {
    bytes.indices.map { index in
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      return changed
    }
  }
}

extension Cipher {
  fileprivate mutating func seal(
    _ bytes: inout [UInt8], _ nonce: [UInt8], _ associated: [UInt8]
  ) throws(SealError) -> [UInt8] {
    var span = bytes.mutableSpan
    var raw = span.mutableBytes
    return try seal(&raw, nonce: nonce, authenticating: associated)
  }

  fileprivate mutating func open(
    _ bytes: inout [UInt8], _ nonce: [UInt8], _ tag: [UInt8], _ associated: [UInt8]
  ) throws(SealError) {
    var span = bytes.mutableSpan
    var raw = span.mutableBytes
    try open(&raw, nonce: nonce, tag: tag, authenticating: associated)
  }
}
