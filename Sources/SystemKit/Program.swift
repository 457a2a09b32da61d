import CLinux
import Glibc
import Synchronization

/// Another program, started beside this one in a process group of its own.
///
/// It gets default signals, `/dev/null` as its standard streams and no descriptor of ours but the one that
/// is passed. It is reaped whether or not anybody waits. Nothing ends it when this process dies, for the
/// system has no such wish in posix_spawn(3): pass a socket to a program that shall notice.
package final class Program: Sendable {
  /// How a program ended.
  package enum Ending: Sendable, Equatable, CustomStringConvertible {
    case exit(Int32)
    case signal(Int32)

    package var description: String {
      switch self {
      case .exit(let status): "exit status \(status)"
      case .signal(let number): "signal \(number)"
      }
    }
  }

  package let pid: Int32
  private let life: Life

  /// Starts `words[0]`, looked for in the `PATH` of `environment` unless it holds a slash.
  ///
  /// The program's end of `socket` becomes its descriptor `number`, 2 or 3. A program that is not there is
  /// told by `ENOENT`.
  package init(
    _ words: [String], environment: [String: String], passing socket: SocketPair? = nil, as number: Int32 = 3
  ) throws(SystemError) {
    let theirs = socket?.takeTheirs()
    pid = try Launch(words, environment, passed: theirs?.number, as: number).run()
    withExtendedLifetime(theirs) {}
    life = Life()
    let (life, pid) = (life, pid)
    Thread.start { life.reap(pid) }
  }

  /// Whether it has ended and was reaped.
  package var hasEnded: Bool { life.hasEnded }

  /// Sends a signal to the program and those it started, unless it has ended.
  package func signal(_ number: Int32) { life.signal(pid, number) }

  /// Waits for the end, whether or not the task is cancelled.
  package func ending() async -> Ending {
    await withCheckedContinuation { life.await($0) }
  }

  /// Asks the program to end, kills it after `grace`, and waits for its end.
  ///
  /// A program that has ended already is not asked.
  package func stop(
    within grace: Duration, asking ask: (Program) -> Void = { $0.signal(SIGTERM) }
  ) async -> Ending {
    ask(self)
    let killer = Task(executorPreference: TaskThreads.executor) { [life, pid] in
      try await TaskThreads.sleep(for: grace)
      life.signal(pid, SIGKILL)
    }
    defer { killer.cancel() }
    return await ending()
  }
}

/// What the reaping thread and those who wait share.
private final class Life: Sendable {
  private struct State {
    var ending: Program.Ending?
    var waiting: [CheckedContinuation<Program.Ending, Never>] = []
  }

  private let state = Mutex(State())

  var hasEnded: Bool { state.withLock { $0.ending != nil } }

  func signal(_ pid: pid_t, _ number: Int32) {
    // It is reaped under the same lock, so the number cannot belong to another process by now.
    state.withLock { if $0.ending == nil { _ = kill(-pid, number) } }
  }

  func await(_ continuation: CheckedContinuation<Program.Ending, Never>) {
    let ending = state.withLock { state in
      if state.ending == nil { state.waiting.append(continuation) }
      return state.ending
    }
    if let ending { continuation.resume(returning: ending) }
  }

  func reap(_ pid: pid_t) {
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (ending, waiting) = state.withLock { state in
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
      let ending = Program.Ending(status: status)
      state.ending = ending
      defer { state.waiting = [] }
      return (ending, state.waiting)
    }
    for continuation in waiting { continuation.resume(returning: ending) }
  }
}

extension Program.Ending {
  fileprivate init(status: Int32) {
    let signal = status & 0x7f
    self = signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
  }
}

/// Everything posix_spawn(3) is told.
private struct Launch {
  private let words: [String]
  private let environment: [String: String]
  private let passed: Int32?
  private let number: Int32

  init(_ words: [String], _ environment: [String: String], passed: Int32?, as number: Int32) {
    (self.words, self.environment, self.passed, self.number) = (words, environment, passed, number)
  }

  func run() throws(SystemError) -> pid_t {
    let texts = words + environment.flatMap { [$0.key, $0.value] }
    guard let name = words.first, !name.isEmpty, !texts.contains(where: { $0.utf8.contains(0) }) else {
      throw SystemError("start", words.first ?? "", number: EINVAL)
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    guard unsafe prepare(&actions) == 0 else { throw SystemError("start", name, number: ENOMEM) }

    var failure = ENOENT
    for path in candidates(for: name) {
      var pid: pid_t = 0
      let result = unsafe withCStrings(words) { words in
        unsafe withCStrings(environment.map { "\($0.key)=\($0.value)" }) { variables in
          unsafe posix_spawn(&pid, path, &actions, &attributes, words, variables)
        }
      }
      if result == 0 { return pid }
      // As execvp(3) does: one that may not be run is told only when no other is found.
      if result == EACCES {
        failure = EACCES
      } else if result != ENOENT, result != ENOTDIR {
        failure = result
      }
      guard [EACCES, ENOENT, ENOTDIR].contains(result) else { break }
    }
    throw SystemError("start", name, number: failure)
  }

  /// 0, or the first failure, which only want of memory brings.
  private func prepare(_ actions: inout posix_spawn_file_actions_t) -> Int32 {
    var failure: Int32 = 0
    // First of all, for ours may be one of those that are replaced next. It clears close-on-exec, also when
    // both numbers are the same.
    if let passed { failure = unsafe posix_spawn_file_actions_adddup2(&actions, passed, number) }
    for stream in 0...2 as ClosedRange<Int32> where failure == 0 && !(passed != nil && stream == number) {
      failure = unsafe posix_spawn_file_actions_addopen(
        &actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0)
    }
    guard failure == 0 else { return failure }
    return unsafe kollus_spawn_close_from(&actions, passed == nil ? 3 : max(3, number + 1))
  }

  private func candidates(for name: String) -> [String] {
    guard !name.utf8.contains(UInt8(ascii: "/")) else { return [name] }
    let folders = environment["PATH"] ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(name)" }
  }
}

private func withCStrings<Result>(
  _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
  let copies = unsafe texts.map { unsafe strdup($0) }
  defer { unsafe copies.forEach { unsafe free($0) } }
  return unsafe body(unsafe copies + [nil])
}
