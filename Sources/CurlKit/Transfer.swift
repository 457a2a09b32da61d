import CCurl
import Synchronization

/// One easy handle at work; owned by the engine's thread.
///
/// Invariant behind `@unchecked Sendable`: made on, used by and released on the engine's thread.
@safe final class Transfer: @unchecked Sendable {
  /// Who does not want bytes now.
  private enum Pause { case none, rate, receiver }

  let easy: EasyHandle
  let ticket: Ticket
  private let receiver: any BodyReceiver
  private var pause = Pause.none
  var isPaused: Bool { pause != .none }
  private let completion: CheckedContinuation<ResponseHead, any Error>
  private let throttle: Throttle?
  private var lines: [(name: String, value: String)] = []
  private var headerBytes = 0
  private var status = 0
  private var hasBegun = false
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private let postBody: UnsafeMutableBufferPointer<UInt8>?
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init(
    _ request: Request, on easy: EasyHandle, ticket: Ticket, receiver: any BodyReceiver, throttle: Throttle?,
    completion: CheckedContinuation<ResponseHead, any Error>
  ) {
    (self.easy, self.ticket) = (easy, ticket)
    (self.receiver, self.throttle, self.completion) = (receiver, throttle, completion)
    unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    if case .post(let body, _) = request.method {
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(body.count, 1))
      _ = unsafe copy.initialize(from: body)
      unsafe postBody = UnsafeMutableBufferPointer(rebasing: copy[..<body.count])
    } else {
      unsafe postBody = nil
    }
    configure(request)
  }

  deinit {
    unsafe kollus_curl_slist_free_all(headerList)
    unsafe postBody?.baseAddress?.deallocate()
    unsafe errorText.deallocate()
  }

  private func configure(_ request: Request) {
    let handle = unsafe easy.handle
    let options = request.options
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    func set(_ option: CURLoption, _ value: Int) { unsafe kollus_curl_set_long(handle, option, value) }
    func set(_ option: CURLoption, _ value: String) { unsafe kollus_curl_set_string(handle, option, value) }
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A connection each is what the caller counts; HTTP/2 would fold them into one.
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_BUFFERSIZE, request.bufferSize)
    set(CURLOPT_USERAGENT, options.userAgent)
    set(CURLOPT_PATH_AS_IS, 1)
    let seconds = max(1, Int(options.timeout.components.seconds))
    set(CURLOPT_CONNECTTIMEOUT_MS, max(1, options.timeout.milliseconds))
    // libcurl counts whole seconds of a mean speed; a paused transfer is not counted.
    set(CURLOPT_LOW_SPEED_TIME, seconds)
    set(CURLOPT_LOW_SPEED_LIMIT, max(1, options.stallBytes / seconds))
    if let caFile = options.caFile { set(CURLOPT_CAINFO, caFile) }
    if request.address.isLoopback {
      set(CURLOPT_PROXY, "")
    } else if let proxy = options.proxy {
      set(CURLOPT_PROXY, proxy)
    }
    set(CURLOPT_URL, request.address.text)
    var headers = request.headers
    if case .post(_, let type) = request.method {
      headers.append("Content-Type: \(type)")
      headers.append("Expect:")
      set(CURLOPT_POST, 1)
      unsafe kollus_curl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(postBody?.count ?? 0))
      unsafe kollus_curl_set_pointer(
        handle, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(postBody?.baseAddress))
    }
    for header in headers { unsafe headerList = kollus_curl_slist_append(headerList, header) }
    unsafe kollus_curl_set_headers(handle, headerList)
    unsafe kollus_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText))
    unsafe kollus_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
    unsafe kollus_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
    unsafe kollus_curl_set_pointer(handle, CURLOPT_PRIVATE, context)
    unsafe kollus_curl_set_receive(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
      let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count).bytes
      return transfer.header(line) ? size * count : 0
    }
    unsafe kollus_curl_set_receive(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
      let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      switch transfer.receive(unsafe UnsafeRawBufferPointer(start: bytes, count: size * count).bytes) {
      case .taken: return size * count
      case .later: return Int(CURL_WRITEFUNC_PAUSE)
      case .refused: return 0
      }
    }
  }

  private func header(_ line: RawSpan) -> Bool {
    headerBytes += line.byteCount
    // Trailers count as well, though nothing here reads one.
    guard headerBytes <= 64 << 10 else { return false }
    guard !hasBegun else { return true }
    let text = unsafe line.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
      .trimmingSuffix(while: \.isWhitespace)
    if text.hasPrefix("HTTP/") {
      lines = []
      status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
    } else if text.isEmpty {
      guard status >= 200 else { return true }
      hasBegun = true
      return receiver.begin(ResponseHead(status: status, headers: lines))
    } else if let colon = text.firstIndex(of: ":") {
      let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      lines.append((text[..<colon].lowercased(), String(value)))
    }
    return true
  }

  private func receive(_ bytes: RawSpan) -> Reception {
    if let throttle, !throttle.mayReceive {
      pause = .rate
      return .later
    }
    let reception = receiver.receive(bytes)
    switch reception {
    case .taken: throttle?.count(bytes.byteCount)
    case .later: pause = .receiver
    case .refused: break
    }
    return reception
  }

  /// Lets a paused transfer go on when its receiver and the rate allow it.
  func resumeIfReady() -> Bool {
    switch pause {
    case .none: return false
    case .rate: guard throttle?.mayReceive ?? true else { return false }
    case .receiver: guard receiver.canResume else { return false }
    }
    pause = .none  // First: the callback may run inside the call and pause again.
    unsafe kollus_curl_easy_pause(easy.handle, CURLPAUSE_CONT)
    return true
  }

  func finish(_ result: CURLcode) {
    guard result == CURLE_OK, hasBegun else {
      let detail = unsafe String(cString: errorText)
      completion.resume(
        throwing: CurlError(result == CURLE_OK ? CURLE_GOT_NOTHING : result, detail: detail))
      return
    }
    completion.resume(returning: ResponseHead(status: status, headers: lines))
  }

  func cancel() { completion.resume(throwing: CancellationError()) }
}

extension StringProtocol {
  /// The text without what `isUnwanted` says of its end.
  func trimmingSuffix(while isUnwanted: (Character) -> Bool) -> String {
    var end = endIndex
    while end > startIndex, isUnwanted(self[index(before: end)]) { end = index(before: end) }
    return String(self[..<end])
  }
}

extension Duration {
  var milliseconds: Int {
    Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}
