import CLinux
import Glibc
import Synchronization

/// One of the process's standard streams.
package struct Console: Sendable {
  private let descriptor: Int32

  package static let standardOutput = Console(descriptor: STDOUT_FILENO)
  package static let standardError = Console(descriptor: STDERR_FILENO)

  /// Whether a person may be looking: a terminal that can be redrawn.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Width in columns, 80 where it cannot be told.
  package var columns: Int {
    let columns = Int(kollus_columns(descriptor))
    return columns > 0 ? columns : 80
  }

  /// Writes all of `text`; `false` when the reader has gone or the disk behind it is full.
  @discardableResult
  package func write(_ text: String) -> Bool {
    unsafe write(text.utf8Span.span.bytes)
  }

  /// Writes all of `bytes`; `false` when the reader has gone or the disk behind it is full.
  @discardableResult
  package func write(_ bytes: RawSpan) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = unsafe Glibc.write(
          descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done)
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          guard unsafe poll(&waiting, 1, 10_000) > 0 else { return false }
          continue
        }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
  }
}

/// What the process was started with.
package enum ProcessContext {
  /// The environment; a name given twice keeps its first value.
  package static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    guard var entry = unsafe kollus_environment() else { return variables }
    while let text = unsafe entry.pointee {
      let pair = unsafe String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2, variables[String(pair[0])] == nil { variables[String(pair[0])] = String(pair[1]) }
      unsafe entry += 1
    }
    return variables
  }

  /// All of standard input, at most `limit` bytes of it; `nil` when there are more.
  ///
  /// The reading thread cannot be stopped, so a cancelled caller leaves it behind and throws.
  package static func standardInput(limit: Int) async throws -> [UInt8]? {
    let result = ReadResult()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        result.set(continuation)
        Thread.start { result.finish(Result { try read(limit) }) }
      }
    } onCancel: {
      result.finish(.failure(CancellationError()))
    }
  }

  /// Whether a person can be asked: standard input and error are terminals.
  package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

  /// One line of standard input without its end, at most 4 KiB of it; `nil` at its end.
  ///
  /// The reading thread cannot be stopped, so a cancelled caller leaves it behind and throws.
  package static func line() async throws -> [UInt8]? {
    let result = ReadResult()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        result.set(continuation)
        Thread.start { result.finish(Result { readLine() }) }
      }
    } onCancel: {
      result.finish(.failure(CancellationError()))
    }
  }

  private static func readLine() -> [UInt8]? {
    var line: [UInt8] = []
    var isEnded = false
    var byte: UInt8 = 0
    while line.count < 4_096 {
      let count = unsafe Glibc.read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      isEnded = count != 1
      guard count == 1, byte != UInt8(ascii: "\n") else { break }
      line.append(byte)
    }
    return isEnded && line.isEmpty ? nil : line
  }

  private static func read(_ limit: Int) throws(SystemError) -> [UInt8]? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe chunk.withUnsafeMutableBytes {
        unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("read", "standard input") }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= limit else { return nil }
    }
  }

  /// The account's own folder, when the environment names none.
  package static func accountFolder() -> String? {
    guard let entry = unsafe getpwuid(geteuid()), let folder = unsafe entry.pointee.pw_dir else { return nil }
    let path = unsafe String(cString: folder)
    return path.hasPrefix("/") && path != "/" ? path : nil
  }

  /// What names this machine, or "" where nothing does.
  package static func machineID() -> String {
    // Made once when the system is installed; containers may have neither.
    for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
      let text = (try? Files.read(path, limit: 4_096)).map { String(decoding: $0, as: UTF8.self) } ?? ""
      if let word = text.split(whereSeparator: \.isWhitespace).first { return String(word) }
    }
    return ""
  }

  /// To be called once, at start: memory that was needed for a moment goes back to the system.
  package static func keepMemoryLean() { kollus_lean_memory() }

  /// A write to a pipe nobody reads becomes an error instead of the process's end.
  package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
}

/// Resumes a reader once, with what comes first: the bytes or the cancellation.
private final class ReadResult: Sendable {
  private struct State {
    var continuation: CheckedContinuation<[UInt8]?, any Error>?
    var early: Result<[UInt8]?, any Error>?
    var isDone = false
  }

  private let state = Mutex(State())

  func set(_ continuation: CheckedContinuation<[UInt8]?, any Error>) {
    let early = state.withLock { state in
      if state.early == nil { state.continuation = continuation }
      return state.early
    }
    if let early { continuation.resume(with: early) }
  }

  func finish(_ result: Result<[UInt8]?, any Error>) {
    let waiting = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
      guard !state.isDone else { return nil }
      state.isDone = true
      if state.continuation == nil { state.early = result }
      defer { state.continuation = nil }
      return state.continuation
    }
    waiting?.resume(with: result)
  }
}
