import Glibc
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct GenerationSlotTests {
  static let slotLength = 40
  let key = SymmetricKey(bytes: Array(repeating: 9, count: 32))
  let path = TemporaryDirectory.path + "/media.sealed"
  let plain = randomBytes(70_000)

  init() throws { _ = try CoreStage.sealedFile(at: path, plain: plain) }

  private func read(_ path: String? = nil, _ key: SymmetricKey? = nil) throws -> Int64? {
    try GenerationSlot.read(path ?? self.path, key: key ?? self.key)
  }

  private func write(_ generation: Int64, to path: String? = nil) throws {
    try GenerationSlot.write(generation, to: path ?? self.path, key: key)
  }

  private func offset(_ index: Int) -> Int64 { Int64(SealedLayout.page * (1 + index)) }

  private func slot(_ index: Int, of path: String? = nil) throws -> [UInt8] {
    try File(path ?? self.path, O_RDONLY).read(Self.slotLength, at: offset(index))
  }

  private func put(_ bytes: [UInt8], into index: Int, of path: String? = nil) throws {
    try File(path ?? self.path, O_RDWR).write(bytes, at: offset(index))
  }

  @Test func `a file that never held a number has none`() throws {
    #expect(try read() == 0)
    #expect(try read(nil, SymmetricKey(bytes: Array(repeating: 1, count: 32))) == 0)
  }

  @Test func `numbers are written in turn and the latest is told`() throws {
    for generation: Int64 in 1...9 {
      let other = try slot(Int(generation + 1) & 1)
      try write(generation)
      #expect(try read() == generation)
      #expect(try slot(Int(generation + 1) & 1) == other, "the other place is left alone")
    }
  }

  @Test(arguments: [255, 256, 1 << 31, 1 << 40, (1 << 60) + 1, .max] as [Int64])
  func `large numbers are kept whole`(_ generation: Int64) throws {
    try write(generation)
    #expect(try read() == generation)
  }

  @Test(arguments: 0..<6 as Range<Int64>) func `an older number never hides a later one`(_ older: Int64)
    throws
  {
    try write(4)
    try write(5)
    if older > 0 { try write(older) }
    #expect(try read() == 5)
  }

  @Test(arguments: [1, 4, 8, 9, 20, 39])
  func `a torn write leaves the number before`(_ written: Int) throws {
    for generation: Int64 in 1...5 { try write(generation) }
    let before = try slot(0)
    try write(6)
    let after = try slot(0)
    let torn = Array(after[..<written] + before[written...])
    try put(torn, into: 0)
    // By chance the rest may be the same in both.
    #expect(try read() == (torn == after ? 6 : 5))
    try write(6)
    #expect(try read() == 6)
  }

  @Test func `a first write that was torn cannot be told`() throws {
    try write(2)
    try put(Array(slot(0)[..<20]) + [UInt8](repeating: 0, count: 20), into: 0)
    #expect(try read() == nil)
    try write(2)
    #expect(try read() == 2)
  }

  @Test(arguments: 0..<slotLength) func `a byte changed in both places is noticed`(_ index: Int) throws {
    try write(6)
    try write(7)
    for place in 0...1 {
      var bytes = try slot(place)
      bytes[index] ^= 0x40
      try put(bytes, into: place)
      #expect(try read() == (place == 0 ? 7 : nil))
    }
  }

  @Test func `places that were zeroed are as if never written`() throws {
    try write(6)
    try write(7)
    let zeros = [UInt8](repeating: 0, count: Self.slotLength)
    try put(zeros, into: 1)
    #expect(try read() == 6)
    try put(zeros, into: 0)
    #expect(try read() == 0)
  }

  @Test func `places of another file, the other place or another home are not taken`() throws {
    let other = path + ".other"
    _ = try CoreStage.sealedFile(at: other, plain: plain)
    for generation: Int64 in 8...9 { try write(generation, to: other) }
    for generation: Int64 in 2...3 { try write(generation) }
    let own = try [slot(0), slot(1)]
    for place in 0...1 { try put(slot(place, of: other), into: place) }
    #expect(try read() == nil)
    try put(own[1], into: 0)
    try put(own[0], into: 1)
    #expect(try read() == nil)
    try put(own[0], into: 0)
    try put(own[1], into: 1)
    #expect(try read() == 3)
    #expect(try read(nil, SymmetricKey(bytes: Array(repeating: 1, count: 32))) == nil)
  }

  @Test func `the file keeps its time stamp, its length and its bytes`() throws {
    let file = try File(path, O_RDWR)
    try file.setModified(1_234_567_890_123_456_789)
    let before = try #require(try Files.information(path))
    for generation: Int64 in 1...3 { try write(generation) }
    let after = try #require(try Files.information(path))
    #expect(after.modified == before.modified)
    #expect((after.size, after.inode, after.mode) == (before.size, before.inode, before.mode))
    let sealed = try #require(try SealedFile.open(path, deviceKey: CoreStage.key))
    #expect(try CoreStage.plain(of: sealed) == plain)
  }

  @Test func `a file that is gone has no number, and none is made`() throws {
    try Files.remove(path)
    #expect(try read() == nil)
    try write(5)
    #expect(try Files.information(path) == nil)
  }

  @Test(arguments: [0, 1, 47]) func `a file too short to have an id has no number`(_ length: Int64) throws {
    try write(1)
    try File(path, O_RDWR).truncate(to: length)
    #expect(try read() == nil)
    try write(2)
    #expect(try Files.information(path)?.size == length)
  }

  @Test(arguments: [48, 4_096, 4_135, 8_192, 8_231] as [Int64])
  func `a file cut before its places is no trouble to read`(_ length: Int64) throws {
    try write(1)
    try File(path, O_RDWR).truncate(to: length)
    #expect(try read() == 0)
  }
}
