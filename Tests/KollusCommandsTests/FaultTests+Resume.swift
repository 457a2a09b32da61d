import Foundation
import KollusTestSupport
import Testing

extension FaultTests {
  /// What was stored before decides how a download goes on.
  @Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct Resume {
    @Test(arguments: Digests.allCases)
    func `P01 after kill -9 half way, only what was missing is fetched`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests, mebibytes: 16)
      let first = try await bench.killedDownload()
      #expect(first.outcome.ending == .signal(Int(SIGKILL)))
      let second = try await bench.download("--connections", "2")
      second.outcome.expect(0)
      try second.expectDownloaded(bench.mck)
      expectNoStepBack(first, second, mck: bench.mck)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: Digests.allCases, [0, 4_096])
    func `P02 P03 an object changed after a kill is fetched whole, and that is told`(
      _ digests: Digests, longer: Int
    ) async throws {
      let bench = try FaultBench(digests)
      _ = try await bench.killedDownload()
      let changed = bench.changed(longer: longer)
      try bench.site.publish(changed)
      let run = try await bench.download()
      run.outcome.expect(0)
      #expect(run.notes(of: bench.mck).contains("restarted"), "\(run.names)")
      try run.expectDownloaded(bench.mck)
      try await bench.expectExported(changed.bytes)
    }

    @Test(arguments: [Digests.segments, .file], [0, 4_096])
    func `P02 P03 an object that fits its manifest no longer is refused`(
      _ digests: Digests, longer: Int
    ) async throws {
      let bench = try FaultBench(digests)
      _ = try await bench.killedDownload()
      bench.site.answerMedia(of: bench.mck, with: bench.changed(longer: longer).handler)
      let run = try await bench.download()
      run.outcome.expect(65)
      #expect(run.outcome.standardError.contains(bench.mck) || run.errorCode != nil, "says nothing")
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }

    @Test func `P02 without digests the new object of the same size replaces the old`() async throws {
      let bench = try FaultBench(.none)
      _ = try await bench.killedDownload()
      let changed = bench.changed()
      bench.site.answerMedia(of: bench.mck, with: changed.handler)
      let run = try await bench.download()
      run.outcome.expect(0)
      #expect(run.notes(of: bench.mck).contains("restarted"), "\(run.names)")
      try await bench.expectExported(changed.bytes)
    }

    @Test func `P03 without digests a size that the manifest does not give is refused`() async throws {
      let bench = try FaultBench(.none)
      _ = try await bench.killedDownload()
      bench.site.answerMedia(of: bench.mck, with: bench.changed(longer: 4_096).handler)
      (try await bench.download()).outcome.expect(65)
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }

    /// Neither a digest nor a strong validator: what is there may belong to another object.
    @Test(arguments: [nil, "W/\"v1\""]) func `without any proof a download starts over`(
      _ etag: String?
    ) async throws {
      let bench = try FaultBench(.none)
      let weak = bench.content.with { $0.etag = etag }
      try bench.site.publish(weak)
      bench.spoil(weak) { _, sound in sound.throttled(to: 12 * FaultBench.mebibyte) }
      let process = try bench.startDownload("--connections", "2")
      #expect(await eventually { bench.mediaBytes >= bench.size / 2 || !process.isRunning })
      process.kill(SIGKILL)
      _ = await process.wait()
      let changed = weak.with { $0.bytes = bench.changed().bytes }
      bench.site.answerMedia(of: bench.mck, with: changed.handler)
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported(changed.bytes)
    }

    @Test(arguments: Digests.allCases)
    func `P06 what is complete is not asked for again`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      (try await bench.download()).outcome.expect(0)
      let requests = bench.mediaRequests
      let second = try await bench.download()
      second.outcome.expect(0)
      #expect(bench.mediaRequests == requests)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `P09 a refusal on resume asks for a fresh address and keeps the part`(_ digests: Digests)
      async throws
    {
      let bench = try FaultBench(digests, mebibytes: 16)
      let first = try await bench.killedDownload()
      bench.spoil { _, _ in Answer(403, text: "no") }
      let manifests = bench.site.manifestExchanges.count
      let second = try await bench.download()
      second.outcome.expect(69)
      #expect(bench.site.manifestExchanges.count >= manifests + 2, "the address was not resolved again")
      expectNoStepBack(first, second, mck: bench.mck)
      bench.heal()
      (try await bench.download("--connections", "2")).outcome.expect(0)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `P14 one flipped bit is noticed, and one segment repairs it`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      (try await bench.download()).outcome.expect(0)
      (try await bench.tool.run("verify", bench.mck)).expect(0)
      try flipOneBit(in: try largestFile(under: "\(bench.tool.home)/media"))
      (try await bench.tool.run("verify", bench.mck)).expect(65)
      let file = "\(TemporaryDirectory.path)/damaged"
      (try await bench.tool.run("export", bench.mck, "-o", file)).expect(65)
      #expect(!FileManager.default.fileExists(atPath: file))
      let before = bench.mediaBytes
      (try await bench.download()).outcome.expect(0)
      #expect(bench.mediaBytes - before == bench.content.segmentSize)
      (try await bench.tool.run("verify", bench.mck)).expect(0)
      try await bench.expectExported()
    }
  }
}

/// The path of the largest file anywhere under a folder.
func largestFile(under folder: String) throws -> String {
  let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
  let sized = try names.map { name in
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
    let isFile = attributes[.type] as? FileAttributeType == .typeRegular
    return (path: "\(folder)/\(name)", size: isFile ? attributes[.size] as? Int ?? 0 : -1)
  }
  return try #require(sized.max { $0.size < $1.size }).path
}

/// Changes a bit in the middle of a file.
func flipOneBit(in path: String) throws {
  let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
  let middle = try file.seekToEnd() / 2
  try file.seek(toOffset: middle)
  let byte = try #require(try file.read(upToCount: 1)?.first)
  try file.seek(toOffset: middle)
  try file.write(contentsOf: Data([byte ^ 0x10]))
  try file.close()
}
