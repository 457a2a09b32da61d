import Glibc
import JSONKit
import SealKit
import SystemKit

/// A content's media, sealed segment by segment under a key of its own.
///
/// Each sealing takes a fresh nonce; mck, file and index are authenticated, so segments cannot change
/// places. Any thread may read and write different segments at once.
final class SealedFile: Sendable {
  let layout: SealedLayout
  let path: String
  /// The mck in the file's own description.
  let mediaContentKey: String
  /// The manifest in the file's own description, for a library that was lost.
  let description: String
  /// Which object the segments are of (`Manifest.Media.identity`).
  let identity: String
  /// Whether a licence was needed when the file was made, by the manifest or by the configuration.
  private let needsLicence: Bool
  private let key: SymmetricKey
  private let recordKey: SymmetricKey
  /// File id and mck: the part of what is authenticated that is the same for all segments.
  private let label: [UInt8]
  private let file: File
  /// The same file for writes past the page cache, where the file system has them.
  private let direct: File?

  private static let magic = Array("KOLLUSM1".utf8)
  private static let boxLength = Cipher.nonceByteCount + 32 + Cipher.tagByteCount

  /// Makes a new file in place of the one at `path`, which is lost with its key.
  ///
  /// `isLarge` asks for writes past the page cache and for room reserved ahead.
  static func create(
    at path: String, mediaContentKey: String, description: String, segmentSize: Int, size: Int64,
    identity: String = "", needsLicence: Bool = false, deviceKey: SymmetricKey, isLarge: Bool
  ) throws -> SealedFile {
    let key = try SymmetricKey.random()
    let identifier = try SecureRandom.bytes(16)
    var writer = JSONWriter(reserving: description.utf8.count + 256)
    writer.beginObject()
    writer.member("mediaContentKey", mediaContentKey)
    writer.member("identity", identity)
    writer.member("needsLicence", needsLicence)
    writer.name("manifest")
    writer.raw(description)
    writer.endObject()
    let box = try SealedBox.seal(writer.bytes, with: key.derived("description"), authenticating: identifier)
    let layout = SealedLayout(descriptionLength: box.count, segmentSize: segmentSize, size: size)
    var header = magic
    header += little(1 as UInt32) + little(UInt32(layout.headerLength)) + little(UInt32(segmentSize))
    header += little(UInt32(box.count)) + little(UInt64(size)) + identifier
    header += try SealedBox.seal(
      key.withBytes { $0.withUnsafeBytes { Array($0) } }, with: deviceKey.derived("media key"),
      authenticating: header)
    header += [UInt8](repeating: 0, count: SealedLayout.descriptionOffset - header.count)
    // Where nothing stands yet, a header cut short by a kill is as good as none.
    let isFirst = try Files.information(path, followsLinks: false) == nil
    let temporary = isFirst ? path : "\(path).new"
    let file = try File(temporary, O_RDWR | O_CREAT | O_TRUNC)
    // Room first: a full disk is told before the first byte is asked for.
    if isLarge { try file.reserve(layout.fileLength) }
    try file.write(header + box, at: 0)
    if isLarge { try file.synchronize() }
    if !isFirst { try Files.rename(temporary, to: path) }
    return SealedFile(
      layout: layout, path: path, mediaContentKey: mediaContentKey, description: description,
      identity: identity, needsLicence: needsLicence, key: key,
      identifier: identifier, file: file, direct: isLarge ? try File.direct(path, O_RDWR) : nil)
  }

