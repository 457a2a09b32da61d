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

  /// Lines of standard input, at most `limit` bytes in all; `nil` when there are more.
  package static func standardInputLines(limit: Int) throws(SystemError) -> [String]? {
    do throws(SystemError) {
      let bytes = try Files.read("/dev/stdin", limit: limit)
      return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
    } catch {
      guard error.number == EFBIG else { throw error }
      return nil
    }
  }

  /// A write to a pipe nobody reads becomes an error instead of the process's end.
  package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
}
