import CurlKit
import SystemKit

/// The requests of a renewal: what is asked, and what the answers do.
extension Renewer {
  /// Asks for all of `ids`, ten a request to each callback.
  func renew(_ ids: [Int64], batch: Int64, _ report: RenewalReport) async throws {
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
    var failures: [RenewalFailure] = []
    for subject in try await library.subjects(ids) {
      let content = subject.content
      do {
        guard subject.isHeld else { throw Downloader.removed }
        guard subject.notBefore <= device else {
          throw KollusError(
            .tryLater, code: subject.failure?.code ?? 0,
            "the server asked not to be called before \(WallClock.text(subject.notBefore))",
            hint: "run the same command again after that")
        }
        let address = try await licensor.callback(of: content)
        let key = subject.sessionKey(by: library.home.identity)
        let ask = RenewalAsk(
          subject: subject, sessionKey: key,
          item: licensor.playItem(content, sessionKey: key, now: now, isReset: true),
          fileGeneration: library.fileGeneration(of: content.mediaContentKey))
        if groups[address] == nil { order.append(address) }
        groups[address, default: []].append(ask)
      } catch {
        let notBefore = subject.notBefore > device ? subject.notBefore : 0
        failures.append(
          RenewalFailure(
            id: content.id, error: KollusError(any: error).of(content.mediaContentKey), notBefore: notBefore))
      }
    }
    if !failures.isEmpty { try await library.noteUnanswered(failures, batch: batch, at: device) }
    for failure in failures {
      report.tell(
        RenewalOutcome(mediaContentKey: failure.error.mediaContentKey ?? "", error: failure.error))
    }
    return order.map { ($0, groups[$0] ?? []) }
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
    if health.isFirstAnswer(of: address) { licensor.tellClock(reply.clock, of: nil) }
    if reply.answersFirstOnly {
      // Some servers read only the first item (PROTO §2.7): the others go one by one.
      try await conclude(Array(asks.prefix(1)), reply, batch: batch, report)
      for ask in asks.dropFirst() { try await exchange([ask], at: address, batch: batch, health, report) }
      return
    }
    try await conclude(asks, reply, batch: batch, report)
  }

  /// Applies the answers to a request and tells what came of each.
  private func conclude(
    _ asks: [RenewalAsk], _ reply: DRMReply, batch: Int64, _ report: RenewalReport
  ) async throws {
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
    let failures = asks.map { ask in
      RenewalFailure(
        id: ask.subject.content.id, error: error.of(ask.subject.content.mediaContentKey),
        notBefore: Int64((notBefore ?? 0).rounded(.up)))
    }
    try await library.noteUnanswered(failures, batch: batch, at: Int64(library.now()))
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
