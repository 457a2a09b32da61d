import Foundation
import KollusTestSupport
import Testing

extension FaultTests {
  /// Answers that are not what was asked for.
  @Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct Answers {
    @Test(arguments: FaultTests.digests, [false, true])
    func `P04 a server that knows no ranges gives the right file`(
      _ digests: Digests, resuming: Bool
    ) async throws {
      let bench = try FaultBench(digests)
      if resuming { _ = try await bench.killedDownload() }
      let bytes = bench.content.bytes
      bench.site.answerMedia(of: bench.mck) { _ in
        Answer(200, bytes[...], type: "video/mp4").with("ETag", "\"v1\"")
      }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests, [false, true])
    func `P05 a 206 that starts at 0 whatever is asked gives the right file`(
      _ digests: Digests, resuming: Bool
    ) async throws {
      let bench = try FaultBench(digests)
      if resuming { _ = try await bench.killedDownload() }
      let bytes = bench.content.bytes
      bench.site.answerMedia(of: bench.mck) { request in
        let whole = Answer(200, bytes[...], type: "video/mp4").with("ETag", "\"v1\"")
        guard let range = request.range?.resolved(in: bytes.count) else { return whole }
        return whole.part(0..<range.count, of: bytes.count)
      }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test func `P05 a 206 that says what was asked but holds the start is never taken`() async throws {
      let bench = try FaultBench(.segments)
      let bytes = bench.content.bytes
      bench.site.answerMedia(of: bench.mck) { request in
        let whole = Answer(200, bytes[...], type: "video/mp4").with("ETag", "\"v1\"")
        guard let range = request.range?.resolved(in: bytes.count) else { return whole }
        return whole.part(0..<range.count, of: bytes.count, claiming: range)
      }
      let run = try await bench.download()
      run.outcome.expect(0, 65)
      if run.outcome.status == 0 {
        try await bench.expectExported()
      } else {
        try await bench.expectNotReady()
      }
      try await bench.expectHealed()
    }

    @Test(arguments: [false, true]) func `P02 a 206 that drops its tag is never joined`(_ resuming: Bool)
      async throws
    {
      let bench = try FaultBench(.none)
      if resuming { _ = try await bench.killedDownload() }
      let (sound, changed) = (bench.content.handler, bench.changed().with { $0.etag = nil }.handler)
      let start = bench.mediaRequests
      bench.site.answerMedia(of: bench.mck) { request in
        // The range is answered, the condition ignored, and the other object has no tag.
        bench.mediaRequests - start <= 2 && !resuming ? sound(request) : changed(request.without("if-range"))
      }
      let run = try await bench.download()
      if run.outcome.status == 0 {
        try await bench.expectExported(bench.changed().bytes)
      } else {
        try await bench.expectNotReady()
      }
    }

    @Test(arguments: FaultTests.digests)
    func `P17 bytes past the answer's own range are not taken`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      let bytes = bench.content.bytes
      let other = randomBytes(bytes.count, seed: 77)
      bench.site.answerMedia(of: bench.mck) { request in
        guard let range = request.range?.resolved(in: bytes.count), request.earlier < 6 else {
          return bench.content.handler(request)
        }
        let end = min(range.lowerBound + 200_000, range.upperBound)
        let body = Array(bytes[range.lowerBound..<end]) + other[end..<range.upperBound]
        return Answer(206, body[...], type: "video/mp4").with("ETag", "\"v1\"")
          .with("Content-Range", "bytes \(range.lowerBound)-\(end - 1)/\(bytes.count)")
      }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: [Answer.Framing.chunked, .untilClose], [false, true])
    func `P03 a longer object without a length is never cut to size`(
      _ framing: Answer.Framing, isSmall: Bool
    ) async throws {
      let bench = try FaultBench(.none, mebibytes: isSmall ? 1 : 8)
      let longer = bench.changed(longer: 70_000).bytes
      bench.site.answerMedia(of: bench.mck) { _ in
        Answer(200, longer[...], type: "video/mp4").framed(framing)
      }
      (try await bench.download()).outcome.expect(65, 75)
      try await bench.expectNotReady()
      (try await bench.download()).outcome.expect(65, 75)
      try await bench.expectNotReady()
      let right = bench.content.bytes
      bench.site.answerMedia(of: bench.mck) { _ in
        Answer(200, right[...], type: "video/mp4").framed(framing)
      }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `P07 a line that is cut again and again brings a segment in pieces`(_ digests: Digests) async throws
    {
      let bench = try FaultBench(digests, mebibytes: 2)
      let content = bench.content.with { $0.segmentSize = 2 << 20 }
      try bench.site.publish(content)
      bench.spoil(content) { _, sound in sound.cut(after: 300_000) }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
      #expect(bench.mediaBytes <= bench.size + 8 * (128 << 10))
    }

    @Test(arguments: [Digests.none, .file, .segments])
    func `a new tag with every answer is no reason to fail`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      bench.spoil { request, sound in sound.with("ETag", "\"v\(request.earlier)\"") }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
      #expect(bench.mediaBytes <= 4 * bench.size)
    }

    @Test func `a whole digest that does not fit sends the download to the next mirror`() async throws {
      let bench = try FaultBench(.file)
      let other = try ScriptedServer(bench.changed().handler)
      let own = bench.site.mediaURL(of: bench.mck)
      try bench.site.publish(bench.content.with { $0.urls = ["\(other.url)/wrong", own] })
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `P07 a body cut short once goes on from the cut`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      bench.spoil { request, sound in request.earlier == 0 ? sound.cut(after: 300_000) : sound }
      (try await bench.download("--connections", "2")).outcome.expect(0)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests, BodyEnd.allCases)
    func `P08 a body without a length that ends early is no success`(
      _ digests: Digests, end: BodyEnd
    ) async throws {
      let bench = try FaultBench(digests)
      let limit = bench.size / 2
      bench.spoil { request, sound in
        let start = request.range?.resolved(in: 8 << 20)?.lowerBound ?? 0
        return end.framed(sound).cut(after: max(0, limit - start))
      }
      let first = try await bench.download("--connections", "2")
      first.outcome.expect(75)
      try await bench.expectNotReady()
      // Sound answers framed the same way: the end of the connection alone ends them.
      bench.spoil { _, sound in end.framed(sound) }
      let second = try await bench.download("--connections", "2")
      second.outcome.expect(0)
      expectNoStepBack(first, second, mck: bench.mck)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests, [200, 206])
    func `P10 a page in place of the media is refused`(_ digests: Digests, status: Int) async throws {
      let bench = try FaultBench(digests)
      let page = Array("<!DOCTYPE html><html><body>Please log in</body></html>".utf8)
      bench.spoil { _, sound in
        guard status == 206 else { return Answer(200, page[...], type: "text/html; charset=utf-8") }
        // As long as the media, so that only the type tells.
        return sound.with("Content-Type", "text/html").with("ETag", nil)
      }
      (try await bench.download()).outcome.expect(65, 69, 75)
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }

    @Test func `P10 a page that calls itself media and has its size is refused by its digest`() async throws {
      let bench = try FaultBench(.segments)
      let page = Array("<html>".utf8) + [UInt8](repeating: 32, count: bench.size - 6)
      bench.site.answerMedia(of: bench.mck, with: ScriptedServer.object(page))
      (try await bench.download()).outcome.expect(65)
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }

    @Test(arguments: FaultTests.digests)
    func `P17 a 206 shorter than asked is followed by a request for the rest`(_ digests: Digests) async throws
    {
      let bench = try FaultBench(digests)
      let bytes = bench.content.bytes
      bench.spoil { request, sound in
        guard let range = request.range?.resolved(in: bytes.count), range.count > 200_000 else {
          return sound
        }
        let whole = Answer(200, bytes[...], type: "video/mp4").with("ETag", "\"v1\"")
        return whole.part(range.lowerBound..<range.lowerBound + range.count / 2, of: bytes.count)
      }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `an object that changes in mid-run never becomes a mixture`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      let changed = bench.changed()
      let (old, new) = (bench.content.handler, changed.handler)
      let site = bench.site
      site.answerMedia(of: bench.mck) { request in
        if request.earlier < 4 { return old(request).cut(after: 300_000) }
        // Ignores If-Range: it answers 206 with the new validator.
        return new(request.without("if-range"))
      }
      let path = site.mediaPath(of: bench.mck)
      let manifests = [bench.content, changed].map { $0.manifest(mediaURL: site.url + path) }
      let requests = Protected(0)
      site.answerManifest(of: bench.mck) { _ in
        let isFirst = requests.withLock { count in
          count += 1
          return count == 1
        }
        return Answer(200, text: manifests[isFirst ? 0 : 1], type: "application/json")
      }
      let run = try await bench.download()
      run.outcome.expect(0)
      #expect(run.notes(of: bench.mck).contains("restarted"), "\(run.names)")
      try await bench.expectExported(changed.bytes)
    }

    @Test func `an object that changes in mid-run under its old digests is refused`() async throws {
      let bench = try FaultBench(.segments)
      let (old, new) = (bench.content.handler, bench.changed().handler)
      bench.site.answerMedia(of: bench.mck) { request in
        request.earlier < 4 ? old(request).cut(after: 300_000) : new(request.without("if-range"))
      }
      (try await bench.download()).outcome.expect(65)
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }
  }
}

/// How a body without a length ends.
enum BodyEnd: CaseIterable {
  case close, chunks

  func framed(_ answer: Answer) -> Answer { answer.framed(self == .chunks ? .chunked : .untilClose) }
}
