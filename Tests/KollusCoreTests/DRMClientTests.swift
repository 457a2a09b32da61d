import CurlKit
import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import SystemKit
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct DRMClientTests {
  static let securityKey = "demo-security-key"
  let engine: TransferEngine

  init() throws { engine = try TransferEngine() }

  static func item(_ key: String = "AbCd1234", _ kind: DRMItem.Kind = .download) -> DRMItem {
    var item = DRMItem(
      kind: kind, mediaContentKey: key, clientUserID: "learner 17", playerID: "p", deviceName: "d/한",
      userValues: "{}", localTime: 1)
    if kind == .play { item.sessionKey = "s-\(key)" }
    return item
  }

  static func signed(_ payload: String, _ key: String = securityKey) -> String {
    JSONWebToken.signed(payload: payload, key: SymmetricKey(bytes: Array(key.utf8)))
  }

  static func answer(_ payload: String) -> Answer {
    Answer(200, text: signed(payload)).with("X-Kollus-UserKey", "custom")
  }

  static let allowed = #"{"kind":1,"media_content_key":"AbCd1234","result":1}"#

  static func settings(retries: Int = 0) throws -> Settings {
    var settings = Settings()
    settings.retries = retries
    settings.timeout = TimeSpan(seconds: 20)
    let path = "\(TemporaryDirectory.path)/key"
    try Data(securityKey.utf8).write(to: URL(fileURLWithPath: path))
    settings.keys = ["custom": path]
    return settings
  }

  func ask(
    _ url: String, _ settings: Settings, _ items: [DRMItem] = [item()],
    noting: @Sendable (Note, String) -> Void = { _, _ in }
  ) async throws -> DRMReply {
    let client = DRMClient(engine: engine, settings: settings, keys: SecurityKeys(settings))
    return try await client.ask(items, at: CoreStage.address(url), waiting: noting)
  }

  func ask(
    _ answer: Answer, _ items: [DRMItem] = [item()], retries: Int = 0
  ) async throws -> DRMReply {
    let server = try ScriptedServer { _ in answer }
    return try await ask("\(server.url)/cb", Self.settings(retries: retries), items)
  }

  /// The failure of the whole request that an answer is.
  func failure(_ answer: Answer, retries: Int = 3) async throws -> KollusError? {
    let server = try ScriptedServer { _ in answer }
    let error = await #expect(throws: KollusError.self) {
      _ = try await ask("\(server.url)/cb", Self.settings(retries: retries))
    }
    #expect(server.exchanges.count == 1, "trying again does not help")
    return error
  }

  func unanswered(_ answer: Answer, retries: Int = 0) async throws -> DRMClient.Unanswered? {
    await #expect(throws: DRMClient.Unanswered.self) { _ = try await ask(answer, retries: retries) }
  }

  @Test func `a request is one form field that holds all items`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Self.answer(#"{"data":[\#(Self.allowed)]}"#) }
    let items = [Self.item(), Self.item("a&b=c +%한", .play)]
    _ = try await ask("\(server.url)/cb?x=1", Self.settings(), items)
    let request = try #require(server.exchanges.first?.request)
    #expect(request.method == "POST")
    #expect(request.target == "/cb?x=1")
    #expect(request.headers["content-type"] == "application/x-www-form-urlencoded; charset=UTF-8")
    #expect(request.headers["accept"] == "*/*")
    #expect(request.headers["accept-encoding"] == "identity")
    #expect(request.headers["expect"] == nil)
    let body = String(decoding: request.body, as: UTF8.self)
    #expect(body.hasPrefix("items=%5B%7B%22kind%22%3A1%2C") && body.contains("learner%2017"))
    #expect(body.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2B } && !body.contains("&"))
    var writer = JSONWriter()
    writer.beginArray()
    for item in items { item.write(to: &writer) }
    writer.endArray()
    #expect(body.dropFirst(6).removingPercentEncoding == writer.text)
  }

  @Test func `a request of many items is not announced`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Self.answer(#"{"data":[]}"#) }
    let items = (0..<3_000).map { Self.item("key-\($0)") }
    let reply = try await ask(server.url, Self.settings(), items)
    #expect(reply.results.count == 3_000)
    let request = try #require(server.exchanges.first?.request)
    #expect(request.body.count > 512 << 10)
    #expect(request.headers["expect"] == nil)
  }

  @Test func `without a key nothing is sent`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(500) }
    let error = await #expect(throws: KollusError.self) { _ = try await ask(server.url, Settings()) }
    #expect(error?.kind == .configuration && error?.code == -8_634)
    #expect(error?.hint?.contains("'keys'") == true)
    #expect(server.exchanges.isEmpty)
  }

  @Test func `plain http to another machine is not called`() async throws {
    defer { engine.stop() }
    let error = await #expect(throws: KollusError.self) {
      _ = try await ask("http://callback.invalid/cb", Self.settings())
    }
    #expect(error?.kind == .refused && error?.code == -8_637)
  }

  @Test(arguments: [201, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 410, 422, 499])
  func `another status is a refusal and no redirect is followed`(_ status: Int) async throws {
    defer { engine.stop() }
    let body = Self.signed(#"{"data":[\#(Self.allowed)]}"#)
    let answer = Answer(status, text: body).with("X-Kollus-UserKey", "custom").with("Location", "/elsewhere")
    let error = try await failure(answer)
    #expect(error?.kind == .refused && error?.code == -9_000 - status)
  }

  @Test(arguments: [408, 425, 429, 500, 501, 503, 599])
  func `a busy server leaves the question open`(_ status: Int) async throws {
    defer { engine.stop() }
    let page = Answer(status, [UInt8](repeating: 0x20, count: 2 << 20)[...], type: "text/html")
    let unanswered = try await unanswered(page)
    #expect(unanswered?.error.kind == .tryLater && unanswered?.error.code == -9_000 - status)
    #expect(unanswered?.notBefore == nil)
  }

  @Test func `the same bytes are sent again until an answer comes`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { request in
      switch request.earlier {
      case 0: Answer(503)
      case 1: Self.answer(#"{"data":[]}"#).cut(after: 10)
      default: Self.answer(#"{"data":[{"kind":3,"media_content_key":"k","result":1}]}"#)
      }
    }
    let notes = KollusTestSupport.Protected<[Note]>([])
    let reply = try await ask(server.url, Self.settings(retries: 2), [Self.item("k", .play)]) {
      note, message in
      #expect(message.contains("trying again in"))
      notes.withLock { $0.append(note) }
    }
    #expect(try reply.results[0].get().isAllowed)
    #expect(notes.withLock { $0 } == [.retrying, .retrying])
    #expect(server.exchanges.count == 3)
    #expect(Set(server.exchanges.map(\.request.body)).count == 1)
  }

  @Test func `tries come to an end`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(500) }
    let error = await #expect(throws: DRMClient.Unanswered.self) {
      _ = try await ask(server.url, Self.settings(retries: 1))
    }
    #expect(error?.error.code == -9_500 && server.exchanges.count == 2)
  }

  @Test func `a short Retry-After is waited for`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { request in
      request.earlier == 0 ? Answer(429).retryAfter("1") : Self.answer(#"{"data":[\#(Self.allowed)]}"#)
    }
    let notes = KollusTestSupport.Protected<[Note]>([])
    let reply = try await ask(server.url, Self.settings(retries: 1)) { note, _ in
      notes.withLock { $0.append(note) }
    }
    #expect(try reply.results[0].get().isAllowed)
    #expect(notes.withLock { $0 } == [.waiting])
    let times = server.exchanges.map(\.at)
    #expect(times[1] - times[0] >= .milliseconds(950))
  }

  @Test(arguments: [("3600", 3_600.0), ("99999999999999999999", 2_592_000.0)])
  func `a long Retry-After ends the tries and is told`(_ header: String, _ seconds: Double) async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(503).retryAfter(header) }
    let now = WallClock.now()
    let unanswered = await #expect(throws: DRMClient.Unanswered.self) {
      _ = try await ask(server.url, Self.settings(retries: 3))
    }
    let notBefore = try #require(unanswered?.notBefore)
    #expect((now + seconds...now + seconds + 20).contains(notBefore))
    #expect(unanswered?.error.code == -9_503 && unanswered?.error.kind == .tryLater)
    let date = WallClock.text(Int64(notBefore.rounded(.up)))
    #expect(unanswered?.error.message.hasSuffix("asked not to be called before \(date)") == true)
    #expect(server.exchanges.count == 1)
  }

  @Test func `a Retry-After that has passed means nothing`() async throws {
    defer { engine.stop() }
    let unanswered = try await unanswered(Answer(503).retryAfter("Sun, 06 Nov 1994 08:49:37 GMT"))
    #expect(unanswered != nil && unanswered?.notBefore == nil)
  }

  @Test func `a slow answer is waited for, a stalled one is not`() async throws {
    defer { engine.stop() }
    let good = Self.answer(#"{"data":[\#(Self.allowed)]}"#)
    #expect(try await ask(good.delayed(by: .milliseconds(300))).results[0].get().isAllowed)
    #expect(try await ask(good.throttled(to: 400)).results[0].get().isAllowed)
    let server = try ScriptedServer { _ in good.stalled(after: 10) }
    var settings = try Self.settings()
    settings.timeout = TimeSpan(seconds: 1)
    let error = await #expect(throws: DRMClient.Unanswered.self) { _ = try await ask(server.url, settings) }
    #expect(error?.error.code == -9_028)
  }

  @Test func `a cut answer and a closed port leave the question open`() async throws {
    defer { engine.stop() }
    let cut = Self.answer(#"{"data":[\#(Self.allowed)]}"#).cut(after: 10)
    #expect(try await unanswered(cut)?.error.code == -9_018)
    let server = try ScriptedServer { _ in Answer(500) }
    server.stop()
    let error = await #expect(throws: DRMClient.Unanswered.self) {
      _ = try await ask(server.url, Self.settings())
    }
    #expect(error?.error.kind == .tryLater && error?.error.code == -9_007)
  }

  @Test func `a cancelled request ends at once`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Self.answer("{}").delayed(by: .seconds(50)) }
    let settings = try Self.settings()
    let asking = Task { try await ask(server.url, settings) }
    #expect(await eventually { !server.exchanges.isEmpty })
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await asking.value }
  }

  @Test func `a wait for the next try can be cancelled`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(503).retryAfter("100") }
    let settings = try Self.settings(retries: 1)
    let isWaiting = KollusTestSupport.Protected(false)
    let asking = Task { try await ask(server.url, settings) { _, _ in isWaiting.withLock { $0 = true } } }
    #expect(await eventually { isWaiting.withLock { $0 } })
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await asking.value }
  }

  @Test(
    .enabled(if: Nginx.isInstalled, "nginx is not installed"),
    .enabled(if: TestCertificate.isPossible, "openssl is not installed"))
  func `a certificate must be trusted`() async throws {
    defer { engine.stop() }
    let certificate = try await TestCertificate()
    let token = Self.signed(#"{"data":[\#(Self.allowed)]}"#)
    let nginx = try await Nginx(
      serving: TemporaryDirectory.path, with: certificate,
      "location = /cb { add_header X-Kollus-UserKey custom; return 200 \"\(token)\"; }")
    defer { withExtendedLifetime(nginx) {} }
    var settings = try Self.settings(retries: 3)
    let refusal = await #expect(throws: KollusError.self) { _ = try await ask("\(nginx.url)/cb", settings) }
    #expect(refusal?.kind == .refused && refusal?.code == -9_060)
    settings.caFile = "\(TemporaryDirectory.path)/missing.pem"
    let mistake = await #expect(throws: KollusError.self) { _ = try await ask("\(nginx.url)/cb", settings) }
    #expect(mistake?.kind == .configuration && mistake?.code == -9_077)
    settings.caFile = certificate.authorityPath
    let reply = try await ask("\(nginx.url)/cb", settings)
    #expect(try reply.results[0].get().isAllowed && reply.isTrusted)
    #expect(try #require(reply.date) > 1_600_000_000)
  }
}
