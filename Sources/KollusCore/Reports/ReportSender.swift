import CurlKit
import SystemKit

/// Sends stored reports: order is kept within a play, plays go in parallel (design §7).
///
/// Several processes may send at once: each play has one sender at a time. A report that was sent and not noted, because
/// of a kill, is sent again; none is ever lost.
package struct ReportSender: Sendable {
  /// How many reports ended in which way.
  package struct Tally: Sendable, Equatable {
    package var successCount = 0
    /// Those that wait and those set aside.
    package var failCount = 0
    /// Whether any was refused for good.
    package var hasRefusals = false
  }

  private static let streamsInFlight = 16
  /// Streams that wait for a commit they share with others.
  private static let streamsAhead = 128

  private let library: Library
  private let settings: Settings
  private let sink: any EventSink
  private let engine: TransferEngine
  private let wire = Allotment(Self.streamsInFlight)

  package init(library: Library, settings: Settings, sink: any EventSink) throws(KollusError) {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    engine = try TransferEngine.started()
  }

  /// Ends the thread; to be called once after the last run.
  package func close() { engine.stop() }

  /// Sends what is stored, at most `limit` reports.
  ///
  /// `obeysBackoff` leaves out what this program would not yet try again by itself; a server's `Retry-After` is always
  /// obeyed. Throws `interrupted` when the task was cancelled; what was sent by then is noted.
  package func flush(limit: Int? = nil, obeysBackoff: Bool) async throws -> Tally {
    let now = Int64(library.now())
    try await library.recoverViewings()
    try await library.forgetReceipts(at: now)
    let streams = try await library.streams(at: now, obeysBackoff: obeysBackoff)
    let run = SenderRun(limit: limit, notBefore: try await library.holds(at: now))
    _ = await mapConcurrently(streams, limit: Self.streamsAhead) { stream in
      do { try await send(stream, run) } catch { run.fail(KollusError(any: error)) }
    }
    try Task.checkCancellation()
    if let error = run.failure { throw error }
    return run.tally
  }

  /// Sends the reports of one stream in their order, until one has to wait.
  func send(_ stream: Library.ReportStream, _ run: SenderRun) async throws {
    // Another process is at it.
    guard let lock = try library.home.lock(viewing: stream.viewing, stream: stream.stream) else { return }
    defer { withExtendedLifetime(lock) {} }
    while run.failure == nil {
      try Task.checkCancellation()
      let now = Int64(library.now())
      guard let report = try await library.next(stream, at: now), !report.isHeld(at: now) else { return }
      let answer = try await wire.with(1) { () async throws -> ReportOutcome? in
        // What the receiver has said to others meanwhile counts.
        guard run.admit(report.url, now) else { return nil }
        let outcome = try await post(report)
        run.note(outcome, of: report.url)
        return outcome
      }
      guard let outcome = answer else { return }
      try await library.note(outcome, of: report, at: Int64(library.now()))
      tell(report, outcome)
      if case .wait = outcome { return }
    }
  }

  private func post(_ report: Report) async throws -> ReportOutcome {
    let policy = HTTPPolicy(allowsPlainHTTP: settings.allowPlainHTTP)
    do {
      guard let address = WebAddress(report.url) else {
        return .refused(
          KollusError(.refused, code: KollusCode.urlNotUsable, "the receiver's address is not a usable URL"),
          status: 0)
      }
      try policy.check(address, for: "the LMS callback")
      var request = Request(address, options: OriginClient.options(settings))
      request.method = .post(
        body: Array(report.body.utf8), contentType: "application/x-www-form-urlencoded; charset=UTF-8")
      request.headers = ["Accept: */*", "Accept-Encoding: identity"]
      let receiver = StatusReceiver()
      do {
        let head = try await engine.perform(request, into: receiver)
        return outcome(of: head, from: address)
      } catch let error as CurlError {
        // The answer's body says nothing that matters: its head is the answer.
        if let head = receiver.head { return outcome(of: head, from: address) }
        let failure = KollusError(error, address: address)
        return .wait(failure, status: nil, notBefore: 0)
      }
    } catch let error as KollusError {
      return .wait(error, status: nil, notBefore: 0)
    }
  }

  private func outcome(of head: ResponseHead, from address: WebAddress) -> ReportOutcome {
    let now = library.now()
    let asked = RetryAfter.time(head, now: now).map {
      Int64(min($0, now + Double(Report.longestHold)).rounded(.up))
    }
    return ReportOutcome(status: head.status, display: address.display, notBefore: asked ?? 0)
  }

  private func tell(_ report: Report, _ outcome: ReportOutcome) {
    let result: LMSResult
    switch outcome {
    case .sent(let status):
      result = LMSResult(mediaContentKey: report.mediaContentKey, status: status, error: nil)
    case .wait(let error, let status, _):
      result = LMSResult(mediaContentKey: report.mediaContentKey, status: status, error: error)
    case .refused(let error, let status):
      result = LMSResult(mediaContentKey: report.mediaContentKey, status: status, error: error)
    }
    sink.emit(.lmsData(report.body, result))
  }
}

/// What one run of the sender remembers.
final class SenderRun: Sendable {
  /// After so many tries in a row to which a server did not answer, it is not called any more.
  private static let silences = 3

  private struct State {
    var left: Int?
    var tally = ReportSender.Tally()
    // By server: the path may name the user.
    var misses: [String: Int] = [:]
    var notBefore: [String: Int64] = [:]
    var failure: KollusError?
  }

  private let state: Protected<State>

  /// `notBefore` tells before when servers want no call, by addresses there.
  init(limit: Int? = nil, notBefore: [String: Int64] = [:]) {
    var state = State(left: limit)
    for (url, time) in notBefore {
      let server = Self.server(of: url)
      state.notBefore[server] = max(time, state.notBefore[server, default: 0])
    }
    self.state = Protected(state)
  }

  private static func server(of url: String) -> String {
    WebAddress(url).map { "\($0.scheme)://\($0.host):\($0.port)" } ?? url
  }

  var tally: ReportSender.Tally { state.withLock { $0.tally } }
  var failure: KollusError? { state.withLock { $0.failure } }

  func fail(_ error: KollusError) { state.withLock { $0.failure = $0.failure ?? error } }

  /// Whether a report to this receiver may be sent now.
  func admit(_ url: String, _ now: Int64) -> Bool {
    let server = Self.server(of: url)
    return state.withLock { state in
      guard state.misses[server, default: 0] < Self.silences, state.notBefore[server, default: 0] <= now,
        state.left.map({ $0 > 0 }) ?? true
      else { return false }
      state.left = state.left.map { $0 - 1 }
      return true
    }
  }

  func note(_ outcome: ReportOutcome, of url: String) {
    let server = Self.server(of: url)
    state.withLock { state in
      switch outcome {
      case .sent:
        state.tally.successCount += 1
        state.misses[server] = 0
      case .wait(_, let status, let notBefore):
        state.tally.failCount += 1
        state.misses[server] = status == nil ? state.misses[server, default: 0] + 1 : 0
        if notBefore > 0 { state.notBefore[server] = notBefore }
      case .refused:
        state.tally.failCount += 1
        state.tally.hasRefusals = true
        state.misses[server] = 0
      }
    }
  }
}
