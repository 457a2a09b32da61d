import Foundation
import KollusTestSupport
import SQLiteKit
import Testing

@testable import KollusCore

/// The sender of stored reports against a receiver, with a clock moved by hand.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct ReportSenderTests {
  private static let start: Int64 = 1_800_000_000
  private static let day: Int64 = 86_400

  private let home: Home
  private let library: Library
  private let receiver: ScriptedServer
  private let clock = KollusTestSupport.Protected(Double(start))
  private let sink = RecordingSink()

  init() throws {
    home = try Home(opening: TemporaryDirectory.path + "/home", machineID: "machine")
    let clock = clock
    library = try Library(home) { clock.withLock { $0 } }
    receiver = try ScriptedServer { _ in Answer(200) }
  }

  private func pass(_ seconds: Int64) { clock.withLock { $0 += Double(seconds) } }

  private var now: Int64 { Int64(clock.withLock { $0 }) }

  private func report(_ viewing: Int64, _ number: Int, stream: Int64 = 0, url: String? = nil) -> Report {
    Report(
      viewing: viewing, stream: stream, mediaContentKey: "lecture/\(viewing)", clientUserID: "user",
      startAt: Self.start, playStatus: "play", url: url ?? "\(receiver.url)/lms", body: "\(viewing)-\(number)"
    )
  }

  private func sender(_ change: (inout Settings) -> Void = { _ in }) throws -> ReportSender {
    var settings = Settings()
    settings.timeout = TimeSpan(seconds: 2)
    change(&settings)
    return try ReportSender(library: library, settings: settings, sink: sink)
  }

  @discardableResult
  private func flush(background: Bool = false) async throws -> ReportSender.Tally {
    let sender = try sender()
    defer { sender.close() }
    return try await sender.flush(obeysBackoff: background)
  }

  private var received: [String] {
    receiver.exchanges.map { String(decoding: $0.request.body, as: UTF8.self) }
  }

  private func stored(_ id: Int64 = 1) async throws -> Report { try #require(try await library.report(id)) }

  private func tally(_ sent: Int, _ failed: Int, refusals: Bool = false) -> ReportSender.Tally {
    ReportSender.Tally(successCount: sent, failCount: failed, hasRefusals: refusals)
  }

  // MARK: Patience

  @Test func `backoff doubles to six hours, and only the background waits for it`() async throws {
    try await library.add([report(1, 0)], at: now)
    receiver.answer { _ in Answer(500) }
    for attempt in 0..<14 {
      #expect(try await flush(background: true) == tally(0, 1))
      let wait = try await stored().nextAt - now
      let base = min(6 * 3_600, 30 << attempt)
      #expect((base * 3 / 4 - 1...base * 5 / 4 + 1).contains(Int(wait)), "\(wait) s after \(attempt) tries")
      pass(wait - 1)
      #expect(try await flush(background: true) == tally(0, 0), "before its time")
      pass(1)
    }
    try await library.add([report(2, 0)], at: now)
    #expect(try await flush(background: true) == tally(0, 2))
    receiver.answer { _ in Answer(200) }
    #expect(try await flush(background: true) == tally(0, 0))
    #expect(try await flush() == tally(2, 0))
  }

  @Test func `a first report that waits holds the rest of its session back`() async throws {
    try await library.add([report(1, 0), report(1, 1)], at: now)
    receiver.answer { _ in Answer(503) }
    #expect(try await flush(background: true) == tally(0, 1))
    receiver.answer { _ in Answer(200) }
    try await library.add([report(1, 2), report(2, 0)], at: now)
    #expect(try await flush(background: true) == tally(1, 0))
    #expect(received == ["1-0", "2-0"])
    #expect(try await flush() == tally(3, 0))
    #expect(received.suffix(3) == ["1-0", "1-1", "1-2"])
  }

  @Test(
    arguments: [
      ("120", 120), ("0", 0), ("Sat, 16 Jan 2027 00:00:00 GMT", nil), ("soon", 0), ("-5", 0),
      ("99999999999999999999", 86_400), ("99999999", 86_400),
    ] as [(String, Int64?)])
  func `a Retry-After is obeyed by both, a day at most`(_ text: String, _ seconds: Int64?) async throws {
    // The date is one hour away.
    let date = 1_800_057_600
    if seconds == nil { clock.withLock { $0 = Double(date) - 3_600 } }
    let wait = seconds ?? 3_600
    try await library.add([report(1, 0), report(2, 0)], at: now)
    receiver.answer { _ in Answer(429).retryAfter(text) }
    try await flush()
    let count = received.count
    receiver.answer { _ in Answer(200) }
    if wait > 0 {
      let held = try await [stored(1), stored(2)].map(\.notBefore).max()
      #expect(held == now + wait)
      pass(wait - 1)
      #expect(try await flush() == tally(0, 0))
      #expect(try await flush(background: true) == tally(0, 0))
      #expect(received.count == count)
      pass(1)
    }
    #expect(try await flush() == tally(2, 0))
  }

  @Test func `a clock that was put back does not hold reports for years`() async throws {
    pass(3_000 * Self.day)
    try await library.add([report(1, 0)], at: now)
    receiver.answer { _ in Answer(503).retryAfter("60") }
    try await flush()
    pass(-3_000 * Self.day)
    receiver.answer { _ in Answer(200) }
    try await library.add([report(2, 0)], at: now)
    #expect(try await flush(background: true) == tally(2, 0))
  }

  // MARK: What is kept

  @Test func `receipts are forgotten after a month, and nothing else ever`() async throws {
    try await library.add([report(1, 0), report(2, 0), report(3, 0)], at: now)
    receiver.answer { request in
      switch String(decoding: request.body, as: UTF8.self).prefix(1) {
      case "1": Answer(200)
      case "2": Answer(400)
      default: Answer(500)
      }
    }
    #expect(try await flush() == tally(1, 2, refusals: true))
    let receipt = try await stored(1)
    #expect(receipt.state == .sent && receipt.body.isEmpty && receipt.endedAt == now)
    pass(30 * Self.day)
    try await flush()
    #expect(try await library.report(1) != nil)
    pass(1)
    try await flush()
    #expect(try await library.report(1) == nil)
    pass(3_650 * Self.day)
    try await flush()
    for (id, state) in [(2, .aside), (3, .pending)] as [(Int64, Report.State)] {
      let kept = try await stored(id)
      #expect(kept.state == state && kept.body == "\(id)-0")
    }
    receiver.answer { _ in Answer(200) }
    _ = try await library.requeue([2])
    #expect(try await flush() == tally(2, 0))
  }

  @Test func `a report that is dropped while it is sent is not kept by its answer`() async throws {
    try await library.add([report(1, 0), report(1, 1)], at: now)
    receiver.answer { _ in Answer(200).delayed(by: .milliseconds(300)) }
    async let running = flush()
    let receiver = receiver
    #expect(await eventually { !receiver.exchanges.isEmpty })
    #expect(try await library.drop([1, 2]) == 2)
    _ = try await running
    for id: Int64 in 1...2 { #expect(try await library.report(id) == nil) }
    #expect(received == ["1-0"])
  }

  @Test func `what is interrupted is neither noted nor counted as a try`() async throws {
    try await library.add([report(1, 0), report(2, 0)], at: now)
    receiver.answer { _ in Answer(200).delayed(by: .seconds(30)) }
    let sender = try sender { $0.timeout = TimeSpan(seconds: 30) }
    defer { sender.close() }
    let task = Task { try await sender.flush(obeysBackoff: false) }
    let receiver = receiver
    #expect(await eventually { receiver.exchanges.count == 2 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    for id: Int64 in 1...2 {
      let report = try await stored(id)
      #expect(report.state == .pending && report.attempts == 0 && report.failure == nil)
    }
  }

  @Test(arguments: ["http://lms.example/lms", "no address", "", "ftp://127.0.0.1/lms"])
  func `an address that may not be called keeps its report, and the others go`(_ url: String) async throws {
    try await library.add([report(1, 0, url: url), report(2, 0)], at: now)
    let tally = try await flush()
    #expect((tally.successCount, tally.failCount) == (1, 1))
    let kept = try await stored(1)
    #expect(kept.state == (url.hasPrefix("http:") ? .pending : .aside) && kept.body == "1-0")
    #expect(kept.failure != nil)
  }

  @Test func `each try is told with its form and what came of it`() async throws {
    try await library.add([report(1, 0), report(1, 1), report(2, 0)], at: now)
    receiver.answer { request in
      String(decoding: request.body, as: UTF8.self) == "1-0" ? Answer(404) : Answer(201)
    }
    try await flush()
    var told: [String: LMSResult] = [:]
    for case .lmsData(let data, let result) in sink.events { told[data] = result }
    #expect(told.keys.sorted() == ["1-0", "1-1", "2-0"])
    #expect(told["1-0"]?.status == 404 && told["1-0"]?.error?.code == -8_404)
    #expect(told["1-1"]?.status == 201 && told["1-1"]?.error == nil)
    #expect(told["2-0"]?.mediaContentKey == "lecture/2")
  }
}
