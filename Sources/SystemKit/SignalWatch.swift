import CLinux
import Glibc

/// Turns SIGINT, SIGTERM and SIGHUP into a call, instead of the process's end, while it lives; one at a time.
///
/// The handler of a signal may do next to nothing, so it writes the number to a pipe that a thread reads.
package final class SignalWatch: Sendable {
  private let signals: [Int32]
  private let output: Int32

  /// Calls `handler` with the signal's number, on a thread of its own, when the first one arrives.
  ///
  /// A second one ends the process at once, as someone who waits in vain expects.
  ///
  /// SIGHUP is left alone where it is ignored, as nohup(1) has it.
  package init(_ signals: [Int32] = [SIGINT, SIGTERM, SIGHUP], handler: @escaping @Sendable (Int32) -> Void) {
    var ends: [Int32] = [-1, -1]
    let failure = unsafe pipe2(&ends, O_CLOEXEC)
    precondition(failure == 0, "no pipe to be had: \(errno)")
    (self.signals, output) = (signals.filter { $0 != SIGHUP || kollus_is_ignored($0) == 0 }, ends[1])
    let input = ends[0]
    Thread.start {
      var isFirst = true
      while let number = Self.next(input) {
        guard isFirst else { _exit(128 + number) }
        isFirst = false
        handler(number)
      }
      close(input)
    }
    for number in self.signals { _ = kollus_catch_signal(number, output) }
  }

  deinit {
    for number in signals { signal(number, SIG_DFL) }
    close(output)
  }

  /// The next signal's number, or `nil` when the watch has ended.
  private static func next(_ input: Int32) -> Int32? {
    var byte: UInt8 = 0
    var count: Int
    repeat { count = unsafe read(input, &byte, 1) } while count < 0 && errno == EINTR
    return count == 1 ? Int32(byte) : nil
  }
}
