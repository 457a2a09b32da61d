import Foundation
import KollusTestSupport
import ServerKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct SealedMediaTests {
  static let segment = 64 << 10
  static let plain = randomBytes(5 * segment + 1_234)

  private let damage = KollusTestSupport.Protected<[Int]>([])

  private func media(spoiling segment: Int? = nil) throws -> (media: SealedMedia, file: SealedFile) {
    let path = TemporaryDirectory.path + "/x.sealed"
    let file = try CoreStage.sealedFile(at: path, plain: Self.plain, segmentSize: Self.segment)
    if let segment {
      let handle = try FileHandle(forUpdating: URL(filePath: path))
      let place = UInt64(file.layout.slotOffset(segment)) + 5_000
      try handle.seek(toOffset: place)
      let byte = try #require(try handle.read(upToCount: 1)?.first)
      try handle.seek(toOffset: place)
      try handle.write(contentsOf: Data([byte ^ 1]))
      try handle.close()
    }
    let damage = damage
    return (SealedMedia(file) { index in damage.withLock { $0.append(index) } }, file)
  }

  /// What one read gives.
  private func read(_ media: SealedMedia, at offset: Int, _ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: count)
    var span = bytes.mutableSpan
    var raw = span.mutableBytes
    let given = try media.read(at: offset, into: &raw)
    #expect(given > 0 && given <= count)
    return Array(bytes.prefix(given))
  }

  /// Reads on until all of it is there, as a server does.
  private func readAll(_ media: SealedMedia, _ range: Range<Int>, piece: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < range.count {
      bytes += try read(media, at: range.lowerBound + bytes.count, min(piece, range.count - bytes.count))
    }
    return bytes
  }

  @Test func `its size is that of the plain bytes`() throws {
    #expect(try media().media.size == Self.plain.count)
  }

  @Test(arguments: [1_000, 65_535, 65_536, 65_537, 1 << 20])
  func `all bytes come out, whatever the pieces`(_ piece: Int) throws {
    let (media, _) = try media()
    #expect(try readAll(media, 0..<Self.plain.count, piece: piece) == Self.plain)
  }

  @Test func `a read ends with its segment and the next one goes on`() throws {
    let (media, _) = try media()
    let first = try read(media, at: Self.segment - 10, 100)
    #expect(first == Array(Self.plain[Self.segment - 10..<Self.segment]))
    #expect(try read(media, at: Self.segment, 100) == Array(Self.plain[Self.segment..<Self.segment + 100]))
    let last = Self.plain.count - 1
    #expect(try read(media, at: last, 100) == [Self.plain[last]])
  }

  @Test func `any jumping about gives the right bytes`() throws {
    let (media, _) = try media()
    for _ in 0..<60 {
      let start = Int.random(in: 0..<Self.plain.count)
      let bytes = try read(media, at: start, Int.random(in: 1...100_000))
      #expect(bytes == Array(Self.plain[start..<start + bytes.count]))
    }
    #expect(damage.withLock { $0.isEmpty })
  }

  @Test func `several readers at once get their own bytes`() async throws {
    let (media, _) = try media()
    await withTaskGroup { group in
      for start in 0..<6 {
        group.addTask {
          let range = start * 40_000..<Self.plain.count
          for _ in 0..<50 {
            let bytes = try? readAll(media, range, piece: 30_000)
            let isRight = bytes == Array(Self.plain[range])
            #expect(isRight)
          }
        }
      }
    }
  }

  @Test func `a damaged segment is told and never given, and its neighbors are`() throws {
    let (media, _) = try media(spoiling: 2)
    let (before, after) = (0..<2 * Self.segment, 3 * Self.segment..<Self.plain.count)
    for _ in 0..<2 {
      #expect(try readAll(media, before, piece: 1 << 20) == Array(Self.plain[before]))
      let told = damage.withLock { $0.count }
      var bytes = [UInt8](repeating: 0xEE, count: 1_000)
      #expect(throws: KollusError.self) {
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        _ = try media.read(at: 2 * Self.segment + 7, into: &raw)
      }
      #expect(bytes.allSatisfy { $0 == 0xEE }, "nothing of it comes out")
      #expect(damage.withLock { Array($0.dropFirst(told)) } == [2])
      #expect(try readAll(media, after, piece: 1 << 20) == Array(Self.plain[after]))
    }
  }

  @Test func `an opened segment is not opened again at once`() throws {
    let (media, file) = try media()
    #expect(try read(media, at: 0, 10) == Array(Self.plain.prefix(10)))
    // The file changes underneath: what is held is what was opened.
    let handle = try FileHandle(forUpdating: URL(filePath: file.path))
    try handle.seek(toOffset: UInt64(file.layout.slotOffset(0)))
    try handle.write(contentsOf: Data(repeating: 0, count: 100))
    try handle.close()
    #expect(try read(media, at: 100, 10) == Array(Self.plain[100..<110]))
    for segment in 1..<5 { _ = try read(media, at: segment * Self.segment, 10) }
    #expect(throws: KollusError.self) { _ = try read(media, at: 0, 10) }
    #expect(damage.withLock { $0 } == [0])
  }
}
