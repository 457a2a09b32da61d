import CurlKit
import SystemKit

/// What became of one content of a renewal.
package struct RenewalOutcome: Sendable {
  package let mediaContentKey: String
  /// The licence after it, `nil` where none was changed.
  package let licence: Licence?
  package let error: KollusError?

  package init(mediaContentKey: String, licence: Licence? = nil, error: KollusError?) {
    (self.mediaContentKey, self.licence, self.error) = (mediaContentKey, licence, error)
  }
}

/// Renews licences: ten contents a request, several requests in flight (design §6).
///
/// One renewer works on a home at a time; what it does survives a kill at any instant.
package struct Renewer: Sendable {
  static let itemsPerRequest = 10
  /// Requests on the wire at once.
  static let requestsInFlight = 8
  /// Requests to be sent, and answered ones that wait for a commit they share.
  private static let requestsAhead = 192
  /// Contents looked up at once.
  private static let chunk = 1_000
  /// How long one that failed in part can be gone on with by the same command, in seconds.
  private static let batchLife: Int64 = 3_600
  /// Longest wait for another renewer.
  private static let longestWait = Duration.seconds(600)

  let library: Library
  private let settings: Settings
  private let sink: any EventSink
  private let engine: TransferEngine
  let licensor: Licensor
  private let wire = Allotment(Self.requestsInFlight)

  package init(library: Library, settings: Settings, sink: any EventSink) throws(KollusError) {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    do throws(CurlError) {
      engine = try TransferEngine()
    } catch {
      throw KollusError(.internalFailure, "libcurl cannot be used: \(error)")
    }
    licensor = Licensor(
      library: library, settings: settings, sink: sink, engine: engine, keys: SecurityKeys(settings))
  }

  /// Ends the thread; to be called once after the last run.
  package func close() { engine.stop() }

  // MARK: Planning

  /// Shows what a run would ask for, in order; sends and changes nothing.
  package func plan(_ scope: RenewalScope, _ body: @Sendable (RenewalCandidate) -> Void) async throws {
    let now = Int64(library.now())
    var left: Set<Int64>?
    if let batch = try await openBatch(of: scope, at: now) {
      left = Set(
        try await remaining(try await library.dueContents(scope, within: margin, at: now), of: batch))
    }
    try await library.forEachDue(scope, within: margin, at: now) { [left] subject, reason in
      guard left?.contains(subject.content.id) ?? true else { return }
      body(
        RenewalCandidate(
          mediaContentKey: subject.content.mediaContentKey, title: subject.content.title, reason: reason))
    }
  }

  /// Seconds before an expiry in which a renewal is due.
  private var margin: Int64 { settings.renewWithin.milliseconds / 1_000 }

  // MARK: Running

  /// Renews what `scope` means; `settled` hears of each content, in the order they are done.
  ///
  /// A second renewer waits for the first, and what that one renewed counts as done. A run of the scopes `due` and
  /// `all` that failed in part is gone on with for an hour: only what is left is asked for.
  /// Throws `tryLater` when the other one does not end, `interrupted` when the task was cancelled.
  package func run(_ scope: RenewalScope, settled: @escaping @Sendable (RenewalOutcome) -> Void) async throws
  {
    let begin = Int64(library.now())
    var ids = try await library.dueContents(scope, within: margin, at: begin)
    let (lock, joined) = try await takeTurn()
    defer { withExtendedLifetime(lock) {} }
    let open = try await openBatch(of: scope, at: begin)
    let report = RenewalReport(sink: sink, settled: settled)
    if let since = joined {
      ids = try await share(ids, since: since, report)
    } else if let open {
      let left = try await remaining(ids, of: open)
      if left.count < ids.count {
        sink.emit(
          .note(
            .resumed, mediaContentKey: nil,
            message: "\(ids.count - left.count) of \(ids.count) were renewed by the run before"))
      }
      ids = left
    }
    report.expect(ids.count)
    // Without the files it cannot be told which licences are the last ones.
    guard ids.isEmpty || SealedFile.exists(library.home.mediaPath) else {
      throw KollusError(
        .inputOutput, code: KollusCode.readFile,
        "the folder of all media is not there: \(library.home.mediaPath)", hint: "is its disk mounted?")
    }
    guard !ids.isEmpty else {
      if joined == nil, let open { try await library.closeBatch(open) }
      return
    }
    let number = try await library.beginBatch(scope.name, at: begin, goingOnWith: open)
    try await renew(ids, batch: number, report)
    try Task.checkCancellation()
    guard report.failures == 0 || !scope.isResumable else { return }
    try await library.closeBatch(number)
    if scope == .failed, try await !library.hasFailedRenewals() { try await library.closeBatch(nil) }
  }

  /// The batch that a run of `scope` at `time` goes on with.
  private func openBatch(of scope: RenewalScope, at time: Int64) async throws -> Int64? {
    guard scope.isResumable else { return nil }
    return try await library.openBatch(scope.name, since: time - Self.batchLife)
  }

  /// Waits until no other renewer is at work; returns the batch of the one that was.
  private func takeTurn() async throws -> (ByteLock, joined: Int64?) {
    if let lock = try library.home.renewalLock() { return (lock, nil) }
    let joined = try await library.currentBatch(since: Int64(library.now()) - Self.batchLife)
    sink.emit(.note(.joined, mediaContentKey: nil, message: "another process renews; waiting for it"))
    let end = ContinuousClock.now + Self.longestWait
    while ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(100))
      if let lock = try library.home.renewalLock() { return (lock, joined) }
    }
    throw KollusError(
      .tryLater, "another process has been renewing for \(Self.longestWait.secondsText)",
      hint: "run the command again once it has ended")
  }

  /// Takes over what the other renewer did since this one came; returns what is left.
  private func share(_ ids: [Int64], since batch: Int64, _ report: RenewalReport) async throws -> [Int64] {
    var left: [Int64] = []
    var done: [RenewalOutcome] = []
    for chunk in ids.chunks(of: Self.chunk) {
      for subject in try await library.subjects(chunk) {
        // A content that was asked for and not answered is ours, unless the server could not be reached.
        guard subject.batch >= batch, subject.isAnswered || subject.failure != nil else {
          left.append(subject.content.id)
          continue
        }
        done.append(
          RenewalOutcome(
            mediaContentKey: subject.content.mediaContentKey, licence: subject.content.licence?.licence,
            error: subject.failure))
      }
    }
    report.expect(done.count + left.count)
    for outcome in done { report.tell(outcome) }
    return left
  }

  /// What a run before did not renew, or what does not play in spite of it.
  private func remaining(_ ids: [Int64], of batch: Int64) async throws -> [Int64] {
    let device = Int64(library.now())
    let ledger = try await library.ledger()
    var left: [Int64] = []
    for chunk in ids.chunks(of: Self.chunk) {
      for subject in try await library.subjects(chunk) {
        let content = subject.content
        let isDone =
          subject.batch == batch && subject.isAnswered && subject.failure == nil
          && library.verdict(
            content, fileGeneration: library.fileGeneration(of: content.mediaContentKey), ledger: ledger,
            at: device
          ).mayPlay
        if !isDone { left.append(content.id) }
      }
    }
    return left
  }

  /// Asks for all of `ids`, ten a request to each callback.
  private func renew(_ ids: [Int64], batch: Int64, _ report: RenewalReport) async throws {
    let health = CallbackHealth()
    try await withThrowingTaskGroup(of: Void.self) { group in
      var underWay = 0
      func start(_ asks: [RenewalAsk], at address: WebAddress) async throws {
        if underWay >= Self.requestsAhead {
          try await group.next()
          underWay -= 1
        }
        underWay += 1
        group.addTask { try await exchange(asks, at: address, batch: batch, health, report) }
      }
      var waiting: [WebAddress: [RenewalAsk]] = [:]
      for chunk in ids.chunks(of: Self.chunk) {
        try Task.checkCancellation()
        for (address, asks) in try await asks(chunk, batch: batch, report) {
          var asks = waiting.removeValue(forKey: address).map { $0 + asks } ?? asks
          while asks.count >= Self.itemsPerRequest {
            try await start(Array(asks.prefix(Self.itemsPerRequest)), at: address)
            asks.removeFirst(Self.itemsPerRequest)
          }
          if !asks.isEmpty { waiting[address] = asks }
        }
      }
      for (address, asks) in waiting { try await start(asks, at: address) }
      // The first failure ends them all: what cannot be saved is not asked for.
      for try await _ in group {}
    }
  }

  /// What is to be asked about a chunk, grouped by callback in the order it came.
  private func asks(_ ids: [Int64], batch: Int64, _ report: RenewalReport) async throws
    -> [(WebAddress, [RenewalAsk])]
  {
    let device = Int64(library.now())
    let now = try await library.ledger()?.time(device) ?? device
    var order: [WebAddress] = []
    var groups: [WebAddress: [RenewalAsk]] = [:]
    for subject in try await library.subjects(ids) {
      let content = subject.content
      do throws(KollusError) {
        guard content.state == .ready else { throw Downloader.removed }
        guard subject.notBefore <= device else {
          throw KollusError(
            .tryLater, code: subject.failure?.code ?? 0,
            "the server asked not to be called before \(WallClock.text(subject.notBefore))",
            hint: "run the same command again after that")
        }
        let address = try licensor.callback(of: content)
        let key = subject.sessionKey(by: library.home.identity)
        let ask = RenewalAsk(
          subject: subject, sessionKey: key, item: item(content, sessionKey: key, now: now),
          fileGeneration: library.fileGeneration(of: content.mediaContentKey))
        if groups[address] == nil { order.append(address) }
        groups[address, default: []].append(ask)
      } catch {
        let notBefore = subject.notBefore > device ? subject.notBefore : 0
        try await library.noteUnanswered([content.id], batch: batch, at: device, error, notBefore: notBefore)
        report.tell(
          RenewalOutcome(mediaContentKey: content.mediaContentKey, error: error.of(content.mediaContentKey)))
      }
    }
    return order.map { ($0, groups[$0] ?? []) }
  }

  /// The request item of a bulk renewal; `now` is the best known time.
  private func item(_ content: Content, sessionKey: String, now: Int64) -> DRMItem {
    var item = licensor.item(.play, content)
    item.startAt = item.localTime
    item.sessionKey = sessionKey
    item.isReset = true
    guard case .held(let licence) = content.holding(by: library.home.identity) else {
      // What cannot be trusted is as good as expired.
      item.isContentExpired = true
      return item
    }
    item.isContentExpired = licence.isExpired(at: now)
    item.isCheckExpired = licence.checkDate.value.map { now >= $0 } ?? false
    item.expirationDate = licence.expirationDate.value
    return item
  }

  // MARK: One request

  private func exchange(
    _ asks: [RenewalAsk], at address: WebAddress, batch: Int64, _ health: CallbackHealth,
    _ report: RenewalReport
  ) async throws {
    let reply: DRMReply
    do {
      reply = try await wire.with(1) {
        if let error = health.refusal(of: address) { throw error }
        do {
          let reply = try await licensor.client.ask(asks.map(\.item), at: address) { note, message in
            sink.emit(.note(note, mediaContentKey: nil, message: message))
          }
          health.noteAnswer(of: address)
          return reply
        } catch let unanswered as DRMClient.Unanswered {
          // Before the next request takes this one's place.
          health.note(unanswered, of: address)
          throw unanswered
        }
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      let unanswered = error as? DRMClient.Unanswered
      try await conclude(
        asks, batch: batch, unanswered?.error ?? KollusError(any: error), notBefore: unanswered?.notBefore,
        report)
      return
    }
    let answers = zip(asks, reply.results).map { ask, result in
      RenewalAnswer(
        subject: ask.subject, sessionKey: ask.sessionKey, result: result, fileGeneration: ask.fileGeneration)
    }
    let effects = try await library.apply(answers, batch: batch, reply.clock)
    for ((ask, answer), effect) in zip(zip(asks, answers), effects) {
      try await conclude(ask, answer, effect, report)
    }
  }

  /// Nobody answered a request: so it is for each of its contents.
  private func conclude(
    _ asks: [RenewalAsk], batch: Int64, _ error: KollusError, notBefore: Double?, _ report: RenewalReport
  ) async throws {
    try await library.noteUnanswered(
      asks.map(\.subject.content.id), batch: batch, at: Int64(library.now()), error,
      notBefore: Int64((notBefore ?? 0).rounded(.up)))
    for ask in asks {
      let key = ask.subject.content.mediaContentKey
      sink.emit(.drmRequest(ask.item, json: nil, error: error.of(key)))
      report.tell(RenewalOutcome(mediaContentKey: key, error: error.of(key)))
    }
  }

  private func conclude(
    _ ask: RenewalAsk, _ answer: RenewalAnswer, _ effect: RenewalEffect, _ report: RenewalReport
  ) async throws {
    let key = ask.subject.content.mediaContentKey
    var error = effect.error?.of(key)
    do throws(KollusError) {
      if effect.isDeletion, let failure = error {
        try library.home.destroyMedia(of: key)
        licensor.tellDeletion(of: key, failure)
      } else if let record = effect.record {
        try library.home.keepGeneration(record.generation, of: key)
      }
    } catch let failure {
      error = error ?? failure
    }
    let json = if case .success(let entry) = answer.result { Optional(entry.text) } else { String?.none }
    sink.emit(.drmRequest(ask.item, json: json, error: error))
    report.tell(RenewalOutcome(mediaContentKey: key, licence: effect.record?.licence, error: error))
  }
}

