import Glibc
import JSONKit
import SystemKit

/// One of the two files of a home's log.
///
/// It begins with a line that tells how many bytes the log had before it: with that each byte has a number
/// of its own, which only grows.
struct EventLogFile {
  let file: File
  /// The number of its first byte.
  let base: Int64

  /// Left out between two files, for the lines of those who were about to write when the first was put aside.
  static let gap: Int64 = 1 << 20
  private static let headerLimit = 128

  /// Both files, the one that is written first.
  static let names = ["events.jsonl", "events.1.jsonl"]

  static func path(in home: String) -> String { "\(home)/\(names[0])" }
  static func earlierPath(in home: String) -> String { "\(home)/\(names[1])" }
  static func header(_ base: Int64) -> String { "{\"v\":1,\"log\":\"events\",\"base\":\(base)}\n" }

  /// Where it ends by now.
  var end: Int64? { (try? file.information().size).map { base + $0 } }

  /// The files that are there, the earlier one first.
  static func all(in home: String) throws(SystemError) -> [EventLogFile] {
    // In this order one that is put aside meanwhile is seen twice, never not at all.
    let current = try opened(path(in: home), O_RDONLY)
    let earlier = try opened(earlierPath(in: home), O_RDONLY)
    var files: [EventLogFile] = []
    for file in [earlier, current] {
      guard let file else { continue }
      if let last = files.last, try last.file.information().inode == file.information().inode { continue }
      // A first line that was damaged: later than everything before it is all that is known.
      var base = try declaredBase(file) ?? files.last?.end.map { $0 + gap }
      if base == nil { base = try impliedBase(file) }
      files.append(EventLogFile(file: file, base: base ?? 0))
    }
    return files
  }

  /// `nil` when nothing is there.
  static func opened(_ path: String, _ flags: Int32) throws(SystemError) -> File? {
    do throws(SystemError) {
      // Opened without waiting for the other end that a pipe would have.
      let file = try File(path, flags | O_NONBLOCK)
      guard try file.information().isRegular else { throw SystemError("use", path, number: EINVAL) }
      return file
    } catch {
      if error.number == ENOENT || error.number == ENOTDIR { return nil }
      throw error
    }
  }

  /// A number that no log from before this time, in Unix seconds, has reached: far fewer bytes are written than
  /// microseconds pass.
  static func base(at time: Int64) -> Int64 { min(max(0, time), 1 << 39) * 1_000_000 }

  /// That of the second after its first event that can be read, when it must have been begun.
  private static func impliedBase(_ file: File) throws(SystemError) -> Int64 {
    let start = try file.read(2 * EventLog.lineLimit, at: 0)
    for line in start.split(separator: UInt8(ascii: "\n")) {
      // Whatever else is wrong with a line, it tells no time.
      guard let at = try? JSON(parsing: Array(line)).string("at"), let time = seconds(at) else { continue }
      return base(at: time + 1)
    }
    return 0
  }

  /// Unix seconds of a time as events tell it.
  private static func seconds(_ text: String) -> Int64? {
    let parts = text.split { !$0.isNumber }.compactMap { Int32($0) }
    guard parts.count == 6 else { return nil }
    return WallClock.seconds(
      year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4], second: parts[5],
      isLocal: false)
  }

  private static func declaredBase(_ file: File) throws(SystemError) -> Int64? {
    let line = try file.read(headerLimit, at: 0).prefix { $0 != UInt8(ascii: "\n") }
    // Whatever is wrong with it, it declares nothing.
    guard let base = try? JSON(parsing: Array(line)).integer("base"), (0...1 << 60).contains(base) else {
      return nil
    }
    return base
  }
}
