import Glibc
import Synchronization

/// Wakes every handler that pauses when the server stops: a pair of sockets, one of which is closed.
final class StopSignal: Sendable {
  private let watched: Int32
  private let held: Mutex<Int32?>

  init() throws(ServerError) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw ServerError(.system, number: errno) }
    watched = ends[0]
    held = Mutex(ends[1])
  }

  deinit {
    raise()
    close(watched)
  }

  /// Wakes all who pause, now and later; raising it again does nothing.
  func raise() {
    held.withLock { end in
      if let open = end { close(open) }
      end = nil
    }
  }

  /// Waits so long; false when the signal came first.
  func pause(for duration: Duration) -> Bool {
    let deadline = ContinuousClock.now + duration
    while true {
      let left = ContinuousClock.now.duration(to: deadline)
      // Rounded up, or the last millisecond would be spent spinning; a long pause is cut into turns.
      let (seconds, attoseconds) = max(left, .zero).components
      let milliseconds =
        min(seconds, 3_600) * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
      var ready = pollfd(fd: watched, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&ready, 1, Int32(milliseconds)) > 0 { return false }
      if ContinuousClock.now >= deadline { return true }
    }
  }
}
