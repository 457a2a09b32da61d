import KollusTestSupport
import ServerKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPServerTests {
  static func echo(_ configuration: HTTPServer.Configuration = HTTPServer.Configuration()) throws
    -> HTTPServer
  {
    try HTTPServer(configuration) { request in
      let text =
        "\(request.method) \(request.path) \(request.query ?? "-") \(request.headers["x-one"] ?? "-") "
      return Response(
        status: 200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8) + request.body)
    }
  }

  static let both: [HTTPServer.Threading] = [.perConnection, .shared(threads: 1), .shared(threads: 2)]

  static func configuration(_ threading: HTTPServer.Threading) -> HTTPServer.Configuration {
    var configuration = HTTPServer.Configuration()
    configuration.threading = threading
    return configuration
  }

  @Test(arguments: both)
  func `one connection carries several requests`(_ threading: HTTPServer.Threading) throws {
    let server = try Self.echo(Self.configuration(threading))
    let client = try LoopbackClient(port: server.port)
    for turn in 0..<5 {
      try client.request(
        "/a?turn=\(turn)", method: "POST", headers: ["X-ONE: yes"], body: Array("hello".utf8))
      let answer = try client.answer()
      #expect(answer.status == 200)
      #expect(answer.text == "POST /a turn=\(turn) yes hello")
      #expect(answer.headers["connection"] == nil)
    }
  }

  @Test(arguments: [
    ("/a%2Fb", "/a%2Fb -"), ("/%2e%2e/x", "/%2e%2e/x -"), ("/../x", "/../x -"), ("//a", "//a -"),
    ("/+%20", "/+%20 -"),
    ("/a?b=%26&c?d", "/a b=%26&c?d"), ("/?", "/ "), ("/%00", "/%00 -"), ("/수?강=1", "/수 강=1"),
  ])
  func `paths and queries come undecoded`(_ target: String, _ expected: String) throws {
    let server = try Self.echo()
    #expect(try LoopbackClient.fetch(target, port: server.port).text == "GET \(expected) - ")
  }

  @Test(arguments: [
    Array("/a\u{1b}[31m".utf8), Array("/a\u{7f}".utf8), Array("/\u{9b}31m".utf8), [0x2f, 0xff],
    Array("a".utf8),
    Array("http://127.0.0.1/".utf8), Array("*".utf8),
  ])
  func `a target that is no clean path never reaches the handler`(_ target: [UInt8]) throws {
    let seen = Protected<[String]>([])
    let server = try HTTPServer(observe: { request, _, status in
      seen.withLock { $0.append("\(request.path) \(status)") }
    }) {
      _ in Response(status: 200)
    }
    let client = try LoopbackClient(port: server.port)
    try client.send(Array("GET ".utf8) + target + Array(" HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    #expect(try client.answer().status == 400)
    #expect(seen.withLock { $0 } == ["- 400"])
  }

  @Test func `a chunked body is put together`() throws {
    let server = try Self.echo()
    let client = try LoopbackClient(port: server.port)
    try client.request("/", method: "POST", headers: ["Transfer-Encoding: chunked"])
    try client.send(Array("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n".utf8))
    #expect(try client.answer().text == "POST / - - hello world")
  }

  @Test func `bodies up to the limit are taken and larger ones answered by 413`() throws {
    var configuration = HTTPServer.Configuration()
    configuration.maximumBody = 10
    let server = try Self.echo(configuration)
    let fitting = try LoopbackClient.fetch(
      "/", port: server.port, method: "POST", body: Array("0123456789".utf8))
    #expect(fitting.status == 200)

    let announced = try LoopbackClient(port: server.port)
    try announced.request("/", method: "POST", headers: ["Content-Length: 11"])
    #expect(try announced.answer().status == 413)

    let chunked = try LoopbackClient(port: server.port)
    try chunked.request("/", method: "POST", headers: ["Transfer-Encoding: chunked"])
    try chunked.send(Array("6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n".utf8))
    #expect(try chunked.answer().status == 413)
    #expect(try chunked.isAtEnd())
  }

  @Test func `a body without end is cut off`() throws {
    var configuration = HTTPServer.Configuration()
    configuration.maximumBody = 10
    let server = try Self.echo(configuration)
    let client = try LoopbackClient(port: server.port)
    try client.request("/", method: "POST", headers: ["Transfer-Encoding: chunked"])
    let chunk = Array("10000\r\n".utf8) + Array(repeating: 0x61, count: 0x10000) + [13, 10]
    #expect(throws: SystemError.self) { for _ in 0..<10_000 { try client.send(chunk) } }
  }

  @Test(arguments: both)
  func `a handler may give no answer`(_ threading: HTTPServer.Threading) throws {
    let seen = Protected<[Int]>([])
    let observe: HTTPServer.Observer = { _, response, status in
      seen.withLock { $0 += [status, response.notes.count] }
    }
    let server = try HTTPServer(Self.configuration(threading), observe: observe) { request in
      guard request.path == "/drop" else { return Response(status: 200) }
      var response = Response.dropped
      response.notes = ["dropped"]
      return response
    }
    let client = try LoopbackClient(port: server.port)
    try client.request("/drop", method: "POST", body: [1])
    #expect(try client.isAtEnd())
    #expect(try LoopbackClient.fetch("/", port: server.port).status == 200)
    #expect(seen.withLock { $0 } == [0, 1, 200, 0])
  }

  @Test func `a slow handler does not hold up others`() throws {
    let server = try HTTPServer { request in
      Response(status: request.path == "/slow" && request.pause(for: .seconds(50)) ? 504 : 200)
    }
    let slow = try LoopbackClient(port: server.port)
    try slow.request("/slow")
    let start = ContinuousClock.now
    for _ in 0..<20 { #expect(try LoopbackClient.fetch("/", port: server.port).status == 200) }
    server.stop()
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `a pause lasts as long as asked`() throws {
    let server = try HTTPServer { request in
      let start = ContinuousClock.now
      let wasFull = request.pause(for: .milliseconds(30))
      return Response(status: wasFull && ContinuousClock.now - start >= .milliseconds(30) ? 200 : 500)
    }
    #expect(try LoopbackClient.fetch("/", port: server.port).status == 200)
  }

  @Test(arguments: both)
  func `stop cuts a transfer off at once, and may be called again`(_ threading: HTTPServer.Threading) throws {
    let server = try HTTPServer(Self.configuration(threading)) { _ in
      Response(media: Media(Zeros(), type: "video/mp4", entityTag: nil))
    }
    let client = try LoopbackClient(port: server.port)
    try client.request("/", headers: ["Range: bytes=0-"])
    let idle = try LoopbackClient(port: server.port)
    let start = ContinuousClock.now
    server.stop()
    server.stop()
    #expect(ContinuousClock.now - start < .seconds(30))
    #expect(try idle.isAtEnd())
    #expect(throws: SystemError.self) { try LoopbackClient(port: server.port) }
  }

  @Test func `a port in use is told as such`() throws {
    let server = try Self.echo()
    var configuration = HTTPServer.Configuration()
    configuration.port = server.port
    #expect(throws: ServerError(.addressInUse, number: 98)) { try Self.echo(configuration) }
    server.stop()
    _ = try Self.echo(configuration)
  }

  @Test(arguments: [("localhost", 0), ("", 0), ("127.0.0.1", 65_536), ("127.0.0.1", -1)])
  func `an address that is none is refused`(_ address: String, _ port: Int) {
    var configuration = HTTPServer.Configuration()
    (configuration.address, configuration.port) = (address, port)
    #expect(throws: ServerError(.badAddress)) { try Self.echo(configuration) }
  }

  @Test func `an idle connection ends after the time-out unless an answer grants patience`() throws {
    var configuration = HTTPServer.Configuration()
    configuration.timeout = .seconds(1)
    let server = try HTTPServer(configuration) { request in
      Response(status: 200, timeout: request.path == "/patient" ? .zero : nil)
    }
    let patient = try LoopbackClient(port: server.port)
    try patient.request("/patient")
    #expect(try patient.answer().status == 200)
    let other = try LoopbackClient(port: server.port)
    try other.request("/other")
    #expect(try other.answer().status == 200)
    #expect(try other.isAtEnd())
    try patient.request("/patient")
    #expect(try patient.answer().status == 200)
  }

  @Test func `connections beyond the limit of shared threads wait their turn`() throws {
    var configuration = Self.configuration(.shared(threads: 1))
    configuration.connectionLimit = 2
    let server = try Self.echo(configuration)
    var open = try (0..<2).map { _ in
      let client = try LoopbackClient(port: server.port)
      try client.request("/")
      #expect(try client.answer().status == 200)
      return client
    }
    let third = try LoopbackClient(port: server.port)
    try third.request("/")
    open.removeFirst()
    #expect(try third.answer().status == 200)
  }

  @Test func `a header that would break the answer open becomes a 500`() throws {
    let server = try HTTPServer { _ in Response(status: 200, headers: ["X-Name": "a\r\nSet-Cookie: b"]) }
    let answer = try LoopbackClient.fetch("/", port: server.port)
    #expect(answer.status == 500)
    #expect(answer.headers["set-cookie"] == nil)
  }

  @Test func `everything of a request is let go when it ends, however it ends`() throws {
    let alive = Protected<[Weak]>([])
    let server = try HTTPServer { _ in
      let source = Zeros()
      alive.withLock { $0.append(Weak(source)) }
      return Response(media: Media(source, type: "a/b", entityTag: nil))
    }
    for range in ["0-9", "0-"] {
      let client = try LoopbackClient(port: server.port)
      try client.request("/", headers: ["Range: bytes=\(range)"])
      if range == "0-9" { #expect(try client.answer().body.count == 10) }
    }
    let broken = try LoopbackClient(port: server.port)
    try broken.send(Array("GET /half HTTP/1.1\r\nHo".utf8))
    server.stop()
    #expect(alive.withLock { $0.allSatisfy { $0.source == nil } })
  }
}

/// A source far larger than any test would read.
private final class Zeros: MediaSource {
  let size = 1 << 50

  func read(at offset: Int, into buffer: inout MutableRawSpan) -> Int { buffer.byteCount }
}

private struct Weak: Sendable {
  weak let source: Zeros?

  init(_ source: Zeros) { self.source = source }
}
