import Glibc
import JSONKit
import SealKit
import SystemKit

/// A content's media, sealed segment by segment under a key of its own.
///
/// Each sealing takes a fresh nonce; mck, file and index are authenticated, so segments cannot change
/// places. Any thread may read and write different segments at once.
final class SealedFile: Sendable {
  let header: SealedHeader
  let path: String
  /// What the file says of itself.
  let about: SealedDescription
  private let recordKey: SymmetricKey
  /// File id and mck: the part of what is authenticated that is the same for all segments.
  private let label: [UInt8]
  let file: File
  /// The same file for writes past the page cache, where the file system has them.
  private let direct: File?

  var layout: SealedLayout { header.layout }
  /// The mck in the file's own description.
  var mediaContentKey: String { about.mediaContentKey }

  /// Makes a new file in place of the one at `path`, which is lost with its key.
  ///
  /// `isLarge` asks for writes past the page cache and for room reserved ahead.
  static func create(
    at path: String, _ about: SealedDescription, segmentSize: Int, size: Int64, deviceKey: SymmetricKey,
    isLarge: Bool
  ) throws -> SealedFile {
    let key = try SymmetricKey.random()
    let identifier = try SecureRandom.bytes(16)
    let box = try SealedBox.seal(
      about.encoded, with: key.derived("description"), authenticating: identifier)
    let header = try SealedHeader(
      SealedLayout(descriptionLength: box.count, segmentSize: segmentSize, size: size),
      identifier: identifier, key: key, deviceKey: deviceKey)
    // Where nothing stands yet, a header cut short by a kill is as good as none.
    let isFirst = try Files.information(path, followsLinks: false) == nil
    let temporary = isFirst ? path : "\(path).new"
    let file = try File(temporary, O_RDWR | O_CREAT | O_TRUNC)
    // Room first: a full disk is told before the first byte is asked for.
    if isLarge { try file.reserve(header.layout.fileLength) }
    let slots = [UInt8](repeating: 0, count: SealedLayout.descriptionOffset - SealedLayout.page)
    try file.write(header.page + slots + box, at: 0)
    try file.write(copy(of: header, box), at: header.layout.copyOffset)
    if isLarge { try file.synchronize() }
    if !isFirst { try Files.rename(temporary, to: path) }
    return SealedFile(header, about, path, file, isLarge ? try File.direct(path, O_RDWR) : nil)
  }

  /// What follows the segments: the description once more, then the header.
  static func copy(of header: SealedHeader, _ box: [UInt8]) -> [UInt8] {
    box + [UInt8](repeating: 0, count: SealedLayout.padded(box.count) - box.count) + header.page
  }

  private init(
    _ header: SealedHeader, _ about: SealedDescription, _ path: String, _ file: File, _ direct: File?
  ) {
    (self.header, self.about, self.path) = (header, about, path)
    (self.file, self.direct) = (file, direct)
    recordKey = header.key.derived("record")
    label = header.identifier + SHA256.hash(Array(about.mediaContentKey.utf8)).bytes
  }

  /// Opens the file at `path`, or `nil` when nothing is there.
  ///
  /// Where its beginning is damaged, the copy at its end is used; `heals` writes that back at once, which is always
  /// right, since it never changes. Throws `badData` when neither is one of ours, or was sealed in another home.
  static func open(
    _ path: String, deviceKey: SymmetricKey, heals: Bool = true
  ) throws(KollusError) -> SealedFile? {
    let file: File
    let start: Start
    do throws(SystemError) {
      guard let found = try Files.information(path, followsLinks: false) else { return nil }
      guard found.isRegular else { throw SystemError("open", path, number: ENOTSUP) }
      // Something else in its place must not hold anybody up.
      file = try Self.opened(path)
      start = try Start(of: file, deviceKey)
    } catch {
      if error.number == ENOTSUP { throw damage(path, "it is no file") }
      throw KollusError(error, code: KollusCode.readFile)
    }
    guard let header = start.header, let about = start.about else { throw damage(path, start.fault) }
    if heals { start.heal(file) }
    return SealedFile(header, about, path, file, nil)
  }

