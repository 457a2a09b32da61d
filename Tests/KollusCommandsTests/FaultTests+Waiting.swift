import Foundation
import JSONKit
import KollusTestSupport
import Testing

extension FaultTests {
  /// Space, patience, company and signals.
  @Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct Waiting {
    @Test(arguments: FaultTests.digests)
    func `P11 too little space is told with the sum before the first byte`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests, ["reserve": "\"1000000T\""])
      let run = try await bench.download()
      run.outcome.expect(73)
      #expect(run.errorCode == -8623)
      #expect(bench.mediaRequests == 0)
      let told = run.outcome.standardError + run.outcome.standardOutput
      #expect(told.contains { $0.isNumber }, "no sum: \(told)")
      try await bench.expectNotReady()
      try bench.tool.configure(["origin": bench.site.url.jsonQuoted])
      try await bench.expectHealed()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount a file system in memory"))
    func `P11 a disk of 4 MiB is refused before the first byte`() async throws {
      let disk = try SmallDisk(mebibytes: 4)
      defer { withExtendedLifetime(disk) {} }
      let bench = try FaultBench(.segments, home: disk.path + "/home")
      let run = try await bench.download()
      run.outcome.expect(73)
      #expect(run.errorCode == -8623)
      #expect(bench.mediaRequests == 0)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount a file system in memory"))
    func `P11 a disk that others fill in mid-download keeps what is sound`() async throws {
      let disk = try SmallDisk(mebibytes: 24)
      defer { withExtendedLifetime(disk) {} }
      let bench = try FaultBench(.segments, home: disk.path + "/home")
      bench.spoil { _, sound in sound.throttled(to: 3 * FaultBench.mebibyte) }
      let process = try bench.startDownload("--connections", "2")
      #expect(await eventually { bench.mediaBytes >= bench.size / 4 || !process.isRunning })
      try disk.fill()
      let run = DownloadRun(await process.wait())
      // Reserved beforehand, the media may well fit; then nothing is lost at all.
      run.outcome.expect(0, 73)
      try disk.clear()
      try await bench.expectHealed()
    }

    @Test(arguments: FaultTests.digests)
    func `P12 five downloads of one content are one transfer`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      bench.spoil { _, sound in sound.throttled(to: 2 * FaultBench.mebibyte) }
      let processes = try (0..<5).map { _ in try bench.startDownload() }
      for process in processes {
        let run = DownloadRun(await process.wait())
        run.outcome.expect(0)
        try run.expectDownloaded(bench.mck)
      }
      #expect(bench.mediaBytes <= bench.size + bench.size / 10)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `P12 a joined download takes over when the first one is killed`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests, mebibytes: 16)
      bench.spoil { _, sound in sound.throttled(to: 4 * FaultBench.mebibyte) }
      let first = try bench.startDownload("--connections", "2")
      #expect(await eventually { bench.mediaBytes >= bench.size / 4 || !first.isRunning })
      let second = try bench.startDownload("--connections", "2")
      #expect(await second.line { $0.contains("\"joined\"") } != nil)
      first.kill(SIGKILL)
      #expect(await first.wait().ending == .signal(Int(SIGKILL)))
      let run = DownloadRun(await second.wait())
      run.outcome.expect(0)
      try run.expectDownloaded(bench.mck)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests, [429, 503])
    func `P13 Retry-After is kept to the second`(_ digests: Digests, status: Int) async throws {
      let bench = try FaultBench(digests)
      try await expectWait(bench, bench.site.mediaPath(of: bench.mck)) { sound in
        bench.spoil { _, answer in sound() ?? answer }
      } answer: {
        Answer(status).retryAfter("2")
      }
    }

    @Test func `P13 Retry-After of a manifest is kept too`() async throws {
      let bench = try FaultBench(.segments)
      let text = bench.content.manifest(mediaURL: bench.site.mediaURL(of: bench.mck))
      try await expectWait(bench, "/contents/") { fault in
        bench.site.answerManifest(of: bench.mck) { _ in
          fault() ?? Answer(200, text: text, type: "application/json")
        }
      } answer: {
        Answer(503).retryAfter("2")
      }
    }

    @Test func `P13 Retry-After as a date is kept`() async throws {
      let bench = try FaultBench(.segments)
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(identifier: "UTC")
      formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      // Dates have whole seconds: 3 s from now, rounded down, are at least 2.
      let date = formatter.string(from: Date() + 3.5)
      try await expectWait(bench, bench.site.mediaPath(of: bench.mck)) { fault in
        bench.spoil { _, answer in fault() ?? answer }
      } answer: {
        Answer(503).retryAfter(date)
      }
    }

