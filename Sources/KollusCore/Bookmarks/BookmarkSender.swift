import CurlKit
import JSONKit
import SystemKit

/// Sends stored changes of bookmarks to their channels: in order, until they are accepted (PROTO §3.9).
package struct BookmarkSender: Sendable {
  /// How many changes were accepted, and how many wait.
  package struct Tally: Sendable, Equatable {
    package var successCount = 0
    package var failCount = 0
  }

  private static let answerLimit = 64 << 10

  private let library: Library
  private let settings: Settings
  private let sink: any EventSink
  private let engine: TransferEngine

  package init(library: Library, settings: Settings, sink: any EventSink) throws(KollusError) {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    engine = try TransferEngine.started()
  }

  /// Ends the thread; to be called once after the last run.
  package func close() { engine.stop() }

  /// Sends what is stored, channel by channel; nothing when another process is at it.
  ///
  /// `obeysBackoff` leaves out what would not yet be tried again by itself. Throws `interrupted` when the task was
  /// cancelled; what was accepted by then is noted.
  package func flush(obeysBackoff: Bool) async throws -> Tally {
    var tally = Tally()
    guard let lock = try library.home.bookmarkLock() else { return tally }
    defer { withExtendedLifetime(lock) {} }
    var refused: Set<String> = []
    while let batch = try await library.nextBookmarkBatch(
      at: Int64(library.now()), obeysBackoff: obeysBackoff, outside: refused)
    {
      try Task.checkCancellation()
      do {
        try await send(batch)
        try await library.forget(batch)
        tally.successCount += batch.changes.count
      } catch let error as CancellationError {
        throw error
      } catch {
        let failure = error as? Refusal ?? Refusal(error: KollusError(any: error), notBefore: 0)
        refused.insert(batch.url)
        tally.failCount += batch.changes.count
        try await library.postpone(batch, at: Int64(library.now()), notBefore: failure.notBefore)
        sink.emit(
          .note(
            .warning, mediaContentKey: nil,
            message: "\(batch.changes.count) changes of bookmarks wait: \(failure.error.message)"))
      }
    }
    return tally
  }

  /// Why a channel did not take a batch, and before when it wants no other.
  private struct Refusal: Error {
    let error: KollusError
    let notBefore: Int64
  }

  /// Returns when the channel has accepted; network failures and busy servers are tried again, a few times.
  private func send(_ batch: BookmarkBatch) async throws {
    guard let address = WebAddress(batch.url) else {
      throw KollusError(.refused, code: KollusCode.urlNotUsable, "the channel's address is not a usable URL")
    }
    try HTTPPolicy(allowsPlainHTTP: settings.allowPlainHTTP).check(address, for: "the bookmark interface")
    let request = Self.request(batch, to: address, settings)
    var patience = Patience(retries: settings.retries)
    while true {
      let failure: Refusal
      do {
        let response = try await engine.perform(request, limit: Self.answerLimit)
        guard let refusal = refusal(response, from: address) else { return }
        failure = refusal
      } catch let error as CurlError {
        failure = Refusal(error: KollusError(error, address: address), notBefore: 0)
      }
      let notBefore = failure.notBefore > 0 ? Double(failure.notBefore) : nil
      guard failure.error.kind == .tryLater,
        let delay = patience.next(notBefore: notBefore, now: library.now())
      else { throw failure }
      try await TaskThreads.sleep(for: delay)
    }
  }

  private static func request(_ batch: BookmarkBatch, to address: WebAddress, _ settings: Settings) -> Request
  {
    let list = "[\(batch.changes.map(\.text).joined(separator: ","))]"
    var request = Request(address, options: OriginClient.options(settings))
    request.method = .post(
      body: Array("bookmarks=".utf8) + WebAddress.encode(Array(list.utf8)),
      contentType: "application/x-www-form-urlencoded; charset=UTF-8")
    request.headers = ["Accept: application/json", "Accept-Encoding: identity"]
    return request
  }

  /// `nil` for an answer that accepts: a 2xx that names no other `error` than 0.
  private func refusal(_ response: Response, from address: WebAddress) -> Refusal? {
    let status = response.head.status
    let isBusy = [408, 425, 429].contains(status) || (500...599).contains(status)
    if (200...299).contains(status) {
      // The answer is free to say nothing.
      let json = try? JSON(parsing: response.body, limits: JSON.Limits(bytes: Self.answerLimit))
      guard let number = (try? json?.integer("error")).flatMap({ $0 }), number != 0 else { return nil }
      return Refusal(
        error: KollusError(.refused, "\(address.display) refuses the bookmarks with error \(number)"),
        notBefore: 0)
    }
    let asked = RetryAfter.time(response.head, now: library.now()) ?? 0
    let longest = library.now() + Double(Report.longestHold)
    return Refusal(
      error: KollusError(
        isBusy ? .tryLater : .refused, code: KollusCode.storageBase - status,
        "\(address.display) answered with status \(status)"),
      notBefore: Int64(min(asked, longest).rounded(.up)))
  }
}
