import Foundation
import Glibc

extension ChildProcess {
  static func start(
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
    // Whatever the test runner itself was started with, or another test opened without care.
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    for number in names.compactMap({ Int32($0) }) where number > 2 {
      unsafe posix_spawn_file_actions_addclose(&actions, number)
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
