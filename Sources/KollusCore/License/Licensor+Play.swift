import CurlKit

/// The question before a play (kind 3, PROTO §2.1).
extension Licensor {
  /// The request item of kind 3 at `now`, the best known time; `isReset` for a renewal, not for a play.
  func playItem(_ content: Content, sessionKey: String, now: Int64, isReset: Bool) -> DRMItem {
    var item = item(.play, content)
    item.startAt = item.localTime
    item.sessionKey = sessionKey
    item.isReset = isReset
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

  /// Asks whether a content may still be played, and keeps what the answer says.
  ///
  /// Nobody answering is no failure: the stored licence decides then, unless it wants the server to be asked before each
  /// play. Returns why the server, or that, forbids this play; `nil` when it does not.
  func askBeforePlay(_ content: Content) async throws -> KollusError? {
    let key = content.mediaContentKey
    guard let subject = try await library.subjects([content.id]).first else { throw Downloader.removed }
    let device = Int64(library.now())
    let now = try await library.ledger()?.time(device) ?? device
    let sessionKey = subject.sessionKey(by: library.home.identity)
    let item = playItem(content, sessionKey: sessionKey, now: now, isReset: false)
    let reply: DRMReply
    do {
      reply = try await client.ask([item], at: try await callback(of: content)) { note, message in
        sink.emit(.note(note, mediaContentKey: key, message: message))
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      let failure = (error as? DRMClient.Unanswered)?.error ?? KollusError(any: error)
      sink.emit(.drmRequest(item, json: nil, error: failure.of(key)))
      try await library.noteFailure(of: content.id, kind: .play, at: device, failure)
      guard failure.kind != .configuration, failure.kind != .interrupted else { throw failure.of(key) }
      return mustAsk(content, failure)
    }
    guard let result = reply.results.first else {
      throw KollusError(.internalFailure, "an exchange without a result").of(key)
    }
    let answer = RenewalAnswer(
      subject: subject, sessionKey: sessionKey, result: result,
      fileGeneration: library.fileGeneration(of: key))
    guard let effect = try await library.apply([answer], batch: 0, reply.clock).first else { return nil }
    if effect.isDeletion, let error = effect.error {
      try library.home.destroyMedia(of: key)
      tellDeletion(of: key, error)
    } else if let record = effect.record {
      try library.home.keepGeneration(record.generation, of: key)
    }
    let json = if case .success(let entry) = result { Optional(entry.text) } else { String?.none }
    sink.emit(.drmRequest(item, json: json, error: effect.error?.of(key)))
    guard let error = effect.error else { return nil }
    // An answer without a word on this content leaves the stored licence in force; one that is wrong does not (PROTO §2.6).
    return error.code == KollusCode.answerMissing ? mustAsk(content, error) : error.of(key)
  }

  /// The refusal where the licence wants the server's word before each play and there was none.
  private func mustAsk(_ content: Content, _ failure: KollusError) -> KollusError? {
    guard content.licence?.licence.checksAbuse ?? false else { return nil }
    return KollusError(
      .licence, code: KollusCode.playRefused,
      "the customer's server must be asked before each play, and it cannot be reached: \(failure.message)",
      hint: "play it while the network is there", mediaContentKey: content.mediaContentKey)
  }
}
