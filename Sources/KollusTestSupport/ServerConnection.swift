import Foundation
import Glibc

/// One connection of a ``ScriptedServer``, on a thread of its own.
struct ServerConnection {
  private static let mostHeadBytes = 64 << 10
  private static let mostBodyBytes = 16 << 20

  let socket: Int32
  let core: ScriptedServer.Core
  private var received: [UInt8] = []

  init(socket: Int32, core: ScriptedServer.Core) {
    self.socket = socket
    self.core = core
    // Small, so that the bytes counted as sent do not run far ahead of those the client has.
    set(SOL_SOCKET, SO_SNDBUF, 128 << 10)
    set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
  }

  func serve() {
    var connection = self
    while let request = connection.nextRequest() {
      let (answer, number) = core.answer(to: request)
      guard connection.send(answer, to: request, number: number) else { return }
    }
  }

  private mutating func nextRequest() -> ServedRequest? {
    var end = Self.endOfHead(received)
    while end == nil {
      guard received.count < Self.mostHeadBytes, receive() else { return nil }
      end = Self.endOfHead(received)
    }
    guard let end else { return nil }
    let head = String(decoding: received[..<end], as: UTF8.self)
    received.removeFirst(end + 4)
    let length = ServedRequest(head: head, body: [])?.headers["content-length"].flatMap { Int($0) } ?? 0
    guard (0...Self.mostBodyBytes).contains(length) else { return nil }
    while received.count < length { guard receive() else { return nil } }
    let body = Array(received.prefix(length))
    received.removeFirst(length)
    return ServedRequest(head: head, body: body)
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual([13, 10, 13, 10]) }
  }

  private mutating func receive() -> Bool {
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = unsafe recv(socket, &piece, piece.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      received += piece.prefix(count)
      return true
    }
  }

  /// True when the connection may serve another request.
  private func send(_ answer: Answer, to request: ServedRequest, number: Int) -> Bool {
    defer { core.sent(0, on: number, finished: true) }
    guard pause(answer.delay), send(Array(answer.head.utf8)[...]) else { return false }
    let hasBody = request.method != "HEAD" && answer.status != 304 && answer.status != 204
    guard hasBody else { return !answer.endsConnection }
    guard sendBody(answer, number: number) else { return false }
    return !answer.endsConnection
  }

  private func sendBody(_ answer: Answer, number: Int) -> Bool {
    let body = answer.body
    let end = min(body.count, answer.cutAfter ?? .max, answer.stallAfter ?? .max)
    let start = ContinuousClock.now
    let step = answer.bytesPerSecond.map { max(1, min(16 << 10, $0 / 64)) } ?? 64 << 10
    var isChunked = false
    if case .chunked = answer.framing { isChunked = true }
    var count = 0
    while count < end {
      let piece = body[(body.startIndex + count)..<(body.startIndex + min(count + step, end))]
      guard !isChunked || send(text: String(piece.count, radix: 16) + "\r\n"),
        send(piece, counting: number), !isChunked || send(text: "\r\n")
      else { return false }
      count += piece.count
      if let rate = answer.bytesPerSecond, rate > 0 {
        let due = start + .nanoseconds(Int64(Double(count) / Double(rate) * 1e9))
        guard pause(due - .now) else { return false }
      }
    }
    if let limit = answer.cutAfter, limit <= body.count { return false }
    if answer.stallAfter != nil {
      _ = pause(answer.stallLimit)
      return false
    }
    return !isChunked || send(text: "0\r\n\r\n")
  }

  /// Lets time pass; false when the other side went away meanwhile.
  private func pause(_ duration: Duration) -> Bool {
    let end = ContinuousClock.now + duration
    while case let rest = end - .now, rest > .zero {
      let milliseconds = Int(rest / .milliseconds(1)) + 1
      guard Descriptors.wait(for: socket, milliseconds: milliseconds) else { continue }
      var byte: UInt8 = 0
      guard unsafe recv(socket, &byte, 1, Int32(MSG_PEEK)) > 0 else { return false }
      // A request sent ahead of its turn: nothing to wait for on the socket any more.
      Thread.sleep(forTimeInterval: max(0, (end - .now) / .seconds(1)))
    }
    return true
  }

  private func send(text: String) -> Bool { send(Array(text.utf8)[...]) }

  private func send(_ bytes: ArraySlice<UInt8>, counting number: Int? = nil) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      var rest = unsafe bytes[...]
      while unsafe !rest.isEmpty {
        let piece = unsafe UnsafeRawBufferPointer(rebasing: rest)
        let count = unsafe Glibc.send(socket, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        if let number { core.sent(count, on: number) }
        unsafe rest = rest.dropFirst(count)
      }
      return true
    }
  }

  private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    _ = unsafe setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
