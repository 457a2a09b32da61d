/// Where things lie in a sealed media file.
///
/// ```
/// page 0       what is needed to open the file: sizes, file id, wrapped key
/// page 1, 2    two slots for the licence generation, written in turn; zeros until there is a licence
/// page 3 …     the sealed description: mck and metadata
/// then         for each segment: its ciphertext, filled up to a page, and one page with nonce, tag and
///              the sealed record (digest of the plain bytes, object they came from)
/// at the end   the description and page 0 once more; files of the first versions end with the segments
/// ```
struct SealedLayout: Equatable, Sendable {
  static let page = 4_096
  static let descriptionOffset = 3 * page

  /// Bytes of the sealed description.
  let descriptionLength: Int
  /// Bytes before the first segment, a multiple of the page.
  let headerLength: Int
  /// Plain bytes of a segment, but for the last.
  let segmentSize: Int
  /// Plain bytes of the media.
  let size: Int64

  init(descriptionLength: Int, segmentSize: Int, size: Int64) {
    self.descriptionLength = descriptionLength
    headerLength = Self.descriptionOffset + Self.padded(descriptionLength)
    self.segmentSize = segmentSize
    self.size = size
  }

  var segmentCount: Int { Int((size + Int64(segmentSize) - 1) / Int64(segmentSize)) }

  func plainOffset(_ index: Int) -> Int64 { Int64(index) * Int64(segmentSize) }

  func plainLength(_ index: Int) -> Int { Int(min(Int64(segmentSize), size - plainOffset(index))) }

  /// Where the segment's ciphertext begins in the file.
  func slotOffset(_ index: Int) -> Int64 {
    Int64(headerLength) + Int64(index) * Int64(segmentSize + Self.page)
  }

  /// Bytes of the ciphertext, filled up to a page, and of the page after it.
  func slotLength(_ index: Int) -> Int { Self.padded(plainLength(index)) + Self.page }

  /// Where the copy of the description begins, after all segments; the copy of page 0 follows it.
  var copyOffset: Int64 {
    segmentCount == 0
      ? Int64(headerLength) : slotOffset(segmentCount - 1) + Int64(slotLength(segmentCount - 1))
  }

  var fileLength: Int64 { copyOffset + Int64(Self.padded(descriptionLength) + Self.page) }

  /// The segment that holds the plain byte at `offset`.
  func segment(at offset: Int64) -> Int { Int(offset / Int64(segmentSize)) }

  static func padded(_ length: Int) -> Int { (length + page - 1) / page * page }
}
