import Glibc
import Synchronization

/// A stream socket between this process and a program it starts: lines come in, texts go out.
///
/// It closes when the last reference goes, which the other side sees.
package final class SocketPair: Sendable {
  private let ours: Descriptor
  private let theirs: Mutex<Descriptor?>
  private let isReading = Mutex(false)

  /// Makes a pair; both ends are close-on-exec.
  package init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a socket pair") }
    ours = Descriptor(ends[0])
    theirs = Mutex(Descriptor(ends[1]))
  }

  deinit { close() }

  /// The program's end, which is closed here once it is let go of; `nil` after the first call.
  func takeTheirs() -> Descriptor? {
    theirs.withLock { theirs in
      defer { theirs = nil }
      return theirs
    }
  }

  /// Sends a text without ever waiting: when the other side does not read and the system's buffer is full,
  /// this throws and the pair is closed, since part of the text may have gone.
  package func write(_ text: String) throws(SystemError) {
    let bytes = Array(text.utf8)
    let count = unsafe send(
      ours.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    guard count != bytes.count else { return }
    let number = count < 0 ? errno : EAGAIN
    close()
    throw SystemError("write to the program", number: number)
  }

  /// Reads on a thread of its own, to be called once: each line without its line feed, then the end.
  ///
  /// A line longer than `limit` bytes is left out. Neither closure may keep this object alive, or the pair
  /// closes only when the other side does.
  package func readLines(
    limit: Int = 64 << 10, each: @escaping @Sendable (ArraySlice<UInt8>) -> Void,
    end: @escaping @Sendable () -> Void
  ) {
    let isFirst = isReading.withLock { isReading in
      defer { isReading = true }
      return !isReading
    }
    precondition(isFirst, "a socket pair has one reader")
    let ours = ours
    Thread.start {
      var lines = LineBuffer(limit: limit)
      while let piece = ours.receive() { lines.take(piece, each) }
      lines.finish(each)
      end()
    }
  }

  /// Ends the conversation for both sides; the reader sees the end.
  package func close() {
    // A thread in recv(2) sleeps on when its descriptor is merely closed, and the number might be reused.
    _ = shutdown(ours.number, Int32(SHUT_RDWR))
  }
}

/// An open descriptor, closed when the last reference goes.
final class Descriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// The next bytes, or `nil` at the end.
  func receive() -> ArraySlice<UInt8>? {
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    var count: Int
    repeat { count = unsafe recv(number, &piece, piece.count, 0) } while count < 0 && errno == EINTR
    return count > 0 ? piece[..<count] : nil
  }
}

/// Puts lines together from pieces, and leaves out those that are too long.
private struct LineBuffer {
  private let limit: Int
  private var line: [UInt8] = []
  private var isTooLong = false

  init(limit: Int) { self.limit = limit }

  mutating func take(_ piece: ArraySlice<UInt8>, _ each: (ArraySlice<UInt8>) -> Void) {
    var rest = piece
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      append(rest[..<end])
      finish(each)
      rest = rest[(end + 1)...]
    }
    append(rest)
  }

  /// Hands out what was gathered, if there is any.
  mutating func finish(_ each: (ArraySlice<UInt8>) -> Void) {
    if !isTooLong, !line.isEmpty { each(line[...]) }
    line.removeAll(keepingCapacity: true)
    isTooLong = false
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) {
    isTooLong = isTooLong || bytes.count > limit - line.count
    if !isTooLong { line += bytes }
  }
}