    @Test(arguments: FaultTests.digests)
    func `P13 a Retry-After of an hour ends the run and holds for the next one`(_ digests: Digests)
      async throws
    {
      let bench = try FaultBench(digests)
      bench.spoil { _, _ in Answer(503).retryAfter("3600") }
      let start = ContinuousClock.now
      (try await bench.download("--connections", "1")).outcome.expect(75)
      #expect(ContinuousClock.now - start < .seconds(20))
      let requests = bench.mediaRequests
      (try await bench.download("--connections", "1")).outcome.expect(75)
      #expect(bench.mediaRequests == requests, "asked earlier than told")
    }

    @Test(arguments: ["", "0", "-5", "soon", "1.5", "99999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"])
    func `P13 an odd Retry-After neither stops nor spins`(_ text: String) async throws {
      let bench = try FaultBench(.segments)
      bench.spoil { request, sound in request.earlier < 2 ? Answer(503).retryAfter(text) : sound }
      let run = try await bench.download("--connections", "1")
      run.outcome.expect(0, 75)
      #expect(bench.mediaRequests < 40)
      if run.outcome.status == 0 { try await bench.expectExported() }
    }

    @Test(arguments: FaultTests.digests)
    func `P15 a stalled server is given up, and the part is kept`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests, ["timeout": "\"1s\"", "retries": "1"])
      let size = bench.size
      bench.spoil { request, sound in
        let start = request.range?.resolved(in: size)?.lowerBound ?? 0
        return sound.stalled(after: max(0, (64 << 10) - start))
      }
      let start = ContinuousClock.now
      let run = try await bench.download()
      run.outcome.expect(75)
      #expect(ContinuousClock.now - start < .seconds(40))
      #expect(bench.mediaRequests >= 2, "no retry")
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }

    @Test(arguments: [SIGINT, SIGTERM], FaultTests.digests)
    func `P16 a signal ends the run with its own status, resumable`(
      _ signal: Int32, digests: Digests
    ) async throws {
      let bench = try FaultBench(digests, mebibytes: 16)
      let first = try await bench.killedDownload(by: signal)
      first.outcome.expect(signal == SIGINT ? 130 : 143)
      let second = try await bench.download("--connections", "2")
      second.outcome.expect(0)
      expectNoStepBack(first, second, mck: bench.mck)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `P16 a signal under --json leaves output that parses`(_ signal: Int32) async throws {
      let bench = try FaultBench(.segments)
      bench.spoil { _, sound in sound.throttled(to: 4 * FaultBench.mebibyte) }
      let process = try bench.tool.start("download", bench.mck, "--json")
      #expect(await eventually { bench.mediaBytes >= bench.size / 2 || !process.isRunning })
      process.kill(signal)
      let outcome = await process.wait()
      outcome.expect(signal == SIGINT ? 130 : 143)
      expectOneDocument(outcome.standardOutput)
      expectOneDocument(outcome.standardError)
      try await bench.expectHealed()
    }

    /// Runs a download whose first answer, and every one for a second after, is `answer`, which asks for 2 s.
    private func expectWait(
      _ bench: FaultBench, _ path: String,
      install: (@escaping @Sendable () -> Answer?) -> Void,
      answer: @escaping @Sendable () -> Answer
    ) async throws {
      let first = Protected<ContinuousClock.Instant?>(nil)
      install {
        let begin = first.withLock { first in
          first = first ?? .now
          return first ?? .now
        }
        return begin + .seconds(1) > .now ? answer() : nil
      }
      let run = try await bench.download()
      run.outcome.expect(0)
      #expect(run.names.contains("waiting"), "\(run.names)")
      let times = bench.site.server.exchanges(under: path).map(\.at)
      let begin = try #require(times.first)
      // Requests already under way when the first answer went out may follow it at once.
      let early = times.filter { $0 > begin + .milliseconds(300) && $0 < begin + .milliseconds(1_950) }
      #expect(early.isEmpty, "asked after \(early.map { $0 - begin })")
      try await bench.expectExported()
    }
  }
}

/// One JSON document, or nothing at all.
func expectOneDocument(_ text: String, at location: SourceLocation = #_sourceLocation) {
  guard !text.isEmpty else { return }
  #expect(throws: Never.self, "\(text)", sourceLocation: location) { _ = try JSON(parsing: text) }
}
