package import JSONKit
package import SystemKit

/// Reads the log of a home, from any number on and as it grows; needs nothing but its files.
package struct EventLogReader: Sendable {
  /// One event that was kept.
  package struct Entry: Sendable {
    /// Its number, which no other event of this home has; later events have higher ones.
    package let sequence: Int64
    package let json: JSON
    /// The JSON line, its `seq` being the number, without an end of line.
    package let line: String
  }

  /// How every line begins; its number is given by where it stands.
  private static let mark = Array(#"{"v":1,"seq":0,"#.utf8)
  /// Bytes read at once, more than the longest line has.
  private static let step = 4 * EventLog.lineLimit

  /// No log gets that far, and a file may still be asked for more behind it.
  private static let largest: Int64 = 1 << 60

  private let home: String
  /// The number of the first byte that was not read.
  private var position: Int64
  /// The file that was the last one at the last look.
  private var newest: Int64?

  /// Reads what has a higher number than `sequence` in the home at this path, which need not be there.
  package init(home: String, after sequence: Int64 = 0) {
    (self.home, position) = (home, min(max(0, sequence), Self.largest) + 1)
  }

  /// Reads only what is still to come.
  package static func fromNow(home: String) throws(SystemError) -> EventLogReader {
    var reader = EventLogReader(home: home)
    let last = try EventLogFile.all(in: home).last
    reader.position = max(1, last?.end ?? 0)
    reader.newest = last?.base
    return reader
  }

  /// Hands over what has come since the last look; an event whose line is torn or damaged is left out.
  package mutating func read(_ body: (Entry) -> Void) throws(SystemError) {
    let files = try EventLogFile.all(in: home)
    for (index, file) in files.enumerated() {
      if index == files.count - 1 {
        defer { newest = file.base }
        // What is written late to the file before is waited for until the next look.
        if index > 0, let newest, newest != file.base { return }
      }
      try read(file, body)
    }
  }

  private mutating func read(_ file: EventLogFile, _ body: (Entry) -> Void) throws(SystemError) {
    position = max(position, file.base)
    while true {
      let bytes = try file.file.read(Self.step, at: position - file.base)
      guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
        guard bytes.count == Self.step else { return }
        position += Int64(bytes.count)  // No line is that long.
        continue
      }
      var start = 0
      for line in bytes[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        if let entry = Self.entry(line, at: position + Int64(start)) { body(entry) }
        start += line.count + 1
      }
      position += Int64(end) + 1
      if bytes.count < Self.step { return }
    }
  }

  /// The event of a line, or of its end when what stands before was torn off.
  private static func entry(_ line: ArraySlice<UInt8>, at number: Int64) -> Entry? {
    var start = line.startIndex
    if !line.starts(with: mark) {
      guard let found = lastMark(line) else { return nil }
      start = found
    } else if let found = lastMark(line), found > start, (try? JSON(parsing: Array(line))) == nil {
      start = found
    }
    let bytes = Array(line[start...])
    guard let json = try? JSON(parsing: bytes), json.kind == .object,
      (try? json.string("event")) ?? nil != nil
    else { return nil }
    let sequence = number + Int64(start - line.startIndex)
    let rest = String(decoding: bytes.dropFirst(mark.count), as: UTF8.self)
    return Entry(sequence: sequence, json: json, line: "{\"v\":1,\"seq\":\(sequence),\(rest)")
  }

  private static func lastMark(_ line: ArraySlice<UInt8>) -> Int? {
    guard line.count >= mark.count else { return nil }
    return (line.startIndex...line.endIndex - mark.count).last {
      line[$0] == mark[0] && line[$0...].starts(with: mark)
    }
  }
}
