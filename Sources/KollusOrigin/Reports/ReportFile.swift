import Glibc
import Synchronization
import SystemKit

/// A file of JSON lines that grows by one line for each report.
///
/// It is opened anew each time, so that it may be moved away or removed at any moment; several processes may
/// append to it. A line is written at once but not waited for: it outlives the process, not a power cut.
final class ReportFile: Sendable {
  private let path: String
  private let turn = Mutex(())

  /// Makes the file if there is none; the error says why it cannot be used.
  init(_ path: String) throws(OriginError) {
    self.path = path
    do throws(SystemError) {
      if let kind = try Files.kind(of: path), kind != .regular {
        throw SystemError("append to", path, number: kind == .folder ? EISDIR : ESPIPE)
      }
      _ = try open()
    } catch {
      throw OriginError(.inputOutput, "\(error)")
    }
  }

  /// Appends a line, given without its end.
  func append(_ line: [UInt8]) throws(SystemError) {
    let end = UInt8(ascii: "\n")
    try turn.withLock { _ throws(SystemError) in
      let file = try open()
      let size = try file.information().size
      let last = size > 0 ? try file.read(1, at: size - 1) : []
      // A line that broke off, as on a full disk, must not swallow this one.
      let isBroken = size > 0 && last != [end]
      // Appended whatever the offset says, since the file is open for that.
      try file.write((isBroken ? [end] : []) + line + [end], at: size)
    }
  }

  private func open() throws(SystemError) -> File { try File(path, O_RDWR | O_APPEND | O_CREAT) }
}
