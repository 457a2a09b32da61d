import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import Testing

/// Renewals with a callback that is away, busy, cut off, or not to be believed.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RenewFaultTests {
  typealias Entry = DRMCallback.Entry

  // MARK: Lost answers

  @Test func `a lost answer is asked for again with the same session key, in the same run`() async throws {
    let stage = try await RenewStage.downloaded(3)
    stage.callback.answer { _ in .granted(plays: 5) }
    let count = Protected(0)
    stage.callback.override { _, answer in
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      return isFirst ? answer.cut(after: 0) : answer
    }
    let run = try await stage.renew("--all").expect(0)
    #expect(try run.notes() == ["retrying"])
    try expectKeys(stage, [0, 0])
    try await stage.renew("--all").expect(0)
    try expectKeys(stage, [0, 0, 1])
    try await stage.expectRenewed(plays: 5)
  }

  @Test(arguments: [0, 20])
  func `a lost answer is asked for again with the same session key, in the next run`(_ cut: Int) async throws
  {
    let stage = try await RenewStage.downloaded(3, ["retries": "0"])
    stage.callback.answer { _ in .granted(plays: 5) }
    stage.callback.override { _, answer in answer.cut(after: cut) }
    for _ in 0..<2 {
      let run = try await stage.renew("--all").expect(75)
      #expect(run.items.allSatisfy { $0.code <= -9000 && !$0.isRenewed })
    }
    let plays = try await stage.plays()
    #expect(plays.values.allSatisfy { $0 == 3 })
    stage.callback.override(nil)
    // Whichever way the content is asked for next.
    try await stage.renew(stage.keys[0]).expect(0)
    try await stage.renew("--only-failed").expect(0)
    try expectKeys(stage, [0, 0, 0])
    try await stage.renew("--all").expect(0)
    try expectKeys(stage, [0, 0, 0, 1])
  }

  @Test func `an answer that came has used its session key up, whatever it said`() async throws {
    let stage = try await RenewStage.downloaded(1)
    stage.callback.answer { $0.earlier == 0 ? Entry(["result": "0"]) : .missing }
    try await stage.renew("--all").expect(77)
    try await stage.renew("--all").expect(65)
    try await stage.renew("--all").expect(65)
    try expectKeys(stage, [0, 1, 2])
  }

  /// The session keys of each content's renewals, where equal numbers mean equal keys.
  private func expectKeys(
    _ stage: RenewStage, _ wanted: [Int], at location: SourceLocation = #_sourceLocation
  ) throws {
    var firsts: Set<String> = []
    for key in stage.keys {
      let keys = stage.sessionKeys(of: key).map { $0 ?? "" }
      var known: [String] = []
      for key in keys where !known.contains(key) { known.append(key) }
      #expect(keys.map { known.firstIndex(of: $0) } == wanted, "\(keys)", sourceLocation: location)
      firsts.insert(try #require(known.first))
    }
    #expect(firsts.count == stage.keys.count, "contents share a session key", sourceLocation: location)
  }

  // MARK: A server that reads the first item only

  /// Answers the first item of each request with this many plays, and leaves the others out.
  private static func firstOnly(_ request: ServedRequest, plays: Int) throws -> Answer {
    let form = String(decoding: request.body, as: UTF8.self).dropFirst(6)
    let items = Array(try JSON(parsing: form.removingPercentEncoding ?? "").elements)
    let item = try #require(items.first)
    let (key, session) = (try item.string("media_content_key") ?? "", try item.string("session_key") ?? "")
    return DRMCallback.answer(
      payload: """
        {"data":[{"kind":3,"media_content_key":\(key.jsonQuoted),"session_key":\(session.jsonQuoted),\
        "result":1,"content_expire_reset":1,"expiration_count":\(plays)}]}
        """)
  }

  @Test func `items that such a server has not read are asked for one by one`() async throws {
    let stage = try await RenewStage.downloaded(25)
    stage.callback.override { request, answer in
      // A fault of the request is the test's own, and shows as a wrong answer.
      (try? Self.firstOnly(request, plays: 5)) ?? answer
    }
    let run = try await stage.renew("--all").expect(0)
    #expect(run.keys == stage.keys && run.items.allSatisfy(\.isRenewed))
    let sizes = try RenewStage.requests(to: stage.callback).map(\.count)
    #expect(sizes.filter { $0 > 1 }.sorted() == [5, 10, 10])
    #expect(sizes.count { $0 == 1 } == 22)
    let updates = try run.named("drmUpdate").map { try $0.integer("cur") }
    #expect(updates == (1...25).map { Int64($0) })
    #expect(try run.named("drmRequest").count == 25)
    for key in stage.keys { #expect(Set(stage.sessionKeys(of: key)).count == 1, "\(key)") }
    stage.callback.override(nil)
    try await stage.expectRenewed(plays: 5)
    let again = stage.asked.count
    stage.callback.answer { _ in .granted(plays: 6) }
    try await stage.renew("--all").expect(0)
    #expect(stage.asked.count == again + 25, "a good server is asked in tens")
  }

  @Test func `of two items the one without an answer fails, and each fault among single ones is its own`()
    async throws
  {
    let stage = try await RenewStage.downloaded(5)
    stage.callback.override { request, answer in (try? Self.firstOnly(request, plays: 5)) ?? answer }
    let two = try await stage.renew(stage.keys[0], stage.keys[1]).expect(1)
    #expect(two.codes == [stage.keys[0]: 0, stage.keys[1]: -8682])
    #expect(try RenewStage.requests(to: stage.callback).map(\.count) == [2])
    let bad = stage.keys[3]
    stage.callback.override { request, answer in
      let isBad = String(decoding: request.body, as: UTF8.self).prefix(400).contains(bad)
      return isBad ? Answer(404) : (try? Self.firstOnly(request, plays: 6)) ?? answer
    }
    let run = try await stage.renew("--all").expect(1)
    #expect(run.codes.filter { $0.value != 0 } == [bad: -9404])
    #expect(run.items.count == 5)
  }

  // MARK: A busy server

  @Test func `a short Retry-After is waited for`() async throws {
    let stage = try await RenewStage.downloaded(3)
    stage.callback.answer { _ in .granted(plays: 5) }
    let count = Protected(0)
    stage.callback.override { _, answer in
      count.withLock { count in
        count += 1
        return count == 1
      } ? Answer(503).retryAfter("2") : answer
    }
    let begin = stage.callback.server.exchanges.count
    let run = try await stage.renew("--all").expect(0)
    #expect(try run.notes() == ["waiting"])
    let times = stage.callback.server.exchanges.dropFirst(begin).map(\.at)
    #expect(times.count == 2)
    if times.count == 2 { #expect(times[1] - times[0] >= .milliseconds(1_990)) }
    try await stage.expectRenewed(plays: 5)
  }

  @Test func `a long Retry-After ends the run and holds for the next ones`() async throws {
    let stage = try await RenewStage.downloaded(3)
    stage.callback.answer { _ in .granted(plays: 5) }
    stage.callback.override { _, _ in Answer(503).retryAfter("3600") }
    let first = try await stage.renew("--all").expect(75)
    #expect(first.items.allSatisfy { $0.code == -9503 && $0.message.contains("not to be called before 20") })
    let count = stage.callback.items.count
    stage.callback.override(nil)
    for words in [["--all"], ["--only-failed"], stage.keys] {
      let run = await stage.run(["renew"] + words).expect(75)
      #expect(run.errors.contains("not to be called before 20"))
      let quiet = await stage.run(["renew", "--quiet"] + words).expect(75)
      #expect(quiet.output.isEmpty && quiet.errors.isEmpty)
    }
    #expect(stage.callback.items.count == count, "asked earlier than told")
    #expect(try await stage.plays().values.allSatisfy { $0 == 3 })
    var later = stage
    later.stage.later = 3_700
    try await later.renew("--all").expect(0)
    try expectKeys(stage, [0, 0])
    try await later.expectRenewed(plays: 5)
  }

  @Test func `a long Retry-After stops the whole run, whatever other requests were answered`() async throws {
    let stage = try await RenewStage.downloaded(200, ["timeout": "\"30s\""])
    stage.callback.answer { _ in .granted(plays: 5) }
    let count = Protected(0)
    let begin = stage.callback.server.exchanges.count
    // The first of eight requests in flight is refused, and the others are answered after that.
    stage.callback.override { _, answer in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 { return Answer(429).retryAfter("3600") }
      return answer.delayed(by: .milliseconds(100))
    }
    let run = try await stage.renew("--all").expect(1)
    #expect(run.items.count == 200)
    let requests = stage.callback.server.exchanges.count - begin
    #expect((2...8).contains(requests), "\(requests) requests")
    let renewed = run.items.count(where: \.isRenewed)
    #expect(renewed == 10 * (requests - 1))
  }

  @Test func `one request that is refused does not stop the others`() async throws {
    let stage = try await RenewStage.downloaded(60, ["retries": "0"])
    stage.callback.answer { _ in .granted(plays: 5) }
    let bad = stage.keys[25]
    stage.callback.override { request, answer in
      String(decoding: request.body, as: UTF8.self).contains(bad) ? Answer(503) : answer
    }
    let run = try await stage.renew("--all").expect(1)
    let failed = run.items.filter { $0.code != 0 }
    #expect(failed.count == 10 && failed.allSatisfy { $0.code == -9503 })
    stage.callback.override(nil)
    let count = stage.asked.count
    try await stage.renew("--all").expect(0)
    #expect(stage.asked(since: count) == failed.map(\.key).sorted())
    try await stage.expectRenewed(plays: 5)
  }

  // MARK: Nobody there

  @Test func `without a network it ends soon, and quietly`() async throws {
    let stage = try await RenewStage.downloaded(200)
    let before = try await stage.listed().mapValues(\.rawText)
    stage.callback.server.stop()
    let held = try HeldPort(stage.callback.server.port)
    defer { withExtendedLifetime(held) {} }
    let start = ContinuousClock.now
    let quiet = await stage.run("renew", "--all", "--quiet").expect(75)
    #expect(quiet.output.isEmpty && quiet.errors.isEmpty)
    let run = try await stage.renew("--all").expect(75)
    #expect(run.keys == stage.keys && run.items.allSatisfy { $0.code == -9007 })
    #expect(ContinuousClock.now - start < .seconds(30))
    #expect(try await stage.listed().mapValues(\.rawText) == before)
    await stage.run(["play-check"] + stage.keys).expect(0)
  }

  @Test func `a callback that never answers is given up after a few requests`() async throws {
    let stage = try await RenewStage.downloaded(200, ["timeout": "\"1s\"", "retries": "0"])
    stage.callback.override { _, answer in answer.stalled(after: 0) }
    let start = ContinuousClock.now
    let run = try await stage.renew("--all").expect(75)
    #expect(run.keys == stage.keys)
    #expect(ContinuousClock.now - start < .seconds(15))
    let requests = try RenewStage.requests(to: stage.callback).count
    #expect(requests <= 16, "\(requests) requests of 20")
  }

  // MARK: Answers that are none

  private static let granted = """
    {"data":[{"kind":3,"media_content_key":"k000","result":1,"expiration_count":9}]}
    """

  /// What the callback answers in place of a renewal, the code and the exit status it comes to.
  struct Lie: Sendable, CustomTestStringConvertible {
    let name: String
    let answer: Answer
    let code: Int
    let status: Int32
    /// What is said of it.
    var words = ""

    var testDescription: String { name }

    static let all = [
      Lie(name: "redirect", answer: Answer(302).with("Location", "/cb/drm"), code: -9302, status: 69),
      Lie(name: "not found", answer: Answer(404), code: -9404, status: 69),
      Lie(
        name: "HTML", answer: Answer(200, text: "<html>Sign in</html>").with("X-Kollus-UserKey", "demo"),
        code: -8634, status: 65, words: "is a web page"),
      Lie(
        name: "compressed",
        answer: Answer(200, [0x1f, 0x8b, 8, 0]).with("X-Kollus-UserKey", "demo").with(
          "Content-Encoding", "gzip"),
        code: -8634, status: 65, words: "is compressed"),
      Lie(
        name: "unsigned", answer: signed(header: #"{"alg":"HS256"}"#, signature: ""), code: -8634, status: 65,
        words: "it is not signed"),
      Lie(
        name: "too many entries",
        answer: DRMCallback.answer(
          payload: "{\"data\":[\(Array(repeating: "1", count: 111).joined(separator: ","))]}"),
        code: -8635, status: 65, words: "far more entries than were asked for"),
      Lie(
        name: "alg none", answer: signed(header: #"{"alg":"none"}"#, signature: ""), code: -8634, status: 65,
        words: "'none', not HS256"),
      Lie(
        name: "another key", answer: DRMCallback.answer(payload: granted, key: "other"), code: -8634,
        status: 65
      ),
      Lie(
        name: "no header", answer: DRMCallback.answer(payload: granted, customKey: nil), code: -8634,
        status: 65
      ),
      Lie(
        name: "unknown custom key", answer: DRMCallback.answer(payload: granted, customKey: "nobody"),
        code: -8634, status: 78),
      Lie(
        name: "empty", answer: Answer(200, text: " \n").with("X-Kollus-UserKey", "demo"), code: -8651,
        status: 65
      ),
      Lie(name: "no JSON", answer: DRMCallback.answer(payload: "{\"data\":"), code: -8635, status: 65),
      Lie(name: "no data", answer: DRMCallback.answer(payload: "{}"), code: -8635, status: 65),
      Lie(name: "no entry", answer: DRMCallback.answer(payload: "{\"data\":[]}"), code: -8682, status: 65),
      Lie(
        name: "huge",
        answer: DRMCallback.answer(payload: "{\"data\":[\"\(String(repeating: "x", count: 2 << 20))\"]}"),
        code: -8634, status: 65),
    ]

    private static func signed(header: String, signature: String) -> Answer {
      let parts = [header, granted].map {
        Data($0.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
          .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      }
      return Answer(200, text: "\(parts[0]).\(parts[1]).\(signature)").with("X-Kollus-UserKey", "demo")
    }
  }

  @Test(arguments: Lie.all) func `an answer that is none changes nothing`(_ lie: Lie) async throws {
    let stage = try await RenewStage.downloaded(1)
    let before = try await stage.listed().mapValues(\.rawText)
    let begin = stage.callback.server.exchanges.count
    stage.callback.override { _, _ in lie.answer }
    let run = try await stage.renew("--all").expect(lie.status)
    #expect(run.items.map(\.code) == [lie.code], "\(run.items)")
    #expect(lie.words.isEmpty || run.items.first?.message.contains(lie.words) == true, "\(run.items)")
    #expect(stage.callback.server.exchanges.count == begin + 1, "asked twice")
    #expect(try await stage.listed().mapValues(\.rawText) == before)
    await stage.run("play-check", "k000").expect(0)
    stage.callback.override(nil)
    stage.callback.answer { _ in .granted(plays: 5) }
    try await stage.renew("--all").expect(0)
    try await stage.expectRenewed(plays: 5)
  }

  @Test func `without any security key nothing is asked`() async throws {
    let stage = try await RenewStage.downloaded(2)
    try stage.tool.configure(["origin": stage.site.url.jsonQuoted])
    let run = try await stage.renew("--all").expect(78)
    #expect(run.keys == stage.keys)
    #expect(run.failures.allSatisfy { $0.rawText.contains("'keys'") })
    #expect(stage.asked.isEmpty)
    try stage.tool.configure(
      try DRMCallback.settings().merging(["origin": stage.site.url.jsonQuoted]) { $1 })
    stage.callback.answer { _ in .granted(plays: 5) }
    try await stage.renew("--all").expect(0)
    try await stage.expectRenewed(plays: 5)
  }
}
