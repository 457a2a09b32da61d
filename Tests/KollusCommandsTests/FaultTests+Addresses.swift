import Foundation
import JSONKit
import KollusTestSupport
import Testing

extension FaultTests {
  /// Mirrors, signed addresses and redirects.
  @Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct Addresses {
    @Test(arguments: FaultTests.digests, [false, true])
    func `a mirror that dies half way is followed by the next one`(
      _ digests: Digests, atOnce: Bool
    ) async throws {
      let bench = try FaultBench(digests, mebibytes: 16)
      let content = bench.content
      let second = try ScriptedServer(content.handler)
      let half = bench.size / 2
      let first = try ScriptedServer { request in
        let sound = content.handler(request)
        guard let start = request.range?.resolved(in: content.bytes.count)?.lowerBound else {
          return sound.cut(after: atOnce ? 0 : half)
        }
        return sound.cut(after: atOnce ? 0 : max(0, half - start))
      }
      try bench.site.publish(content.with { $0.urls = ["\(first.url)/a.mp4", "\(second.url)/b.mp4"] })
      (try await bench.download("--connections", "2")).outcome.expect(0)
      let sent = first.bodyBytes(under: "/") + second.bodyBytes(under: "/")
      #expect(sent <= bench.allowance(connections: 2))
      #expect(second.bodyBytes(under: "/") > 0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `a mirror where nobody listens is passed over`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      let dead = "http://127.0.0.1:\(try unusedPort())/a.mp4"
      let alive = bench.site.mediaURL(of: bench.mck)
      try bench.site.publish(bench.content.with { $0.urls = [dead, alive] })
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test func `a mirror with another object is passed over when digests tell`() async throws {
      let bench = try FaultBench(.segments)
      let stranger = try ScriptedServer(bench.changed().handler)
      defer { withExtendedLifetime(stranger) {} }
      let own = bench.site.mediaURL(of: bench.mck)
      try bench.site.publish(bench.content.with { $0.urls = ["\(stranger.url)/a.mp4", own] })
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test(arguments: FaultTests.digests)
    func `a signed address that runs out is resolved again`(_ digests: Digests) async throws {
      let bench = try FaultBench(digests)
      let site = bench.site
      let content = bench.content
      let signatures = Protected((last: 0, left: [String: Int]()))
      let address = site.mediaURL(of: bench.mck)
      site.answerManifest(of: bench.mck) { _ in
        let number = signatures.withLock { state in
          state.last += 1
          state.left["\(state.last)"] = 3 << 20
          return state.last
        }
        let text = content.with { $0.urls = ["\(address)?signature=\(number)"] }.manifest(mediaURL: "")
        return Answer(200, text: text, type: "application/json")
      }
      bench.spoil { request, sound in
        let signature = request.target.split(separator: "=").last.map(String.init) ?? ""
        let left = signatures.withLock { state in
          let left = state.left[signature] ?? 0
          state.left[signature] = max(0, left - sound.body.count)
          return left
        }
        guard left > 0 else { return Answer(403, text: "expired") }
        return sound.body.count > left ? sound.cut(after: left) : sound
      }
      let run = try await bench.download("--connections", "2")
      run.outcome.expect(0)
      #expect(site.manifestExchanges.count >= 3)
      #expect(bench.mediaBytes <= bench.allowance(connections: 2))
      #expect(
        !(run.outcome.standardOutput + run.outcome.standardError).contains("signature="), "a token is shown")
      try await bench.expectExported()
    }

    @Test(arguments: [302, 307])
    func `a media redirect is followed`(_ status: Int) async throws {
      let bench = try FaultBench(.segments)
      bench.site.answer("/elsewhere.mp4", with: bench.content.handler)
      bench.spoil { _, _ in Answer(status).with("Location", "/elsewhere.mp4") }
      (try await bench.download()).outcome.expect(0)
      try await bench.expectExported()
    }

    @Test func `a redirect that never ends is given up`() async throws {
      let bench = try FaultBench(.segments)
      let path = bench.site.mediaPath(of: bench.mck)
      bench.spoil { request, _ in Answer(302).with("Location", "\(path)?n=\(request.earlier)") }
      (try await bench.download("--connections", "1")).outcome.expect(69, 75)
      #expect(bench.mediaRequests < 200)
      try await bench.expectHealed()
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/a.mp4", "gopher://127.0.0.1/"])
    func `a redirect to another scheme is refused`(_ location: String) async throws {
      let bench = try FaultBench(.none)
      bench.spoil { _, _ in Answer(302).with("Location", location) }
      (try await bench.download()).outcome.expect(65, 69, 75)
      try await bench.expectNotReady()
      try await bench.expectHealed()
    }
  }
}