/// One content of a request.
private struct RenewalAsk: Sendable {
  let subject: RenewalSubject
  let sessionKey: String
  let item: DRMItem
  let fileGeneration: Int64?
}

/// Counts what is done and tells it, one at a time.
private final class RenewalReport: Sendable {
  private let state = Protected((count: 0, current: 0, failures: 0))
  private let sink: any EventSink
  private let settled: @Sendable (RenewalOutcome) -> Void

  init(sink: any EventSink, settled: @escaping @Sendable (RenewalOutcome) -> Void) {
    (self.sink, self.settled) = (sink, settled)
  }

  var failures: Int { state.withLock { $0.failures } }

  /// How many there will be in all.
  func expect(_ count: Int) { state.withLock { $0.count = max($0.count, count) } }

  func tell(_ outcome: RenewalOutcome) {
    // Under the lock, so that the numbers come in their order; sinks are quick.
    state.withLock { state in
      state.current += 1
      if outcome.error != nil { state.failures += 1 }
      sink.emit(
        .drmUpdate(
          cur: state.current, count: state.count, mediaContentKey: outcome.mediaContentKey,
          error: outcome.error))
      settled(outcome)
    }
  }
}

/// Which callbacks are worth asking within one run.
private final class CallbackHealth: Sendable {
  /// After so many requests in a row that nobody answered, all tries included, nobody is asked any more.
  private static let silences = 3
  /// After so many that came to nothing in one way or another, statuses included.
  private static let misses = 10

  private let states = Protected<[WebAddress: (misses: Int, refusal: DRMClient.Unanswered?)]>([:])

  /// Why the callback is not to be asked now.
  func refusal(of address: WebAddress) -> DRMClient.Unanswered? { states.withLock { $0[address]?.refusal } }

  func noteAnswer(of address: WebAddress) {
    states.withLock { states in
      // Patience that was asked for is not called off by the answer to a request that was already under way.
      if states[address]?.refusal?.notBefore == nil { states[address] = nil }
    }
  }

  func note(_ unanswered: DRMClient.Unanswered, of address: WebAddress) {
    states.withLock { states in
      var state = states[address] ?? (0, nil)
      state.misses += 1
      // A status is an answer of sorts: another request may fare better. Silence is not, and patience was asked for.
      let isSilent = KollusCode.drmCallbackBase - unanswered.error.code < 100
      if unanswered.notBefore != nil || state.misses >= (isSilent ? Self.silences : Self.misses) {
        state.refusal = unanswered
      }
      states[address] = state
    }
  }
}

extension Array {
  /// The elements in pieces of `size`, the last one shorter.
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
