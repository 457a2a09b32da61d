import Glibc

/// One connection to a server on the loopback that sends exactly the bytes it is given: what a test of a
/// server needs
/// and a real client would tidy up.
package final class LoopbackClient: Sendable {
  /// What came back: the body as long as `Content-Length` says, or as far as it got.
  package struct Answer: Sendable {
    package let status: Int
    package let headers: [String: String]
    package let body: [UInt8]
    /// Whether all of the body came.
    package let isComplete: Bool

    package var text: String { String(decoding: body, as: UTF8.self) }
  }

  private let socket: Int32

  /// Connects; every wait for bytes ends after 20 seconds.
  package init(port: Int) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    let descriptor = socket
    let failed = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
      }
    }
    guard !failed else { throw SystemError(number: errno) }
  }

  deinit { close(socket) }

  /// Sends one request on a connection of its own and reads its answer.
  package static func fetch(
    _ target: String, port: Int, method: String = "GET", headers: [String] = [], body: [UInt8] = []
  ) throws -> Answer {
    let client = try LoopbackClient(port: port)
    try client.request(target, method: method, headers: headers, body: body)
    return try client.answer(to: method)
  }

  /// Sends a request with `Host`, the given lines, and `Content-Length` when there is a body.
  package func request(
    _ target: String, method: String = "GET", headers: [String] = [], body: [UInt8] = []
  ) throws {
    let length = body.isEmpty ? [] : ["Content-Length: \(body.count)"]
    let lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1"] + headers + length
    try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
  }

  /// Sends raw bytes, all of them.
  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw SystemError(number: errno) }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads one answer, and no byte of the next.
  package func answer(to method: String = "GET") throws -> Answer {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
      let byte = try receive(1)
      guard !byte.isEmpty else { throw SystemError(number: ECONNRESET) }
      head += byte
    }
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
    }
    let status = lines.first.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
    let hasBody = method != "HEAD" && status >= 200 && status != 204 && status != 304
    let length = hasBody ? headers["content-length"].flatMap { Int($0) } ?? .max : 0
    var body: [UInt8] = []
    while body.count < length {
      let part = try receive(min(length - body.count, 1 << 16))
      guard !part.isEmpty else { break }
      body += part
    }
    return Answer(
      status: status, headers: headers, body: body, isComplete: length == .max || body.count == length)
  }

  /// Whether the server has closed the connection, waiting for it or for more bytes.
  package func isAtEnd() throws -> Bool { try receive(1).isEmpty }

  /// Reads at most so many bytes; none when the server closed or reset the connection.
  private func receive(_ size: Int) throws -> [UInt8] {
    var failure: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let received = unsafe recv(socket, buffer.baseAddress, size, 0)
      count = max(received, 0)
      failure = received < 0 && errno != ECONNRESET ? errno : 0
    }
    guard failure == 0 else { throw SystemError(number: failure) }
    return bytes
  }
}