  /// Opens the file at `path`, or `nil` when nothing is there.
  ///
  /// Throws `badData` when the header is not one of ours, is damaged, or was sealed in another home.
  static func open(_ path: String, deviceKey: SymmetricKey) throws(KollusError) -> SealedFile? {
    let file: File
    let header: [UInt8]
    do throws(SystemError) {
      guard try Files.information(path, followsLinks: false) != nil else { return nil }
      // Something else in its place must not hold anybody up.
      file = try File(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
      header = try file.read(SealedLayout.page, at: 0)
    } catch {
      throw KollusError(error, code: KollusCode.readFile)
    }
    guard header.count == SealedLayout.page, Array(header[..<8]) == magic, number(header, 8, 4) == 1 else {
      throw damage(path, "its header is damaged")
    }
    let (segmentSize, boxLength) = (Int(number(header, 16, 4)), Int(number(header, 20, 4)))
    let identifier = Array(header[32..<48])
    guard
      let key = try? SealedBox.open(
        Array(header[48..<48 + Self.boxLength]), with: deviceKey.derived("media key"),
        authenticating: Array(header[..<48])), key.count == 32
    else {
      throw damage(path, "its key cannot be opened: the header is damaged, or it was sealed in another home")
    }
    // What follows was authenticated with the key, so it is as it was written.
    let contentKey = SymmetricKey(bytes: key)
    let layout = SealedLayout(
      descriptionLength: boxLength, segmentSize: segmentSize, size: Int64(number(header, 24, 8)))
    guard let box = try? file.read(boxLength, at: Int64(SealedLayout.descriptionOffset)),
      let bytes = try? SealedBox.open(
        box, with: contentKey.derived("description"), authenticating: identifier),
      let json = try? JSON(parsing: bytes, limits: JSON.Limits(bytes: 1 << 24, depth: 33, values: 500_016)),
      let mediaContentKey = try? json.string("mediaContentKey"), let identity = try? json.string("identity"),
      let manifest = try? json.object("manifest")
    else { throw damage(path, "its description is damaged") }
    return SealedFile(
      layout: layout, path: path, mediaContentKey: mediaContentKey, description: manifest.rawText,
      identity: identity, needsLicence: (try? json.bool("needsLicence")) ?? false, key: contentKey,
      identifier: identifier, file: file, direct: nil)
  }

  private init(
    layout: SealedLayout, path: String, mediaContentKey: String, description: String, identity: String,
    needsLicence: Bool, key: SymmetricKey,
    identifier: [UInt8], file: File, direct: File?
  ) {
    (self.layout, self.path, self.mediaContentKey) = (layout, path, mediaContentKey)
    (self.description, self.identity, self.needsLicence) = (description, identity, needsLicence)
    (self.key, self.file, self.direct) = (key, file, direct)
    recordKey = key.derived("record")
    label = identifier + SHA256.hash(Array(mediaContentKey.utf8)).bytes
  }

  /// The same file, with writes past the page cache.
  func forLargeWrites() throws(SystemError) -> SealedFile {
    SealedFile(
      layout: layout, path: path, mediaContentKey: mediaContentKey, description: description,
      identity: identity, needsLicence: needsLicence, key: key,
      identifier: Array(label.prefix(16)), file: file, direct: try File.direct(path, O_RDWR))
  }

  /// Whether the content was under a DRM callback when the file was made.
  var namesCallback: Bool {
    if needsLicence { return true }
    // What cannot be read is not trusted to need none.
    guard
      let json = try? JSON(
        parsing: description, limits: JSON.Limits(bytes: 1 << 24, depth: 33, values: 500_016))
    else { return true }
    guard let channel = try? json.object("channel") else { return false }
    return (try? channel.string("drmCallback")).map { !$0.isEmpty } ?? false
  }

  /// Destroys the key, so that no copy of the ciphertext can be opened, then removes the file.
  static func destroy(_ path: String) throws(SystemError) {
    guard try Files.information(path, followsLinks: false) != nil else { return }
    if try Files.information(path, followsLinks: false)?.isRegular ?? false {
      let file = try File(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
      try file.write([UInt8](repeating: 0, count: boxLength), at: 48)
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
    var cipher = try Cipher(key: key)
    let tag = try buffer.withMutableBytes { bytes throws(SealError) in
      try cipher.seal(&bytes, nonce: nonce, authenticating: authenticated(index))
    }
    let record = try SealedBox.seal(
      digest.bytes + source.encoded, with: recordKey, authenticating: authenticated(index) + tag)
    buffer.padToAlignment()
    var trailer = nonce + tag + Self.little(UInt16(record.count)) + record
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
    guard done == length, var cipher = try? Cipher(key: key) else { return nil }
    let (nonce, tag) = (Array(trailer[..<12]), Array(trailer[12..<28]))
    let label = authenticated(index)
    let isSound = buffer.withMutableBytes(length) { bytes in
      (try? cipher.open(&bytes, nonce: nonce, tag: tag, authenticating: label)) != nil
    }
    guard isSound else { return nil }
    buffer.count = length
    let recordLength = Int(Self.number(trailer, 28, 2))
    guard recordLength <= SealedLayout.page - 30,
      let record = try? SealedBox.open(
        Array(trailer[30..<30 + recordLength]), with: recordKey, authenticating: label + tag),
      record.count >= 32
    else { return Record(digest: nil, source: nil) }
    return Record(digest: Digest(bytes: record.prefix(32)), source: SegmentSource(record.dropFirst(32)))
  }

  private func authenticated(_ index: Int) -> [UInt8] {
    label + Self.little(UInt64(index)) + Self.little(UInt64(layout.plainLength(index)))
  }

  // MARK: Numbers in the file, little-endian

  private static func little<Number: FixedWidthInteger & UnsignedInteger>(_ value: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> Number($0 * 8)) }
  }

  private static func number(_ bytes: [UInt8], _ at: Int, _ count: Int) -> UInt64 {
    bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func damage(_ path: String, _ what: String) -> KollusError {
    KollusError(
      .badData, code: KollusCode.damaged, "the media file \(path) is of no use: \(what)",
      hint: "download it again")
  }
}
