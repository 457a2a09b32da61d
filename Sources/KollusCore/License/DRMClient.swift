import CurlKit
import JSONKit
import Synchronization
import SystemKit

/// Asks a DRM callback (PROTO §2) and believes only what is signed with a key of the configuration.
struct DRMClient: Sendable {
  /// Nobody answered, all tries included: the network, or a server that is busy.
  struct Unanswered: Error, Sendable {
    /// Of the kind `tryLater`.
    let error: KollusError
    /// Unix seconds before which the server does not want to be asked, at most 30 days ahead.
    let notBefore: Double?
  }

  private static let longestRefusal = 30.0 * 86_400

  private let engine: TransferEngine
  private let settings: Settings
  private let keys: SecurityKeys
  /// The device clock, in seconds since 1970.
  private let now: @Sendable () -> Double

  init(
    engine: TransferEngine, settings: Settings, keys: SecurityKeys,
    now: @escaping @Sendable () -> Double = { WallClock.now() }
  ) {
    (self.engine, self.settings, self.keys, self.now) = (engine, settings, keys, now)
  }

  /// Sends all items in one request, the same bytes again when nobody answers; `waiting` is told before each
  /// wait.
  ///
  /// Throws `Unanswered`, or `KollusError` when the whole request failed in a way that trying again does not
  /// mend; `CancellationError` when the task was cancelled.
  func ask(
    _ items: [DRMItem], at address: WebAddress, waiting: @Sendable (Note, String) -> Void
  ) async throws -> DRMReply {
    guard !keys.isEmpty else {
      throw KollusError(
        .configuration, code: KollusCode.answerUntrusted,
        "no security key is configured to check the answers of the DRM callback with",
        hint: SecurityKeys.hint)
    }
    try HTTPPolicy(allowsPlainHTTP: settings.allowPlainHTTP).check(address, for: "the DRM callback")
    let (answer, deviceTime) = try await answer(to: request(items, at: address), waiting: waiting)
    return try DRMReply(
      answer.head, body: answer.body, to: items, from: address, at: deviceTime, keys: keys)
  }

  private func request(_ items: [DRMItem], at address: WebAddress) -> Request {
    var writer = JSONWriter(reserving: 512 * items.count)
    writer.beginArray()
    for item in items { item.write(to: &writer) }
    writer.endArray()
    var request = Request(address, options: OriginClient.options(settings))
    request.method = .post(
      body: Array("items=".utf8) + WebAddress.encode(writer.bytes),
      contentType: "application/x-www-form-urlencoded; charset=UTF-8")
    request.headers = ["Accept: */*", "Accept-Encoding: identity"]
    // Answers are small: one that trickles in does not hold the caller up for hours.
    request.options.stallBytes = 16 << 10
    return request
  }

  private func answer(
    to request: Request, waiting: @Sendable (Note, String) -> Void
  ) async throws -> (answer: (head: ResponseHead, body: [UInt8]), deviceTime: Double) {
    var patience = Patience(retries: settings.retries)
    while true {
      let receiver = AnswerReceiver(now: now)
      let failure: KollusError
      do {
        let head = try await engine.perform(request, into: receiver)
        return ((head, receiver.body), receiver.deviceTime)
      } catch let error as CurlError {
        failure = Self.failure(error, receiver, request.address)
      }
      guard failure.kind == .tryLater else { throw failure }
      let now = now()
      let asked = receiver.head.flatMap { RetryAfter.time($0, now: now) }
      let notBefore = asked.flatMap { $0 > now ? min($0, now + Self.longestRefusal) : nil }
      guard let delay = patience.next(notBefore: notBefore, now: now) else {
        throw Self.unanswered(failure, notBefore: notBefore)
      }
      waiting(
        notBefore == nil ? .retrying : .waiting, "\(failure.message); trying again in \(delay.secondsText)")
      try await TaskThreads.sleep(for: delay)
    }
  }

  private static func unanswered(_ failure: KollusError, notBefore: Double?) -> Unanswered {
    guard let notBefore else { return Unanswered(error: failure, notBefore: nil) }
    let time = WallClock.text(Int64(notBefore.rounded(.up)))
    return Unanswered(
      error: KollusError(
        failure.kind, code: failure.code, "\(failure.message) and asked not to be called before \(time)",
        hint: failure.hint),
      notBefore: notBefore)
  }

  /// What a transfer that brought no answer came to; the codes lie below −9000 (PROTO §5.1).
  private static func failure(
    _ error: CurlError, _ receiver: AnswerReceiver, _ address: WebAddress
  ) -> KollusError {
    if let status = receiver.head?.status, status != 200 { return failure(status, address) }
    if receiver.isTooLarge {
      return KollusError(
        .badData, code: KollusCode.answerUntrusted,
        "the answer of \(address.display) is larger than \(AnswerReceiver.limit) bytes",
        hint: "tell the people who run the callback server")
    }
    let failure = KollusError(error, address: address)
    return KollusError(
      failure.kind, code: KollusCode.drmCallbackBase - error.code, failure.message, hint: failure.hint)
  }

  private static func failure(_ status: Int, _ address: WebAddress) -> KollusError {
    let code = KollusCode.drmCallbackBase - status
    switch status {
    case 408, 425, 429, 500...599:
      return KollusError(
        .tryLater, code: code, "\(address.display) answered with status \(status)",
        hint: "run the same command again later")
    case 300...399:
      return KollusError(
        .refused, code: code,
        "\(address.display) redirects (status \(status)), which a DRM callback may not",
        hint: "name the callback's own address")
    default:
      return KollusError(
        .refused, code: code, "\(address.display) refuses with status \(status)",
        hint: "check the address of the DRM callback")
    }
  }
}

/// Holds the body of a 200 up to a limit; the body of any other answer is not wanted.
private final class AnswerReceiver: BodyReceiver {
  static let limit = 1 << 20

  private struct State {
    var head: ResponseHead?
    var deviceTime = 0.0
    var body: [UInt8] = []
    var isTooLarge = false
  }

  private let state = Mutex(State())
  private let now: @Sendable () -> Double

  init(now: @escaping @Sendable () -> Double) { self.now = now }

  var head: ResponseHead? { state.withLock { $0.head } }
  /// When the head came.
  var deviceTime: Double { state.withLock { $0.deviceTime } }
  var body: [UInt8] { state.withLock { $0.body } }
  var isTooLarge: Bool { state.withLock { $0.isTooLarge } }
  var canResume: Bool { true }

  func begin(_ head: ResponseHead) -> Bool {
    state.withLock { state in
      (state.head, state.deviceTime) = (head, now())
      return head.status == 200
    }
  }

  func receive(_ bytes: RawSpan) -> Reception {
    state.withLock { state in
      state.isTooLarge = state.body.count + bytes.byteCount > Self.limit
      guard !state.isTooLarge else { return .refused }
      bytes.withUnsafeBytes { state.body += $0 }
      return .taken
    }
  }
}
