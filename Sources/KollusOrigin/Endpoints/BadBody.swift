import ServerKit

/// A body that is filled up with spaces, breaks off or stands still.
struct BadBody: MediaSource {
  let size: Int
  private let start: [UInt8]
  /// Where it breaks off; nil for a body that comes to its end.
  private let end: Int?
  private let stall: (position: Int, duration: Duration)?
  private let request: Request

  /// A body of `size` bytes, of which `cut` are sent, with a stall after half of those.
  init(_ start: [UInt8], size: Int?, cut: Int?, stall: Duration?, request: Request) {
    (self.start, self.request) = (start, request)
    self.size = max(size ?? 0, start.count)
    end = cut.flatMap { [size = self.size] cut in cut < size ? cut : nil }
    self.stall = stall.map { [half = (end ?? self.size) / 2] duration in (half, duration) }
  }

  func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int {
    if let stall, offset == stall.position, !request.pause(for: stall.duration) { return 0 }
    var stop = min(end ?? size, offset + buffer.byteCount)
    if let stall, offset < stall.position { stop = min(stop, stall.position) }
    // Nothing to give breaks the connection off.
    guard offset < stop else { return 0 }
    for index in 0..<stop - offset {
      let position = offset + index
      buffer.storeBytes(
        of: position < start.count ? start[position] : UInt8(ascii: " "), toByteOffset: index, as: UInt8.self)
    }
    return stop - offset
  }
}
