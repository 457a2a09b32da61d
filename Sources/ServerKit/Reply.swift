import CMicroHTTPD

/// The library's form of a response, released when this value ends.
@safe struct Reply: ~Copyable {
  private let handle: OpaquePointer
  private let status: Int

  /// Builds what this request gets; nil for no answer, and when the library refuses it,
  /// say for a line break in a header.
  init?(_ response: Response, to request: Request) {
    var (status, headers) = (response.status, response.headers)
    let made: OpaquePointer?
    switch response.body {
    case .bytes(let bytes): unsafe made = Self.bytes(bytes)
    case .media(let media):
      let outcome = Outcome(method: request.method, headers: request.headers, media: media)
      if outcome != .whole { status = outcome.status }
      Self.describe(media, outcome, in: &headers)
      unsafe made = Self.body(of: media, outcome)
    case .nothing: return nil
    }
    guard let handle = unsafe made else { return nil }
    for (name, value) in headers.fields {
      guard unsafe kollus_mhd_add_header(handle, name, value) == .YES else {
        unsafe kollus_mhd_release(handle)
        return nil
      }
    }
    unsafe self.handle = handle
    self.status = status
  }

  deinit { unsafe kollus_mhd_release(handle) }

  /// Queues the reply and gives its status back; nil when the library would not take it.
  borrowing func queue(on connection: OpaquePointer) -> Int? {
    unsafe kollus_mhd_queue(connection, UInt32(clamping: status), handle) == .YES ? status : nil
  }

  private static func describe(_ media: Media, _ outcome: Outcome, in headers: inout Headers) {
    headers["Accept-Ranges"] = "bytes"
    headers["ETag"] = media.entityTag
    headers["Last-Modified"] = media.lastModified
    switch outcome {
    case .whole: headers["Content-Type"] = media.type
    case .part(let range):
      headers["Content-Type"] = media.type
      headers["Content-Range"] = "bytes \(range.first)-\(range.first + range.count - 1)/\(media.source.size)"
    case .notModified: break
    case .unsatisfiable: headers["Content-Range"] = "bytes */\(media.source.size)"
    }
  }

  private static func body(of media: Media, _ outcome: Outcome) -> OpaquePointer? {
    switch outcome {
    case .whole: unsafe reader(of: media.source, ByteRange(first: 0, count: media.source.size))
    case .part(let range): unsafe reader(of: media.source, range)
    case .notModified, .unsatisfiable: unsafe bytes([])
    }
  }

  private static func bytes(_ bytes: [UInt8]) -> OpaquePointer? {
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe kollus_mhd_response_of_copy(bytes.baseAddress, bytes.count)
    }
  }

  private static func reader(of source: any MediaSource, _ range: ByteRange) -> OpaquePointer? {
    let body = unsafe Unmanaged.passRetained(BodyReader(source, range))
    let handle = unsafe kollus_mhd_response_of_reader(
      UInt64(range.count), min(BodyReader.blockSize, max(range.count, 1)),
      { unsafe read($0, $1, $2, $3) }, body.toOpaque(), { unsafe release($0) })
    if unsafe handle == nil { unsafe body.release() }
    return unsafe handle
  }
}

/// Reads one range of a source for the library.
private final class BodyReader: Sendable {
  /// The library's buffer for one connection: at 1 MiB the cost of its calls no longer shows.
  static let blockSize = 1 << 20

  private let source: any MediaSource
  private let range: ByteRange

  init(_ source: any MediaSource, _ range: ByteRange) {
    self.source = source
    self.range = range
  }

  /// Fills the buffer from a position within the range; a number of bytes, or one of the library's two
  /// endings.
  func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard position < range.count else { return endOfStream }
    let offset = Int(position)
    let wanted = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.count - offset))
    var span = unsafe wanted.mutableBytes
    // Nothing read would be asked for again at once and for ever; the reason stays with the source.
    guard let count = try? source.read(at: range.first + offset, into: &span), count > 0 else {
      return endWithError
    }
    return min(count, wanted.count)
  }
}

// MHD_CONTENT_READER_END_OF_STREAM and …_END_WITH_ERROR are casts that Swift does not import.
private let endOfStream = -1
private let endWithError = -2

private func read(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
  guard let context = unsafe context, let buffer = unsafe buffer else { return endWithError }
  let body = unsafe Unmanaged<BodyReader>.fromOpaque(context).takeUnretainedValue()
  return unsafe body.read(at: position, into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

private func release(_ context: UnsafeMutableRawPointer?) {
  guard let context = unsafe context else { return }
  unsafe Unmanaged<BodyReader>.fromOpaque(context).release()
}
