import SealKit

/// Page 0 of a sealed media file, and its copy in the last page: what is needed to open the rest.
struct SealedHeader: Sendable {
  private static let magic = Array("KOLLUSM1".utf8)
  /// Where the wrapped key lies in the page, and how long it is.
  static let keyOffset = 48
  static let keyLength = Cipher.nonceByteCount + 32 + Cipher.tagByteCount

  let layout: SealedLayout
  /// 16 random bytes that stand for the file.
  let identifier: [UInt8]
  let key: SymmetricKey
  /// The whole page.
  let page: [UInt8]

  /// Makes the header of a new file.
  init(
    _ layout: SealedLayout, identifier: [UInt8], key: SymmetricKey, deviceKey: SymmetricKey
  ) throws(SealError) {
    (self.layout, self.identifier, self.key) = (layout, identifier, key)
    var header = Self.magic
    header += littleEndian(1 as UInt32) + littleEndian(UInt32(layout.headerLength))
    header += littleEndian(UInt32(layout.segmentSize)) + littleEndian(UInt32(layout.descriptionLength))
    header += littleEndian(UInt64(layout.size)) + identifier
    header += try SealedBox.seal(
      key.withBytes { $0.withUnsafeBytes { Array($0) } }, with: deviceKey.derived("media key"),
      authenticating: header)
    page = header + [UInt8](repeating: 0, count: SealedLayout.page - header.count)
  }

  /// Why a page is no header.
  enum Fault: Error { case damaged, foreign }

  /// Reads a page; `foreign` where its key cannot be opened, which a damage may be the cause of as well.
  init(page: [UInt8], deviceKey: SymmetricKey) throws(Fault) {
    guard Self.isHeader(page), number(in: page, at: 8, 4) == 1 else { throw .damaged }
    guard
      let key = try? SealedBox.open(
        Array(page[Self.keyOffset..<Self.keyOffset + Self.keyLength]), with: deviceKey.derived("media key"),
        authenticating: Array(page[..<Self.keyOffset])), key.count == 32
    else { throw .foreign }
    // What stands before it was authenticated with the key, so it is as it was written.
    layout = SealedLayout(
      descriptionLength: Int(number(in: page, at: 20, 4)), segmentSize: Int(number(in: page, at: 16, 4)),
      size: Int64(number(in: page, at: 24, 8)))
    identifier = Array(page[32..<48])
    self.key = SymmetricKey(bytes: key)
    self.page =
      Array(page[..<(Self.keyOffset + Self.keyLength)])
      + [UInt8](
        repeating: 0, count: SealedLayout.page - Self.keyOffset - Self.keyLength)
  }

  /// Whether a page begins as a header does.
  static func isHeader(_ page: [UInt8]) -> Bool {
    page.count == SealedLayout.page && page.starts(with: magic)
  }
}

/// Numbers in a sealed file, the lowest byte first.
func littleEndian<Number: FixedWidthInteger & UnsignedInteger>(_ value: Number) -> [UInt8] {
  (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> Number($0 * 8)) }
}

/// The number of `count` bytes at `offset`, the lowest byte first.
func number(in bytes: [UInt8], at offset: Int, _ count: Int) -> UInt64 {
  bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
}