  /// On media that can only be read, a file for reading.
  private static func opened(_ path: String) throws(SystemError) -> File {
    do throws(SystemError) {
      return try File(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
    } catch {
      guard error.number == EROFS else { throw error }
      return try File(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    }
  }

  /// The same file, with writes past the page cache.
  func forLargeWrites() throws(SystemError) -> SealedFile {
    SealedFile(header, about, path, file, try File.direct(path, O_RDWR))
  }

  /// Destroys the key, so that no copy of the ciphertext can be opened, then removes the file.
  static func destroy(_ path: String) throws(SystemError) {
    guard try Files.information(path, followsLinks: false) != nil else { return }
    if try Files.information(path, followsLinks: false)?.isRegular ?? false {
      let file = try File(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
      let zeros = [UInt8](repeating: 0, count: SealedHeader.keyLength)
      try file.write(zeros, at: Int64(SealedHeader.keyOffset))
      let copy =
        try file.information().size / Int64(SealedLayout.page) * Int64(SealedLayout.page)
        - Int64(SealedLayout.page)
      if copy > 0, SealedHeader.isHeader(try file.read(SealedLayout.page, at: copy)) {
        try file.write(zeros, at: copy + Int64(SealedHeader.keyOffset))
      }
      try file.synchronize()
    }
    try Files.remove(path)
  }

  /// Whether anything stands at `path`.
  static func exists(_ path: String) -> Bool {
    do throws(SystemError) {
      return try Files.information(path, followsLinks: false) != nil
    } catch {
      return true  // What cannot be told is taken to be there.
    }
  }

  /// Whether the file at `path` is one of ours and any segment of it was ever written.
  static func holdsSegments(_ path: String, deviceKey: SymmetricKey) -> Bool {
    // A file that cannot be read holds nothing that could be kept.
    guard let file = try? SealedFile.open(path, deviceKey: deviceKey) else { return false }
    let layout = file.layout
    return (0..<layout.segmentCount).contains { index in
      let offset = layout.slotOffset(index) + Int64(layout.slotLength(index) - SealedLayout.page)
      return (try? file.file.read(64, at: offset))?.contains { $0 != 0 } ?? false
    }
  }

  func synchronize() throws(SystemError) { try file.synchronize() }

  func information() throws(SystemError) -> File.Information { try file.information() }

  // MARK: Segments

  /// What is known of a stored segment besides its bytes.
  struct Record: Sendable {
    /// Digest of the plain bytes when they were received; `nil` when the record is damaged.
    let digest: Digest?
    let source: SegmentSource?
  }

  /// Seals the plain bytes in `buffer` in place and writes them as segment `index`.
  func write(_ buffer: AlignedBuffer, as index: Int, digest: Digest, source: SegmentSource) throws {
    precondition(buffer.count == layout.plainLength(index))
    let nonce = try SecureRandom.bytes(Cipher.nonceByteCount)
    var cipher = try Cipher(key: header.key)
    let tag = try buffer.withMutableBytes { bytes throws(SealError) in
      try cipher.seal(&bytes, nonce: nonce, authenticating: authenticated(index))
    }
    let record = try SealedBox.seal(
      digest.bytes + source.encoded, with: recordKey, authenticating: authenticated(index) + tag)
    buffer.padToAlignment()
    var trailer = nonce + tag + littleEndian(UInt16(record.count)) + record
    trailer += [UInt8](repeating: 0, count: SealedLayout.page - trailer.count)
    buffer.append(trailer.span.bytes)
    let offset = layout.slotOffset(index)
    if let direct {
      try buffer.withBytes { bytes throws(SystemError) in try direct.write(bytes, at: offset) }
    } else {
      // Small pieces: large ones make large folios, which are dear where memory is given back to a host.
      try buffer.withBytes { bytes throws(SystemError) in try file.write(bytes, at: offset, step: 64 << 10) }
    }
  }

  /// Reads segment `index` into `buffer` as plain bytes, or `nil` when it is absent or damaged.
  func read(_ index: Int, into buffer: AlignedBuffer) throws(SystemError) -> Record? {
    let (length, slot) = (layout.plainLength(index), layout.slotLength(index))
    let offset = layout.slotOffset(index)
    let trailer = try file.read(SealedLayout.page, at: offset + Int64(slot - SealedLayout.page))
    guard trailer.count == SealedLayout.page, trailer.contains(where: { $0 != 0 }) else { return nil }
    let done = try buffer.withMutableBytes(length) { bytes throws(SystemError) in
      try file.read(into: &bytes, at: offset)
    }
    guard done == length, var cipher = try? Cipher(key: header.key) else { return nil }
    let (nonce, tag) = (Array(trailer[..<12]), Array(trailer[12..<28]))
    let label = authenticated(index)
    let isSound = buffer.withMutableBytes(length) { bytes in
      (try? cipher.open(&bytes, nonce: nonce, tag: tag, authenticating: label)) != nil
    }
    guard isSound else { return nil }
    buffer.count = length
    return self.record(index, trailer)
  }

  /// The digest of the plain bytes of segment `index` as they were received, whatever became of them since; `nil`
  /// where that is damaged too.
  func storedDigest(of index: Int) throws(SystemError) -> Digest? {
    let offset = layout.slotOffset(index) + Int64(layout.slotLength(index) - SealedLayout.page)
    let trailer = try file.read(SealedLayout.page, at: offset)
    guard trailer.count == SealedLayout.page else { return nil }
    if let digest = record(index, trailer).digest { return digest }
    // It is bound to the tag, which may be all that is damaged; then the bytes tell what that was.
    guard let tag = try tag(of: index, nonce: Array(trailer[..<12])) else { return nil }
    return record(index, trailer[..<12] + tag + trailer[28...]).digest
  }

  /// The tag that the stored bytes of segment `index` would have, sound or not.
  private func tag(of index: Int, nonce: [UInt8]) throws(SystemError) -> [UInt8]? {
    var bytes = try file.read(layout.plainLength(index), at: layout.slotOffset(index))
    guard bytes.count == layout.plainLength(index), var cipher = try? Cipher(key: header.key) else {
      return nil
    }
    // Sealing what is sealed opens it, sealing that again gives the tag.
    var span = bytes.mutableSpan
    var raw = span.mutableBytes
    let label = authenticated(index)
    guard (try? cipher.seal(&raw, nonce: nonce, authenticating: label)) != nil else { return nil }
    return try? cipher.seal(&raw, nonce: nonce, authenticating: label)
  }

  private func record(_ index: Int, _ trailer: [UInt8]) -> Record {
    let length = Int(number(in: trailer, at: 28, 2))
    guard length <= SealedLayout.page - 30,
      let record = try? SealedBox.open(
        Array(trailer[30..<30 + length]), with: recordKey,
        authenticating: authenticated(index) + Array(trailer[12..<28])),
      record.count >= 32
    else { return Record(digest: nil, source: nil) }
    return Record(digest: Digest(bytes: record.prefix(32)), source: SegmentSource(record.dropFirst(32)))
  }

  private func authenticated(_ index: Int) -> [UInt8] {
    label + littleEndian(UInt64(index)) + littleEndian(UInt64(layout.plainLength(index)))
  }

  private static func damage(_ path: String, _ what: String) -> KollusError {
    KollusError(
      .badData, code: KollusCode.damaged, "the media file \(path) is of no use: \(what)",
      hint: "download it again")
  }
}
