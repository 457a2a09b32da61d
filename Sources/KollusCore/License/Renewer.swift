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
  static let requestsAhead = 192
  /// Contents looked up at once.
  static let chunk = 1_000
  /// How long one that failed in part can be gone on with by the same command, in seconds.
  private static let batchLife: Int64 = 3_600
  /// Longest wait for another renewer.
  private static let longestWait = Duration.seconds(600)

  let library: Library
  let settings: Settings
  let sink: any EventSink
  private let engine: TransferEngine
  let licensor: Licensor
  let wire = Allotment(Self.requestsInFlight)

  package init(library: Library, settings: Settings, sink: any EventSink) throws(KollusError) {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    engine = try TransferEngine.started()
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
    guard ids.isEmpty || library.home.hasMedia else { throw library.home.mediaMissing }
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
      try await TaskThreads.sleep(for: .milliseconds(100))
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
}

extension Array {
  /// The elements in pieces of `size`, the last one shorter.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
