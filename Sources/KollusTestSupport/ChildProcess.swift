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
  private final class State: Sendable {
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
      let deadline = DispatchTime.now() + limit / .seconds(1)
      return await withCheckedContinuation { continuation in
        Thread.detachNewThread { [self] in
          var isMet = now.withLock { condition($0) }
          while !isMet, changed.wait(timeout: deadline) == .success { isMet = now.withLock { condition($0) } }
          continuation.resume(returning: isMet)
        }
      }
    }
  }

  private static func start(
    _ path: String, _ arguments: [String], environment: [String: String], input: [UInt8]
  ) throws -> (pid_t, State) {
    let (pid, ends) = try Descriptors.withLock {
      let input = try Descriptors.pipe()
      let output = try Descriptors.pipe()
      let errors = try Descriptors.pipe()
      let theirs = [input.reading, output.writing, errors.writing]
      let ours = [input.writing, output.reading, errors.reading]
      defer { for end in theirs { close(end) } }
      do {
        return (try spawn(path, [path] + arguments, environment, theirs), ours)
      } catch {
        for end in ours { close(end) }
        throw error
      }
    }
    let state = State()
    Thread.detachNewThread { state.drain(ends[1], .standardOutput) }
    Thread.detachNewThread { state.drain(ends[2], .standardError) }
    Thread.detachNewThread { state.reap(pid) }
    feed(input, to: ends[0])
    return (pid, state)
  }

  private static func feed(_ input: [UInt8], to descriptor: Int32) {
    guard !input.isEmpty else {
      close(descriptor)
      return
    }
    Thread.detachNewThread {
      // The program may end without reading; that must not end the tests.
      var signals = sigset_t()
      unsafe sigemptyset(&signals)
      unsafe sigaddset(&signals, SIGPIPE)
      unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
      var rest = input[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        rest = rest.dropFirst(count)
      }
      close(descriptor)
    }
  }

  /// Starts the program with default signals and only its three standard streams.
  private static func spawn(
    _ path: String, _ words: [String], _ environment: [String: String], _ streams: [Int32]
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in streams.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var pid: pid_t = 0
    let number = unsafe withCStrings(words) { words in
      unsafe withCStrings(environment.map { "\($0.key)=\($0.value)" }) { variables in
        unsafe posix_spawn(&pid, path, &actions, &attributes, words, variables)
      }
    }
    guard number == 0 else { throw SystemError(number: number) }
    return pid
  }

  private static func withCStrings<Result>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = unsafe texts.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(unsafe copies + [nil])
  }
}
