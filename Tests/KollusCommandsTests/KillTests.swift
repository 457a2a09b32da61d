import Foundation
import KollusTestSupport
import Testing

/// Kills at random moments; `KOLLUS_KILLS` and `KOLLUS_KILL_MIB` ask for more and larger ones.
@Suite(.serialized, .temporaryDirectory) struct KillTests {
  static let kills = count(8)
  static let mebibytes = setting("KOLLUS_KILL_MIB", default: 16)

  @Test(.timeLimit(.minutes(10)), arguments: 0..<kills)
  func `kill -9 at any moment loses at most a segment a connection`(_ trial: Int) async throws {
    let digests: Digests = trial.isMultiple(of: 2) ? .segments : .none
    let bench = try FaultBench(digests, mebibytes: Self.mebibytes)
    // A segment a connection is an eighth of the smallest object; the rest is what sockets held.
    try bench.site.publish(bench.content.with { $0.segmentSize = 1 << 19 })
    let rate = Self.mebibytes / 2 * FaultBench.mebibyte
    bench.spoil { _, sound in sound.throttled(to: rate) }
    let process = try bench.startDownload("--connections", "4")
    // From before the first request to about the end.
    try await Task.sleep(for: .milliseconds(Int.random(in: 0...700)))
    process.kill(SIGKILL)
    let first = DownloadRun(await process.wait())
    let second = try await bench.download("--connections", "4")
    second.outcome.expect(0)
    try second.expectDownloaded(bench.mck)
    expectNoStepBack(first, second, mck: bench.mck)
    // A small object's quarter is less than what four sockets of a busy machine hold: a megabyte each.
    let allowance = max(bench.size / 4, 4 * ((1 << 19) + FaultBench.mebibyte))
    #expect(bench.mediaBytes <= bench.size + allowance, "\(bench.mediaBytes) of \(bench.size) sent")
    try await bench.expectExported()
    try? FileManager.default.removeItem(atPath: bench.tool.home)  // The folder goes later anyhow.
  }

  /// How often a test kills that does so many times unless asked for more or fewer.
  static func count(_ usual: Int) -> Int { setting("KOLLUS_KILLS", default: usual) }

  private static func setting(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
  }
}
