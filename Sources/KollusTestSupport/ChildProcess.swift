import Dispatch
import Foundation
import Glibc
import Synchronization

/// A program run as a child: its output is drained as it comes, and it never outlives this object.
///
/// Meant for one waiting caller at a time. Waiting blocks a thread of its own, never one of the caller's pool.
package final class ChildProcess: Sendable {
  package enum Stream: Int, Sendable { case standardOutput, standardError }

  /// How the program ended.
  package enum Ending: Sendable, Equatable {
    case exit(Int)
    case signal(Int)
    /// Killed here, because it was still running at the deadline.
    case deadline
  }

  package struct Outcome: Sendable {
    package let ending: Ending
    package let standardOutput: String
    package let standardError: String
  }

  package let pid: Int32
  private let state: State

  /// Starts `path` with these arguments (its own name is added) and nothing but this environment.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String], input: [UInt8] = []
  ) throws {
    (pid, state) = try Self.start(path, arguments, environment: environment, input: input)
  }

  deinit { state.kill(pid, SIGKILL) }

  /// Sends a signal, unless the program has ended already.
  package func kill(_ signal: Int32) { state.kill(pid, signal) }

  /// Asks it to end and blocks until it has, for a few seconds at most; then it is killed.
  package func stop() {
    kill(SIGTERM)
    if !state.block(within: .seconds(5), until: \.isOver) { kill(SIGKILL) }
  }

  package var isRunning: Bool { state.now.withLock { $0.status == nil } }

  /// What it wrote so far.
  package func text(on stream: Stream) -> String { state.text(on: stream) }

  /// Waits for the end; at the deadline the program is killed.
  package func wait(within limit: Duration = .seconds(20)) async -> Outcome {
    let isOver = await state.await(within: limit) { $0.isOver }
    if !isOver {
      kill(SIGKILL)
      _ = await state.await(within: .seconds(5)) { $0.isOver }
    }
    let ending = isOver ? state.ending : .deadline
    return Outcome(
      ending: ending, standardOutput: text(on: .standardOutput), standardError: text(on: .standardError))
  }

  /// Waits for a complete line that `isWanted` likes, from the first line on; nil at the deadline or the end.
  package func line(
    on stream: Stream = .standardOutput, within limit: Duration = .seconds(10),
    where isWanted: @escaping @Sendable (Substring) -> Bool
  ) async -> String? {
    let found = Protected<String?>(nil)
    let seen = Protected(0)
    _ = await state.await(within: limit) { now in
      let bytes = now.output[stream.rawValue]
      var start = seen.withLock { $0 }
      while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: bytes[start..<end], as: UTF8.self)
        start = end + 1
        if isWanted(line[...]) {
          found.withLock { $0 = line }
          return true
        }
      }
      seen.withLock { $0 = start }
      return now.isOver
    }
    return found.withLock { $0 }
  }
}

extension ChildProcess {
  /// What the threads share; it does not keep the process object alive.
  final class State: Sendable {
    struct Now {
      var output: [[UInt8]] = [[], []]
      var openStreams = 2
      var status: Int32?

      var isOver: Bool { status != nil && openStreams == 0 }
    }

    let now = Mutex(Now())
    private let changed = DispatchSemaphore(value: 0)

    func text(on stream: Stream) -> String {
      let bytes = now.withLock { $0.output[stream.rawValue] }
      return String(decoding: bytes, as: UTF8.self)
    }

    var ending: Ending {
      let status = now.withLock { $0.status } ?? 0
      return status & 0x7f == 0 ? .exit(Int(status >> 8 & 0xff)) : .signal(Int(status & 0x7f))
    }

    func kill(_ pid: pid_t, _ signal: Int32) {
      // The child is reaped under the same lock, so the number cannot belong to another process by now.
      now.withLock { if $0.status == nil { _ = Glibc.kill(pid, signal) } }
    }

    func drain(_ descriptor: Int32, _ stream: Stream) {
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = unsafe read(descriptor, &piece, piece.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        now.withLock { $0.output[stream.rawValue] += piece.prefix(count) }
        changed.signal()
      }
      close(descriptor)
      now.withLock { $0.openStreams -= 1 }
      changed.signal()
    }

    func reap(_ pid: pid_t) {
      var info = unsafe siginfo_t()
      while unsafe waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      now.withLock { now in
        var status: Int32 = 0
        unsafe waitpid(pid, &status, 0)
        now.status = status
      }
      changed.signal()
    }

    func await(within limit: Duration, _ condition: @escaping @Sendable (Now) -> Bool) async -> Bool {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [self] in
          continuation.resume(returning: block(within: limit, until: condition))
        }
      }
    }

    func block(within limit: Duration, until condition: (Now) -> Bool) -> Bool {
      let deadline = DispatchTime.now() + limit / .seconds(1)
      var isMet = now.withLock { condition($0) }
      while !isMet, changed.wait(timeout: deadline) == .success { isMet = now.withLock { condition($0) } }
      return isMet
    }
  }
}
