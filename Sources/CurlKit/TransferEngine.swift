import CCurl
import Glibc
import Synchronization

/// Runs every libcurl transfer on one thread, which alone owns the handles.
///
/// libcurl allows exactly one call from other threads, `curl_multi_wakeup`; everything else
/// travels through the inbox.
@safe package final class TransferEngine: Sendable {
  enum Message: Sendable {
    case start(Ticket, Request, any BodyReceiver, CheckedContinuation<ResponseHead, any Error>)
    case cancel(Ticket)
    case stop
  }

  private struct Inbox {
    var messages: [Message] = []
    var isOpen = true
    var nextID = 0
  }

  private let inbox = Mutex(Inbox())
  private let bytesPerSecond: Int64?
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer

  /// Starts the thread; `bytesPerSecond` limits all bodies together, `nil` is no limit.
  package init(bytesPerSecond: Int64? = nil) throws(CurlError) {
    _ = Self.globalInit
    guard let multi = unsafe kollus_curl_multi_init() else { throw CurlError(CURLE_OUT_OF_MEMORY) }
    unsafe self.multi = multi
    self.bytesPerSecond = bytesPerSecond
    // The thread holds the engine until it is told to stop, so `multi` outlives every wake-up.
    let context = unsafe Unmanaged.passRetained(self).toOpaque()
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<TransferEngine>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context)
    precondition(failure == 0, "pthread_create failed: \(failure)")
    pthread_detach(thread)
  }

  /// Runs once the thread has ended and no caller is left that could still wake it.
  deinit { unsafe kollus_curl_multi_cleanup(multi) }

  /// Performs `request`, showing the answer to `receiver`; returns when the body has ended.
  ///
  /// Throws `CurlError`, or `CancellationError` when the task or the engine was stopped.
  package func perform(_ request: Request, into receiver: any BodyReceiver) async throws -> ResponseHead {
    let ticket = Ticket(
      id: inbox.withLock { inbox in
        inbox.nextID += 1
        return inbox.nextID
      })
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { send(.start(ticket, request, receiver, $0)) }
    } onCancel: {
      ticket.cancel()
      send(.cancel(ticket))
    }
  }

  /// Performs `request` and holds the body, at most `limit` bytes of it; a larger one is refused.
  package func perform(_ request: Request, limit: Int) async throws -> Response {
    let collector = Collector(limit: limit)
    let head = try await perform(request, into: collector)
    return Response(head: head, body: collector.bytes)
  }

  /// Has the thread look again at receivers that said `later`; may be called from any thread.
  package func wake() { unsafe kollus_curl_multi_wakeup(multi) }

  /// Cancels what is running and lets the thread end.
  package func stop() { send(.stop) }

  private func send(_ message: Message) {
    let isTaken = inbox.withLock { inbox in
      if inbox.isOpen { inbox.messages.append(message) }
      return inbox.isOpen
    }
    if isTaken {
      wake()
    } else if case .start(_, _, _, let completion) = message {
      completion.resume(throwing: CancellationError())
    }
  }

  private func run() {
    var loop = unsafe EngineLoop(multi: multi, throttle: bytesPerSecond.map(Throttle.init))
    defer {
      let left = inbox.withLock { inbox in
        inbox.isOpen = false
        return inbox.messages
      }
      for case .start(_, _, _, let completion) in left { completion.resume(throwing: CancellationError()) }
      loop.end()
    }
    while true {
      let messages = inbox.withLock { inbox in
        defer { inbox.messages.removeAll(keepingCapacity: true) }
        return inbox.messages
      }
      for message in messages { loop.handle(message) }
      if loop.isStopping { return }
      loop.turn()
    }
  }

  private static let globalInit: Void = { kollus_curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()
}

/// Holds a body of bounded size.
private final class Collector: BodyReceiver {
  private let limit: Int
  private let state = Mutex<[UInt8]>([])

  init(limit: Int) { self.limit = limit }

  var bytes: [UInt8] { state.withLock { $0 } }
  var canResume: Bool { true }

  func begin(_ head: ResponseHead) -> Bool { true }

  func receive(_ bytes: RawSpan) -> Reception {
    state.withLock { collected in
      guard collected.count + bytes.byteCount <= limit else { return .refused }
      unsafe bytes.withUnsafeBytes { unsafe collected.append(contentsOf: $0) }
      return .taken
    }
  }
}

/// Names one transfer, and remembers a cancel that came before its start.
final class Ticket: Sendable {
  let id: Int
  private let cancelled = Atomic(false)

  init(id: Int) { self.id = id }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}
