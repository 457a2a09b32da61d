import Foundation
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct SealedFileTests {
  let path = TemporaryDirectory.path + "/media.sealed"

  private func reopened(_ path: String? = nil) throws -> SealedFile {
    try #require(try SealedFile.open(path ?? self.path, deviceKey: CoreStage.key))
  }

  @Test(arguments: [1, 4_095, 4_096, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1])
  func `what was sealed is read back`(_ size: Int) throws {
    let plain = randomBytes(size)
    let written = try CoreStage.sealedFile(at: path, plain: plain)
    #expect(try CoreStage.plain(of: written) == plain)
    let file = try reopened()
    #expect(file.mediaContentKey == "mck")
    #expect(file.about.manifest == "{\"title\":\"a title that is a secret\"}")
    #expect(file.layout == written.layout)
    #expect(try CoreStage.plain(of: file) == plain)
    #expect(try file.information().size == file.layout.fileLength)
    #expect(try file.information().mode == 0o600)
  }

  @Test func `a large file is written past the page cache and read back`() async throws {
    let plain = randomBytes((9 << 20) + 1)
    let file = try CoreStage.sealedFile(at: path, plain: plain, segmentSize: 1 << 20, isLarge: true)
    try file.synchronize()
    #expect(try CoreStage.plain(of: reopened()) == plain)
    #expect(try await reopened().wholeDigest() == SHA256.hash(plain))
    // A second run goes on with the same file.
    let again = try reopened().forLargeWrites()
    try CoreStage.write(
      randomBytes(plain.count, seed: 2), to: again, 3,
      source: SegmentSource(CoreStage.address("http://h/"), validator: nil))
    #expect(
      try CoreStage.plain(of: reopened())[3 << 20..<4 << 20]
        == randomBytes(plain.count, seed: 2)[3 << 20..<4 << 20])
  }

  @Test func `another device key opens nothing`() throws {
    _ = try CoreStage.sealedFile(at: path, plain: randomBytes(100))
    let error = #expect(throws: KollusError.self) {
      try SealedFile.open(path, deviceKey: SymmetricKey(bytes: Array(repeating: 8, count: 32)))
    }
    #expect(error?.kind == .badData)
  }

  @Test func `no file is nil`() throws {
    #expect(try SealedFile.open(path, deviceKey: CoreStage.key) == nil)
  }

  @Test(arguments: [0, 1, 4_095, 4_096, 12_288])
  func `a file that is none of ours, or ends too soon, is damage`(_ length: Int) throws {
    try Files.write([UInt8](repeating: 0x4b, count: length), to: path)
    #expect(throws: KollusError.self) { try SealedFile.open(path, deviceKey: CoreStage.key) }
    _ = try CoreStage.sealedFile(at: path, plain: randomBytes(100))
    try File(path, O_RDWR).truncate(to: Int64(length))
    let error = #expect(throws: KollusError.self) { try SealedFile.open(path, deviceKey: CoreStage.key) }
    #expect(error?.kind == .badData)
  }

  private func flip(_ offset: Int64, bit: UInt8 = 1) throws {
    let file = try File(path, O_RDWR)
    let byte = try file.read(1, at: offset)
    try file.write([byte[0] ^ bit], at: offset)
  }

  /// Every part of the header: magic, version, lengths, segment size, size, file id, wrapped key.
  @Test(
    arguments: [0, 7, 8, 11, 12, 16, 18, 20, 23, 24, 31, 32, 47, 48, 59, 60, 91, 92, 107] as [Int64],
    [1, 0x80] as [UInt8])
  func `a bit flipped in the header costs nothing, in the copy as well it closes the file`(
    _ offset: Int64, _ bit: UInt8
  ) throws {
    let layout = try CoreStage.sealedFile(at: path, plain: randomBytes(100)).layout
    let sound = try Data(contentsOf: URL(filePath: path))
    try flip(offset, bit: bit)
    #expect(try SealedFile.open(path, deviceKey: CoreStage.key, heals: false)?.about.mediaContentKey == "mck")
    #expect(try Data(contentsOf: URL(filePath: path)) != sound)
    let stamp = try Files.information(path)?.modified
    #expect(try CoreStage.plain(of: reopened()) == randomBytes(100))
    #expect(try Data(contentsOf: URL(filePath: path)) == sound)
    #expect(try Files.information(path)?.modified == stamp)
    try flip(offset, bit: bit)
    try flip(layout.fileLength - 4_096 + offset, bit: bit)
    let error = #expect(throws: KollusError.self) { try SealedFile.open(path, deviceKey: CoreStage.key) }
    #expect(error?.kind == .badData)
    #expect(error?.code == KollusCode.damaged)
  }

  @Test(arguments: [0, 12, 50, 90] as [Int64])
  func `a bit flipped in the description costs nothing, in the copy as well it closes the file`(
    _ offset: Int64
  ) throws {
    let layout = try CoreStage.sealedFile(at: path, plain: randomBytes(100)).layout
    let sound = try Data(contentsOf: URL(filePath: path))
    try flip(Int64(SealedLayout.descriptionOffset) + offset)
    #expect(try CoreStage.plain(of: reopened()) == randomBytes(100))
    #expect(try Data(contentsOf: URL(filePath: path)) == sound)
    try flip(Int64(SealedLayout.descriptionOffset) + offset)
    try flip(layout.copyOffset + offset)
    #expect(throws: KollusError.self) { try SealedFile.open(path, deviceKey: CoreStage.key) }
  }

  /// Offsets into the second segment's slot: ciphertext, nonce and tag.
  @Test(arguments: [0, 1, 32_768, 65_535, 65_536, 65_547, 65_548, 65_563] as [Int64])
  func `a bit flipped in a segment damages that one alone`(_ offset: Int64) async throws {
    let layout = try CoreStage.sealedFile(at: path, plain: randomBytes(200_000)).layout
    try flip(layout.slotOffset(1) + offset)
    let scan = try await reopened().scan(digests: [], isPartial: false)
    #expect(scan.damaged == [1])
    #expect(scan.done == [true, false, true, true])
    let error = #expect(throws: KollusError.self) { try CoreStage.plain(of: reopened()) }
    #expect(error?.code == KollusCode.damaged)
    #expect(error?.mediaContentKey == "mck")
  }

  /// Offsets into the trailer of the second segment: the record's length and the record.
  @Test(arguments: [28, 29, 30, 45, 80, 105] as [Int64])
  func `a bit flipped in a record leaves the segment sound, without a digest`(_ offset: Int64) async throws {
    let plain = randomBytes(200_000)
    let layout = try CoreStage.sealedFile(at: path, plain: plain).layout
    try flip(layout.slotOffset(1) + 65_536 + offset, bit: 0x80)
    let file = try reopened()
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: layout.segmentSize))
    let record = try #require(try file.read(1, into: buffer))
    #expect(record.digest == nil)
    #expect(record.source == nil)
    #expect(try file.read(2, into: buffer)?.digest != nil)
    #expect(try CoreStage.plain(of: file) == plain)
    #expect(try await file.scan(digests: [], isPartial: false).damaged.isEmpty)
  }

  @Test func `a bit flipped where nothing is kept changes nothing`() throws {
    let plain = randomBytes(100)
    let layout = try CoreStage.sealedFile(at: path, plain: plain).layout
    for offset in [108, 4_095, 4_096, 8_192, layout.slotOffset(0) + 4_095, layout.fileLength - 1] {
      try flip(offset)
    }
    #expect(try CoreStage.plain(of: reopened()) == plain)
  }

  @Test func `a file of the first version, without a copy, is opened and gets one`() throws {
    let layout = try CoreStage.sealedFile(at: path, plain: randomBytes(100)).layout
    let whole = try Data(contentsOf: URL(filePath: path))
    let file = try File(path, O_RDWR)
    try file.truncate(to: layout.copyOffset)
    let stamp = try file.information().modified
    #expect(try CoreStage.plain(of: reopened()) == randomBytes(100))
    try reopened().mendCopy()
    #expect(try Data(contentsOf: URL(filePath: path)) == whole)
    #expect(try file.information().modified == stamp)
  }

  @Test func `segments cannot change places, within a file or between files`() async throws {
    let plain = randomBytes(4 * 65_536)
    let layout = try CoreStage.sealedFile(at: path, plain: plain).layout
    let other = TemporaryDirectory.path + "/other.sealed"
    _ = try CoreStage.sealedFile(at: other, plain: plain)
    let file = try File(path, O_RDWR)
    let length = layout.slotLength(0)
    let (one, two) = try (
      file.read(length, at: layout.slotOffset(0)), file.read(length, at: layout.slotOffset(1))
    )
    try file.write(two, at: layout.slotOffset(0))
    try file.write(one, at: layout.slotOffset(1))
    try file.write(File(other, O_RDONLY).read(length, at: layout.slotOffset(3)), at: layout.slotOffset(3))
    let scan = try await reopened().scan(digests: [], isPartial: false)
    #expect(scan.damaged == [0, 1, 3])
  }

  @Test func `nothing of the plain text or the key is in the file`() throws {
    let plain = randomBytes(300_000)
    _ = try CoreStage.sealedFile(at: path, plain: plain)
    let stored = try Data(contentsOf: URL(filePath: path))
    for start in stride(from: 0, to: plain.count - 64, by: 4_097) {
      #expect(stored.range(of: Data(plain[start..<start + 16])) == nil)
    }
    for secret in ["secret", "mck", "title"] { #expect(stored.range(of: Data(secret.utf8)) == nil) }
    #expect(stored.range(of: Data(repeating: 7, count: 16)) == nil)
  }

  @Test func `the same bytes sealed twice look different`() throws {
    let file = try CoreStage.sealedFile(at: path, plain: randomBytes(65_536))
    let raw = try File(path, O_RDWR)
    let first = try raw.read(file.layout.slotLength(0), at: file.layout.slotOffset(0))
    try CoreStage.write(
      randomBytes(65_536), to: file, 0,
      source: SegmentSource(CoreStage.address("https://h/x"), validator: nil))
    let second = try raw.read(file.layout.slotLength(0), at: file.layout.slotOffset(0))
    #expect(first[..<64] != second[..<64])
    #expect(first[65_536..<65_548] != second[65_536..<65_548])
  }

  @Test func `a destroyed file cannot be opened by another name`() throws {
    _ = try CoreStage.sealedFile(at: path, plain: randomBytes(100))
    let other = TemporaryDirectory.path + "/link"
    try FileManager.default.linkItem(atPath: path, toPath: other)
    #expect(try SealedFile.open(other, deviceKey: CoreStage.key) != nil)
    try SealedFile.destroy(path)
    #expect(try Files.information(path) == nil)
    #expect(throws: KollusError.self) { try SealedFile.open(other, deviceKey: CoreStage.key) }
    let file = try File(other, O_RDONLY)
    for page in [0, try file.information().size - 4_096] {
      #expect(try file.read(60, at: page + 48).allSatisfy { $0 == 0 })
    }
    try SealedFile.destroy(path)
  }

  @Test func `a new file replaces the old one and its key`() throws {
    _ = try CoreStage.sealedFile(at: path, plain: randomBytes(100))
    _ = try CoreStage.sealedFile(at: path, plain: randomBytes(200, seed: 2))
    #expect(try CoreStage.plain(of: reopened()) == randomBytes(200, seed: 2))
    #expect(try Files.names(in: TemporaryDirectory.path) == ["media.sealed"])
  }

  @Test(arguments: [
    (0, 65_536, 1, 1, 16_384), (1, 65_536, 65_537, 2, 16_384), (4_096, 1 << 20, 1 << 20, 1, 16_384),
    (4_097, 1 << 20, 5 << 20, 5, 20_480),
  ]) func `everything lies at pages and nothing overlaps`(
    _ description: Int, _ segmentSize: Int, _ size: Int64, _ count: Int, _ header: Int
  ) {
    let layout = SealedLayout(descriptionLength: max(1, description), segmentSize: segmentSize, size: size)
    #expect(layout.segmentCount == count)
    #expect(layout.headerLength == header)
    var end = Int64(layout.headerLength)
    var plain: Int64 = 0
    for index in 0..<count {
      #expect(layout.slotOffset(index) == end)
      #expect(layout.slotOffset(index) % 4_096 == 0)
      #expect(layout.segment(at: layout.plainOffset(index)) == index)
      #expect(layout.segment(at: layout.plainOffset(index) + Int64(layout.plainLength(index)) - 1) == index)
      end += Int64(layout.slotLength(index))
      plain += Int64(layout.plainLength(index))
    }
    #expect(layout.copyOffset == end)
    #expect(layout.fileLength == end + Int64(header) - 12_288 + 4_096)
    #expect(plain == size)
  }
}
