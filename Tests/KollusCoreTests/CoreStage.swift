import CurlKit
import KollusTestSupport
import SealKit
import Synchronization
import SystemKit

@testable import KollusCore

/// Values that many tests of the core begin with.
enum CoreStage {
  static let key = SymmetricKey(bytes: Array(repeating: 7, count: 32))

  static func address(_ text: String) throws -> WebAddress {
    guard let address = WebAddress(text) else { throw SystemKit.SystemError("parse", text, number: 22) }
    return address
  }

  static func head(_ status: Int, _ headers: [String: String] = [:]) -> ResponseHead {
    ResponseHead(status: status, headers: headers.map { ($0.key.lowercased(), $0.value) })
  }

  /// A manifest of a valid content, with members put in place of its own by their path.
  static func manifest(_ key: String = "mck", size: Int = 3 << 20, media: String = "", more: String = "")
    -> String
  {
    """
    {"version":1,"mediaContentKey":"\(key)","title":"제목",\(more)
    "media":{"type":"video/mp4","size":\(size),"urls":["media/x.mp4"]\(media)}}
    """
  }

  /// Writes all of `plain` into a new sealed file at `path`.
  static func sealedFile(
    at path: String, plain: [UInt8], segmentSize: Int = 64 << 10, mediaContentKey: String = "mck",
    source: SegmentSource? = nil, isLarge: Bool = false, deviceKey: SymmetricKey = key
  ) throws -> SealedFile {
    let file = try SealedFile.create(
      at: path,
      SealedDescription(
        mediaContentKey: mediaContentKey, manifest: "{\"title\":\"a title that is a secret\"}"),
      segmentSize: segmentSize, size: Int64(plain.count), deviceKey: deviceKey, isLarge: isLarge)
    let source = try source ?? SegmentSource(address("https://h/x"), validator: nil)
    for index in 0..<file.layout.segmentCount {
      try write(plain, to: file, index, source: source)
    }
    return file
  }

  static func write(_ plain: [UInt8], to file: SealedFile, _ index: Int, source: SegmentSource) throws {
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: file.layout.segmentSize))
    let start = Int(file.layout.plainOffset(index))
    let bytes = Array(plain[start..<start + file.layout.plainLength(index)])
    buffer.append(bytes.span.bytes)
    try file.write(buffer, as: index, digest: SHA256.hash(bytes), source: source)
  }

  static func plain(of file: SealedFile) throws -> [UInt8] {
    var plain: [UInt8] = []
    try file.forEachSegment { bytes in bytes.withUnsafeBytes { plain += $0 } }
    return plain
  }
}

/// Keeps every event.
final class RecordingSink: EventSink {
  private let state = Mutex<[Event]>([])

  var events: [Event] { state.withLock { $0 } }
  var notes: [Note] {
    events.compactMap { if case .note(let note, _, _) = $0 { note } else { nil } }
  }

  func emit(_ event: Event) { state.withLock { $0.append(event) } }
}
