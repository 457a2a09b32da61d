import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// `kollus watch`: downloads of other processes, seen from beside them.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct WatchTests {
  let bench: FaultBench

  init() throws { bench = try FaultBench(.segments, mebibytes: 6, ["retries": "0"]) }

  private func watch(_ words: String...) throws -> ChildProcess {
    try bench.tool.start(["watch"] + words + ["--events", "jsonl"])
  }

  @Test(arguments: [true, false]) func `progress to the end`(_ isNamed: Bool) async throws {
    bench.spoil { _, sound in sound.throttled(to: 2 * FaultBench.mebibyte) }
    let download = try bench.startDownload("--connections", "1")
    _ = await download.line { $0.contains("downloadContent") }
    let watch = isNamed ? try watch(bench.mck) : try watch()
    let watched = DownloadRun(await watch.wait())
    await download.wait().expect(0)
    watched.outcome.expect(0)
    try watched.expectDownloaded(bench.mck)
    #expect(Set(watched.progress(of: bench.mck)[0]).count > 2)
    #expect(Set(watched.names) == ["downloadContent"])
  }

  @Test func `a failure is that of the download`() async throws {
    bench.spoil { request, sound in
      request.earlier == 0 ? sound.throttled(to: 2 * FaultBench.mebibyte) : Answer(503)
    }
    let download = try bench.startDownload("--connections", "1")
    _ = await download.line { $0.contains("downloadContent") }
    let watch = try watch(bench.mck)
    bench.spoil { _, _ in Answer(503) }
    await download.wait().expect(75)
    let watched = DownloadRun(await watch.wait())
    watched.outcome.expect(75)
    #expect(watched.errorCode == -8503)
  }

  @Test func `a download that begins within a second is waited for`() async throws {
    bench.spoil { _, sound in sound.throttled(to: 4 * FaultBench.mebibyte) }
    let watches = [try watch(bench.mck), try watch()]
    let download = try bench.startDownload()
    for watch in watches {
      let watched = DownloadRun(await watch.wait())
      watched.outcome.expect(0)
      try watched.expectDownloaded(bench.mck)
    }
    await download.wait().expect(0)
  }

  @Test func `an owner that was killed is told`() async throws {
    bench.spoil { _, sound in sound.stalled(after: 1 << 20) }
    let download = try bench.startDownload()
    _ = await download.line { $0.contains("downloadContent") }
    let watch = try watch(bench.mck)
    _ = await watch.line { $0.contains("downloadContent") }
    download.kill(SIGKILL)
    let outcome = await watch.wait()
    outcome.expect(75)
    #expect(outcome.standardOutput.contains("killed or interrupted"))
  }

  @Test func `what nobody downloads has its outcome at once`() async throws {
    (try await bench.tool.run("watch", "nobody")).expect(66)
    let none = try await bench.tool.run("watch")
    none.expect(0)
    #expect(none.standardOutput == "nothing is downloaded now\n")
    #expect(try await bench.tool.run("watch", "--json").standardOutput == "[]\n")
    let killed = try await bench.killedDownload()
    #expect(killed.outcome.ending == .signal(9))
    let partial = try await bench.tool.run("watch", bench.mck)
    partial.expect(75)
    #expect(partial.standardError.contains("nobody downloads it now (fetching)"))
    bench.spoil { _, _ in Answer(404) }
    (try await bench.tool.run("download", bench.mck)).expect(69)
    (try await bench.tool.run("watch", bench.mck)).expect(69)
    bench.heal()
    (try await bench.tool.run("download", bench.mck)).expect(0)
    let ready = try await bench.tool.run("watch", bench.mck, "--json")
    ready.expect(0)
    let item = try #require(Array(try JSON(parsing: ready.standardOutput).elements).first)
    expectShape(item, Contract.download)
    #expect(try item.bool("downloaded") == true)
  }

  @Test func `an interruption ends the watch alone`() async throws {
    bench.spoil { _, sound in sound.throttled(to: 2 * FaultBench.mebibyte) }
    let download = try bench.startDownload()
    _ = await download.line { $0.contains("downloadContent") }
    let watch = try watch()
    _ = await watch.line { $0.contains("downloadContent") }
    watch.kill(SIGINT)
    await watch.wait().expect(130)
    await download.wait().expect(0)
  }
}
