import Glibc
import Synchronization
import SystemKit

/// The durable record of what happened in a home, told by every process that works on it.
///
/// Each event is one line, appended by one write(2): lines of several processes never mix, and a kill loses
/// nothing that was told. Writers need no lock but for putting a full file aside, so that none waits for another.
package final class EventLog: Sendable {
  /// Bytes of a file, of which there are two at most.
  package static let fileLimit: Int64 = 8 << 20
  /// Bytes of a line; an event that needs more is not kept.
  static let lineLimit = 64 << 10

  private struct State {
    var file: File?
    var inode: UInt64 = 0
    /// Whether the file may end in half a line, which the next one must not be joined to.
    var isTorn = false
  }

  private let home: Home
  private let now: @Sendable () -> Double
  private let limit: Int64
  private let state = Mutex(State())

  /// Makes nothing before the first event.
  package init(_ home: Home, limit: Int64 = fileLimit, now: @escaping @Sendable () -> Double) {
    (self.home, self.limit, self.now) = (home, limit, now)
  }

  /// Keeps an event, unless it is one of those that are too many to be kept.
  package func append(_ event: Event) throws(KollusError) {
    guard let event = event.kept else { return }
    let line = Array((event.line(sequence: 0, at: now()) + "\n").utf8)
    guard line.count <= Self.lineLimit else { return }
    do throws(SystemError) {
      try state.withLock { state throws(SystemError) in try append(line, &state) }
    } catch {
      throw KollusError(error)
    }
  }

  /// Reads what is kept, and throws when more could not be, writing nothing.
  func check(_ body: (EventLogReader.Entry) -> Void) throws(KollusError) {
    do throws(SystemError) {
      _ = try EventLogFile.opened(EventLogFile.path(in: home.path), O_RDWR | O_APPEND)
      var reader = EventLogReader(home: home.path)
      try reader.read(body)
    } catch {
      throw KollusError(error)
    }
  }

  private func append(_ line: [UInt8], _ state: inout State) throws(SystemError) {
    var (file, size) = try current(&state)
    if size + Int64(line.count) > limit {
      try putAside(state.inode)
      (file, size) = try current(&state)
    }
    let isTorn = state.isTorn
    state.isTorn = true
    try file.append(isTorn ? [UInt8(ascii: "\n")] + line : line)
    state.isTorn = false
  }

  /// The file to append to and its size; another process may have put the one aside that was used last.
  private func current(_ state: inout State) throws(SystemError) -> (File, Int64) {
    let path = EventLogFile.path(in: home.path)
    // Once more for each step that another process may be ahead.
    for _ in 0..<8 {
      if let found = try Files.information(path) {
        if let file = state.file, found.inode == state.inode { return (file, found.size) }
        guard let opened = try EventLogFile.opened(path, O_RDWR | O_APPEND) else { continue }
        let information = try opened.information()
        let last = try opened.read(1, at: max(0, information.size - 1))
        state = State(file: opened, inode: information.inode, isTorn: last != [UInt8(ascii: "\n")])
        return (opened, information.size)
      }
      try begin(path)
    }
    throw SystemError("open", path, number: ENOENT)
  }

  /// Makes the file for the events that follow those kept so far.
  private func begin(_ path: String) throws(SystemError) {
    // A log that was deleted goes on with higher numbers too: far fewer bytes are written than microseconds pass.
    let base =
      try EventLogFile.all(in: home.path).last?.end.map { $0 + EventLogFile.gap }
      ?? EventLogFile.base(at: max(Int64(now()), LedgerCopy.read(home)?.seen ?? 0))
    do throws(SystemError) {
      try Files.create(Array(EventLogFile.header(base).utf8), at: path)
    } catch {
      guard error.number == EEXIST else { throw error }
    }
  }

  /// Makes the full file the one before, unless another process is at it or has done so.
  private func putAside(_ inode: UInt64) throws(SystemError) {
    let path = EventLogFile.path(in: home.path)
    guard let lock = try home.eventLogLock() else { return }
    defer { withExtendedLifetime(lock) {} }
    guard try Files.information(path)?.inode == inode else { return }
    try Files.rename(path, to: EventLogFile.earlierPath(in: home.path))
  }
}

extension Event {
  /// What is kept of it: progress and answers of the DRM callback are too many, a report's form may be long.
  var kept: Event? {
    switch self {
    case .downloadContent(let progress, nil) where !progress.isDownloaded: nil
    case .drmRequest(_, _, nil), .note(.planned, _, _): nil
    case .lmsData(let data, let result):
      .lmsData(String(String.UnicodeScalarView(data.unicodeScalars.prefix(256))), result)
    default: self
    }
  }
}

/// Keeps what it is told in the log, then passes it on.
package final class LoggingSink: EventSink {
  private let sink: any EventSink
  private let log: EventLog
  private let hasFailed = Protected(false)

  package init(_ sink: any EventSink, _ log: EventLog) { (self.sink, self.log) = (sink, log) }

  /// A log that cannot be written costs one warning, never the command.
  package func emit(_ event: Event) {
    do {
      try log.append(event)
    } catch {
      let isFirst = hasFailed.withLock { hasFailed in
        defer { hasFailed = true }
        return !hasFailed
      }
      if isFirst {
        sink.emit(
          .note(
            .warning, mediaContentKey: nil, message: "what happens is not kept in the log: \(error.message)"))
      }
    }
    sink.emit(event)
  }
}
