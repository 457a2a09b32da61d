import Glibc
import KollusTestSupport
import SystemKit
import Testing

@Suite(.temporaryDirectory) struct ByteLockTests {
  let path = TemporaryDirectory.path + "/locks"

  @Test func `a second holder is refused until the first lets go`() throws {
    var first = try ByteLock(path: path, offset: 5)
    #expect(first != nil)
    #expect(try ByteLock(path: path, offset: 5) == nil)
    withExtendedLifetime(first) {}
    first = nil
    #expect(try ByteLock(path: path, offset: 5) != nil)
  }

  @Test func `neighbors do not disturb each other`() throws {
    let one = try ByteLock(path: path, offset: 5)
    let other = try ByteLock(path: path, offset: 6)
    let far = try ByteLock(path: path, offset: 1 << 40)
    #expect(one != nil && other != nil && far != nil)
    withExtendedLifetime((one, other, far)) {}
  }

  @Test func `a refused taker does not drop the holder's lock`() throws {
    let holder = try ByteLock(path: path, offset: 0)
    for _ in 0..<3 { #expect(try ByteLock(path: path, offset: 0) == nil) }
    withExtendedLifetime(holder) {}
  }

  @Test(arguments: [Int64.min, -1]) func `an offset that no file has is an error`(_ offset: Int64) {
    #expect(throws: SystemKit.SystemError.self) { try ByteLock(path: path, offset: offset) }
  }

  @Test(.timeLimit(.minutes(1))) func `a lock vanishes with a killed process`() async throws {
    let path = path
    async let child: Void = Self.holdUntilKilled(path)
    #expect(try await eventually { try Files.information(path + ".held") != nil })
    #expect(try ByteLock(path: path, offset: 9) == nil)
    try Files.write([], to: path + ".go")
    await child
    #expect(try ByteLock(path: path, offset: 9) != nil)
  }

  /// Takes the lock in a process of its own, which kills itself when told to.
  private static func holdUntilKilled(_ path: String) async {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path] in
      let lock = try ByteLock(path: path, offset: 9)
      guard lock != nil else { return }
      try Files.write([], to: path + ".held")
      for _ in 0..<2_000 where try Files.information(path + ".go") == nil { usleep(10_000) }
      withExtendedLifetime(lock) { _ = kill(getpid(), SIGKILL) }
    }
  }
}
