import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite struct ProcessTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:01Z"), (-1, "1969-12-31T23:59:59Z"),
    (951_782_400, "2000-02-29T00:00:00Z"), (1_767_225_600, "2026-01-01T00:00:00Z"),
    (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (253_402_300_800, "9999-12-31T23:59:59Z"),
    (Int64.max, "9999-12-31T23:59:59Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
    (Int64.min, "0000-01-01T00:00:00Z"),
  ]) func `a time as text`(_ seconds: Int64, _ text: String) {
    #expect(WallClock.text(seconds) == text)
  }

  @Test func `the clock is the system's`() {
    #expect(abs(WallClock.now() - Double(time(nil))) < 2)
  }

  @Test func `a write to a pipe that nobody reads is false`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0, dup2(ends[1], STDOUT_FILENO) >= 0 else { return }
      close(ends[0])
      ProcessContext.ignoreBrokenPipes()
      exit(Console.standardOutput.write(String(repeating: "x", count: 200_000)) ? 1 : 7)
    }
  }

  @Test func `a write to a full disk is false`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let full = open("/dev/full", O_WRONLY)
      guard full >= 0, dup2(full, STDOUT_FILENO) >= 0 else { return }
      exit(Console.standardOutput.write("x") ? 1 : 7)
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a reader that is slow gets every byte`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0, dup2(ends[1], STDOUT_FILENO) >= 0 else { return }
      _ = fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK)
      let reading = ends[0]
      let count = Protected(0)
      SystemKit.Thread.start {
        var piece = [UInt8](repeating: 0, count: 1_000)
        while count.withLock({ $0 }) < 1_000_000 {
          usleep(50)
          let got = read(reading, &piece, piece.count)
          guard got > 0 else { return }
          count.withLock { $0 += got }
        }
      }
      let isWritten = Console.standardOutput.write(String(repeating: "x", count: 1_000_000))
      for _ in 0..<2_000 where count.withLock({ $0 }) < 1_000_000 { usleep(5_000) }
      exit(isWritten && count.withLock { $0 } == 1_000_000 ? 7 : 1)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func `a signal becomes a call`(_ number: Int32) async {
    await #expect(processExitsWith: .exitCode(7)) { [number] in
      let seen = Protected<[Int32]>([])
      let watch = SignalWatch { number in seen.withLock { $0.append(number) } }
      Self.send(number) { seen.withLock { !$0.isEmpty } }
      withExtendedLifetime(watch) {}
      exit(seen.withLock { $0 } == [number] ? 7 : 1)
    }
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a second signal ends the process at once`(_ number: Int32, _ status: Int32) async {
    await #expect(processExitsWith: .exitCode(status)) { [number] in
      let seen = Protected(false)
      let watch = SignalWatch { _ in seen.withLock { $0 = true } }
      Self.send(number) { seen.withLock { $0 } }
      _ = kill(getpid(), number)
      for _ in 0..<2_000 { usleep(5_000) }
      withExtendedLifetime(watch) {}
      exit(1)
    }
  }

  /// Sends a signal until it has an effect: the watch begins on a thread of its own, which may be late.
  private static func send(_ number: Int32, until isSeen: () -> Bool) {
    for _ in 0..<10 where !isSeen() {
      _ = kill(getpid(), number)
      for _ in 0..<200 where !isSeen() { usleep(5_000) }
    }
  }

  @Test(arguments: 0..<20)
  func `a signal right after the watch began is not lost`(_ round: Int) async {
    await #expect(processExitsWith: .exitCode(7)) {
      let seen = Protected(false)
      let watch = SignalWatch { _ in seen.withLock { $0 = true } }
      _ = kill(getpid(), SIGINT)
      for _ in 0..<200 where !seen.withLock({ $0 }) { usleep(5_000) }
      withExtendedLifetime(watch) {}
      exit(seen.withLock { $0 } ? 7 : 1)
    }
  }

  @Test func `once the watch is gone a signal ends the process again`() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      do { withExtendedLifetime(SignalWatch { _ in }) {} }
      usleep(100_000)  // The source is cancelled on a queue of its own.
      _ = kill(getpid(), SIGTERM)
      usleep(500_000)
      exit(1)
    }
  }

  @Test func `the environment keeps the first of two and values with an equals sign`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      setenv("KOLLUS_TEST", "a=b=", 1)
      setenv("KOLLUS_EMPTY", "", 1)
      let variables = ProcessContext.environment()
      exit(variables["KOLLUS_TEST"] == "a=b=" && variables["KOLLUS_EMPTY"] == "" ? 7 : 1)
    }
  }

  @Test func `standard input is read up to the limit`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0, dup2(ends[0], STDIN_FILENO) >= 0 else { return }
      _ = write(ends[1], "one\r\n\ntwo", 9)
      close(ends[1])
      exit(try await ProcessContext.standardInput(limit: 10) == Array("one\r\n\ntwo".utf8) ? 7 : 1)
    }
  }

  @Test func `more standard input than the limit is nil`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0, dup2(ends[0], STDIN_FILENO) >= 0 else { return }
      _ = write(ends[1], "one\ntwo", 7)
      close(ends[1])
      exit(try await ProcessContext.standardInput(limit: 6) == nil ? 7 : 1)
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a reader of standard input can be cancelled`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0, dup2(ends[0], STDIN_FILENO) >= 0 else { return }
      let task = Task { try await ProcessContext.standardInput(limit: 6) }
      task.cancel()
      do { _ = try await task.value } catch { exit(error is CancellationError ? 7 : 1) }
    }
  }
}
