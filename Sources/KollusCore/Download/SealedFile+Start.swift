import SealKit
import SystemKit

extension SealedFile {
  /// What a file begins with, read from its beginning or from the copy at its end.
  struct Start {
    private(set) var header: SealedHeader?
    private(set) var about: SealedDescription?
    /// Why it cannot be opened.
    private(set) var fault = "its header is damaged"
    private var box: [UInt8] = []
    private var isHeaderCopied = false
    private var isBoxCopied = false

    init(of file: File, _ deviceKey: SymmetricKey) throws(SystemError) {
      try readHeader(file, deviceKey)
      guard let header else { return }
      for offset in [Int64(SealedLayout.descriptionOffset), header.layout.copyOffset] {
        let found = try file.read(header.layout.descriptionLength, at: offset)
        // A description that cannot be opened is damaged, in whichever way.
        if let bytes = try? SealedBox.open(
          found, with: header.key.derived("description"), authenticating: header.identifier),
          let about = SealedDescription(encoded: bytes)
        {
          (self.about, box, isBoxCopied) = (about, found, offset == header.layout.copyOffset)
          return
        }
      }
      fault = "its description is damaged"
    }

    private mutating func readHeader(_ file: File, _ deviceKey: SymmetricKey) throws(SystemError) {
      let first = try file.read(SealedLayout.page, at: 0)
      do throws(SealedHeader.Fault) {
        header = try SealedHeader(page: first, deviceKey: deviceKey)
        return
      } catch {
        if error == .foreign {
          fault = "its key cannot be opened: the header is damaged, or it was sealed in another home"
        }
      }
      let page = Int64(SealedLayout.page)
      let last = try file.information().size / page * page - page
      guard last > 0 else { return }
      // Without a copy that is right there is no header.
      header = try? SealedHeader(page: try file.read(SealedLayout.page, at: last), deviceKey: deviceKey)
      isHeaderCopied = header != nil
    }

    /// Writes back what was read from the copy; the time stamp stays, for no segment was touched.
    func heal(_ file: File) {
      guard let header, isHeaderCopied || isBoxCopied else { return }
      do throws(SystemError) {
        let stamp = try file.information().modified
        if isHeaderCopied { try file.write(header.page, at: 0) }
        if isBoxCopied { try file.write(box, at: Int64(SealedLayout.descriptionOffset)) }
        try file.setModified(stamp)
      } catch {
        // The copy serves as well the next time.
      }
    }
  }

  /// Makes the copy at the end what it must be; files of the first versions have none.
  func mendCopy() throws(SystemError) {
    let box = try file.read(layout.descriptionLength, at: Int64(SealedLayout.descriptionOffset))
    // What cannot be opened here is no model for a copy that may be right.
    guard
      (try? SealedBox.open(box, with: header.key.derived("description"), authenticating: header.identifier))
        != nil
    else { return }
    let copy = Self.copy(of: header, box)
    guard try file.read(copy.count, at: layout.copyOffset) != copy else { return }
    let stamp = try file.information().modified
    try file.write(copy, at: layout.copyOffset)
    try file.setModified(stamp)
  }
}
