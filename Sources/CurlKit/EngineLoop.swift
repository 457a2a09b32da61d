import CCurl

/// What the engine's thread keeps between two turns; never leaves that thread.
@safe struct EngineLoop {
  private let multi: UnsafeMutableRawPointer
  private let throttle: Throttle?
  private var transfers: [Int: Transfer] = [:]
  private var spare: [EasyHandle] = []
  private(set) var isStopping = false

  init(multi: UnsafeMutableRawPointer, throttle: Throttle?) {
    unsafe self.multi = multi
    self.throttle = throttle
    unsafe kollus_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 32)
  }

  mutating func handle(_ message: TransferEngine.Message) {
    switch message {
    case .start(let ticket, let request, let receiver, let completion):
      // The cancel may have come first: its message found nothing, but the ticket says so.
      guard !ticket.isCancelled, !isStopping, let easy = spare.popLast() ?? EasyHandle() else {
        return completion.resume(throwing: CancellationError())
      }
      let transfer = Transfer(
        request, on: easy, ticket: ticket, receiver: receiver, throttle: throttle, completion: completion)
      transfers[ticket.id] = transfer
      unsafe kollus_curl_multi_add_handle(multi, easy.handle)
    case .cancel(let ticket):
      guard let transfer = transfers[ticket.id] else { return }
      remove(transfer)
      transfer.cancel()
    case .stop: isStopping = true
    }
  }

  /// Lets libcurl work, reports what ended, resumes what may go on, then waits for news.
  mutating func turn() {
    var running: Int32 = 0
    unsafe kollus_curl_multi_perform(multi, &running)
    reap()
    var isResumed = false
    for transfer in transfers.values where transfer.isPaused {
      if transfer.resumeIfReady() { isResumed = true }
    }
    guard !isResumed else { return }
    let delay = throttle?.delay ?? 0
    unsafe kollus_curl_multi_poll(multi, delay > 0 ? delay : 1_000)
  }

  mutating func end() {
    for transfer in transfers.values {
      unsafe kollus_curl_multi_remove_handle(multi, transfer.easy.handle)
      transfer.cancel()
    }
    transfers = [:]
    spare = []
  }

  private mutating func reap() {
    var left: Int32 = 0
    while let message = unsafe kollus_curl_multi_info_read(multi, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle else {
        continue
      }
      var context: UnsafeMutableRawPointer?
      unsafe kollus_curl_get_pointer(handle, CURLINFO_PRIVATE, &context)
      guard let context = unsafe context else { continue }
      let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      let result = unsafe kollus_curl_result(message)
      remove(transfer)
      transfer.finish(result)
    }
  }

  /// Takes the transfer off the multi handle and keeps its easy handle for the next one.
  private mutating func remove(_ transfer: Transfer) {
    unsafe kollus_curl_multi_remove_handle(multi, transfer.easy.handle)
    transfers[transfer.ticket.id] = nil
    unsafe kollus_curl_easy_reset(transfer.easy.handle)
    if spare.count < 16 { spare.append(transfer.easy) }
  }
}

/// Owns one easy handle; used on the engine's thread only.
@safe final class EasyHandle {
  let handle: UnsafeMutableRawPointer

  init?() {
    guard let handle = unsafe kollus_curl_easy_init() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe kollus_curl_easy_cleanup(handle) }
}
