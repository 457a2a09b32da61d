import Foundation
import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProgramTests {
  static let environment = ["PATH": "/usr/bin:/bin", "WORD": "a b"]

  /// Starts a shell whose descriptor 3, or another, is our socket.
  static func shell(
    _ script: String, as number: Int32 = 3
  ) throws -> (program: Program, socket: SocketPair, lines: Protected<[String]>, isOver: Protected<Bool>) {
    let socket = try SocketPair()
    let program = try Program(
      ["sh", "-c", script], environment: environment, passing: socket, as: number)
    let (lines, isOver) = (Protected<[String]>([]), Protected(false))
    socket.readLines(
      each: { line in
        let text = String(decoding: line, as: UTF8.self)
        lines.withLock { $0.append(text) }
      }, end: { isOver.withLock { $0 = true } })
    return (program, socket, lines, isOver)
  }

  static func heard(_ script: String, as number: Int32 = 3) async throws -> [String] {
    let (program, socket, lines, isOver) = try shell(script, as: number)
    _ = await program.ending()
    #expect(await eventually { isOver.withLock { $0 } })
    withExtendedLifetime(socket) {}
    return lines.withLock { $0 }
  }

  @Test(
    arguments: [("exit 0", .exit(0)), ("exit 3", .exit(3)), ("kill -9 $$", .signal(SIGKILL))]
      as [(String, Program.Ending)])
  func `the end is told`(_ script: String, _ ending: Program.Ending) async throws {
    let program = try Program(["sh", "-c", script], environment: Self.environment)
    #expect(await program.ending() == ending)
    #expect(await program.ending() == ending, "also to those who come late")
    #expect(program.hasEnded)
    #expect(await program.stop(within: .zero) == ending)
  }

  @Test(
    arguments: [
      ("kollus-no-such-program", "/usr/bin", ENOENT), ("sh", "", ENOENT),
      ("sh", "/nonexistent:/etc/passwd", ENOENT),
      ("/nonexistent/sh", "/usr/bin", ENOENT), ("passwd", "/etc", EACCES), ("/etc", "/usr/bin", EACCES),
      ("", "/usr/bin", EINVAL), ("sh\0x", "/usr/bin", EINVAL),
    ] as [(String, String, Int32)])
  func `what cannot be started is told at once`(_ name: String, _ path: String, _ number: Int32) throws {
    #expect(throws: SystemError("start", name, number: number)) {
      try Program([name], environment: ["PATH": path])
    }
  }

  @Test func `the program gets its words and environment and nothing else`() async throws {
    let lines = try await Self.heard(
      "echo $WORD >&3; env | grep -vE '^(PWD|OLDPWD|SHLVL|_)=' | sort >&3; echo x; echo y >&2; wc -c >&3")
    #expect(lines == ["a b", "PATH=/usr/bin:/bin", "WORD=a b", "0"])
  }

  @Test(arguments: [3, 2] as [Int32])
  func `no descriptor but the passed one is open`(_ number: Int32) async throws {
    let inherited = open("/dev/zero", O_RDONLY)  // not close-on-exec
    defer { close(inherited) }
    #expect(inherited > 2)
    let lines = try await Self.heard(
      "(find /proc/$$/fd -type l -printf '%f %l\\n') >&\(number); true", as: number)
    var told: [String: String] = [:]
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      if words.count == 2 { told[words[0]] = words[1] }
    }
    let streams = (0...2).filter { $0 != number }
    for stream in streams { #expect(told.removeValue(forKey: "\(stream)") == "/dev/null") }
    #expect(told.removeValue(forKey: "\(number)")?.hasPrefix("socket:") == true)
    #expect(told.isEmpty, "\(told)")
  }

  @Test func `signals are as a new program expects them, and the group is its own`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      signal(SIGPIPE, SIG_IGN)
      signal(SIGTERM, SIG_IGN)
      let lines = try await Self.heard(
        "grep -E '^Sig(Blk|Ign)' /proc/self/status >&3; ps -o pgid= -p $$ >&3; echo $$ >&3")
      let numbers = lines.map { $0.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? "" }
      guard numbers.count == 4, numbers[2] == numbers[3] else { exit(1) }
      // Signals 32 and 33 are the C library's own, which it has programs ignore.
      let isPlain = numbers[..<2].allSatisfy { (UInt64($0, radix: 16) ?? 1) & ~(3 << 31) == 0 }
      exit(isPlain ? 7 : 2)
    }
  }

  @Test func `who is asked to end does, and is not killed`() async throws {
    let (program, socket, lines, _) = try Self.shell(
      "trap 'exit 5' TERM; echo ready >&3; while :; do sleep 0.01; done")
    #expect(await eventually { lines.withLock { $0 == ["ready"] } })
    #expect(await program.stop(within: .seconds(20)) == .exit(5))
    withExtendedLifetime(socket) {}
  }

  @Test func `who does not end is killed with its children`() async throws {
    let (program, socket, lines, isOver) = try Self.shell(
      "trap '' TERM; echo ready >&3; sleep 50 & while :; do sleep 50; done")
    #expect(await eventually { lines.withLock { $0 == ["ready"] } })
    #expect(await program.stop(within: .milliseconds(50)) == .signal(SIGKILL))
    #expect(await eventually { isOver.withLock { $0 } }, "the children held the socket too")
    withExtendedLifetime(socket) {}
  }

  @Test func `a program that nobody waits for is reaped`() async throws {
    let pid = try Program(["true"], environment: Self.environment).pid
    #expect(await eventually { kill(pid, 0) != 0 })
  }

  @Test func `texts go both ways`() async throws {
    let (program, socket, lines, _) = try Self.shell("while read -r line <&3; do echo \"<$line>\" >&3; done")
    try socket.write("one\n")
    try socket.write("two\nthree\n")
    #expect(await eventually { lines.withLock { $0 == ["<one>", "<two>", "<three>"] } })
    socket.close()
    #expect(await program.ending() == .exit(0), "the other side sees the end")
  }

  @Test func `the pair closes with the last reference`() async throws {
    let (program, isOver) = try {
      let shell = try Self.shell("cat <&3")
      return (shell.program, shell.isOver)
    }()
    #expect(await program.ending() == .exit(0))
    #expect(await eventually { isOver.withLock { $0 } })
  }

  @Test func `a line that is too long is left out, one that has no end is not`() async throws {
    let lines = try await Self.heard(
      "printf 'a\\n\\n' >&3; head -c 65536 /dev/zero | tr '\\0' x >&3; printf '\\n' >&3; "
        + "head -c 65537 /dev/zero | tr '\\0' y >&3; printf '\\nb\\nc' >&3")
    #expect(lines.map(\.utf8.count) == [1, 65_536, 1, 1])
    #expect(lines.last == "c")
  }

  @Test func `a write to a program that has gone, or does not read, throws at once`() async throws {
    let gone = try Self.shell("exit 0")
    _ = await gone.program.ending()
    #expect(await eventually { gone.isOver.withLock { $0 } })
    #expect(throws: SystemError("write to the program", number: EPIPE)) { try gone.socket.write("x\n") }

    let deaf = try Self.shell("sleep 50")
    #expect(throws: SystemError("write to the program", number: EAGAIN)) {
      for _ in 0..<100_000 { try deaf.socket.write(String(repeating: "x", count: 1_000)) }
    }
    #expect(throws: SystemError("write to the program", number: EPIPE)) { try deaf.socket.write("x\n") }
    _ = await deaf.program.stop(within: .zero)
  }

  @Test func `many at once leave no descriptors behind`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      @Sendable func openDescriptors() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
      }
      _ = try await Self.heard("echo x >&3")
      let before = openDescriptors()
      let isRight = try await withThrowingTaskGroup(of: Bool.self) { group in
        for round in 0..<40 { group.addTask { try await Self.heard("echo \(round) >&3") == ["\(round)"] } }
        return try await group.reduce(true) { $0 && $1 }
      }
      let isClean = await eventually { openDescriptors() < before + 10 }
      exit(isRight && isClean ? 7 : 1)
    }
  }
}
