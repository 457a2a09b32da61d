import Glibc
import SealKit
import SystemKit

/// A file copied into the folder's `media/`, named after its digest.
struct ImportedFile: Sendable {
  /// The name in `media/`: another one for other bytes, so that a download under way keeps the object it
  /// began.
  let name: String
  let size: Int64
  let sha256: Digest
  /// The digests of its segments; empty for no segment size.
  let segments: [Digest]
}

extension OriginFolder {
  /// Opens a file to be imported.
  static func source(_ path: String) throws(OriginError) -> File {
    do throws(SystemError) {
      let source = try File(path, O_RDONLY)
      guard try !source.information().isDirectory else { throw SystemError("read", path, number: EISDIR) }
      return source
    } catch {
      let isMissing = [ENOENT, ENOTDIR, EISDIR, EACCES].contains(error.number)
      throw OriginError(isMissing ? .noInput : .inputOutput, "\(error)")
    }
  }

  /// Copies a file in, in one step as seen by readers.
  func importFile(_ source: File, segmentSize: Int?) throws -> ImportedFile {
    let temporary = try temporaryPath()
    // The copy is only in the way when it was not moved to its place.
    defer { try? Files.remove(temporary) }
    let copy = try File(temporary, O_RDWR | O_CREAT | O_TRUNC, mode: 0o644)
    let (size, digest, segments) = try Self.copy(source, to: copy, segmentSize: segmentSize)
    try copy.synchronize()
    let name = "\(digest.hex.prefix(32)).\(MediaType.pathExtension(of: source.path))"
    let target = "\(media)/\(name)"
    // The same bytes stay the same object, with the validators its clients know.
    if try Self.digest(of: target) != digest { try Files.rename(temporary, to: target) }
    return ImportedFile(name: name, size: size, sha256: digest, segments: segments)
  }

  private static func copy(
    _ source: File, to copy: File?, segmentSize: Int?
  ) throws -> (size: Int64, sha256: Digest, segments: [Digest]) {
    var whole = SHA256()
    var segment = SHA256()
    var segments: [Digest] = []
    var size: Int64 = 0
    let step = segmentSize ?? 1 << 20
    while true {
      let bytes = try source.read(step, at: size)
      guard !bytes.isEmpty else { break }
      try copy?.write(bytes, at: size)
      whole.update(bytes.span.bytes)
      if segmentSize != nil {
        segment.update(bytes.span.bytes)
        segments.append(segment.finish())
      }
      size += Int64(bytes.count)
    }
    return (size, whole.finish(), segments)
  }

  private static func digest(of path: String) throws -> Digest? {
    guard let information = try Files.information(path), !information.isDirectory else { return nil }
    return try copy(File(path, O_RDONLY), to: nil, segmentSize: nil).sha256
  }
}
