import SystemKit

/// The lines of a file one by one, in memory for the longest of them.
struct LineReader {
  /// Beyond so many bytes it is no line of ours.
  static let lineLimit = 16 << 20
  private static let step = 1 << 20

  private let file: File
  private var offset: Int64 = 0
  /// What was read and not yet handed over, from `start` on.
  private var held: [UInt8] = []
  private var start = 0

  init(_ file: File) { self.file = file }

  /// The next line without its end, or `nil` behind the last one.
  mutating func next() throws -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = held[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return held[start..<end]
      }
      held.removeSubrange(..<start)
      (start, searched) = (0, held.count)
      guard held.count <= Self.lineLimit else {
        throw OriginError(.data, "\(file.path) holds no lines: one has more than 16 MiB")
      }
      let more = try file.read(Self.step, at: offset)
      guard !more.isEmpty else {
        defer { start = held.count }
        return held.isEmpty ? nil : held[...]
      }
      offset += Int64(more.count)
      held += more
    }
  }
}
