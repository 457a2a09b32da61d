import CurlKit
import KollusTestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct HeaderTests {
  let engine: TransferEngine

  init() throws { engine = try TransferEngine() }

  @Test func `headers are found whatever their case`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in
      Answer(200).with("X-KOLLUS-UserKey", "k").with("x-colon", "a: b:c").with("X-Empty", "")
    }
    let head = try await engine.perform(Request(server), limit: 10).head
    #expect(head["x-kollus-userkey"] == "k")
    #expect(head["X-Kollus-UserKey"] == "k")
    #expect(head["X-Colon"] == "a: b:c")
    #expect(head["x-empty"] == "")
    #expect(head["absent"] == nil)
    #expect(head["content-length"] == "0")
  }

  @Test func `the first of two headers with one name counts`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in
      var answer = Answer(200)
      answer.headers = [("ETag", "\"one\""), ("etag", "\"two\"")]
      return answer
    }
    #expect(try await engine.perform(Request(server), limit: 10).head["etag"] == "\"one\"")
  }

  @Test(arguments: [" ", "\t", "  \t "])
  func `white space around a value is not part of it`(_ space: String) async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200).with("Retry-After", "\(space)3\(space)") }
    #expect(try await engine.perform(Request(server), limit: 10).head["retry-after"] == "3")
  }

  @Test func `an interim answer is passed over`() async throws {
    defer { engine.stop() }
    // The first head is a whole interim answer inside the header lines of the script.
    let server = try RawServer(
      "HTTP/1.1 103 Early Hints\r\nX-Interim: yes\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Final: yes\r\n\r\nok")
    let receiver = RecordingReceiver()
    let head = try await engine.perform(Request(url: server.url), into: receiver)
    #expect(receiver.heads == [head])
    #expect(head.status == 200)
    #expect(head["x-interim"] == nil)
    #expect(head["x-final"] == "yes")
    #expect(receiver.bytes == Array("ok".utf8))
  }

  @Test(arguments: [1, 2_000]) func `a flood of headers is refused`(_ lines: Int) async throws {
    defer { engine.stop() }
    let value = String(repeating: "x", count: 130_000 / lines)
    let server = try ScriptedServer { _ in
      var answer = Answer(200, text: "ok")
      for line in 0..<lines { answer.headers.append(("X-\(line)", value)) }
      return answer
    }
    let receiver = RecordingReceiver()
    await #expect(throws: CurlError.self) { try await engine.perform(Request(server), into: receiver) }
    #expect(receiver.heads.isEmpty)
  }

  @Test(arguments: [
    "", "nonsense\r\n\r\n", "HTTP/1.1 2000 X\r\n\r\n", "\0\0\0\0", "HTTP/1.1 200 OK\r\nContent-Length: 5",
  ])
  func `what is no answer is a failure`(_ text: String) async throws {
    defer { engine.stop() }
    let server = try RawServer(text)
    let receiver = RecordingReceiver()
    await #expect(throws: CurlError.self) {
      try await engine.perform(Request(url: server.url), into: receiver)
    }
    #expect(receiver.bytes.isEmpty)
  }

  @Test(arguments: [[], Array("a=b".utf8), [0, 1, 0xff], randomBytes(300_000)])
  func `a body is sent as it is, with its type`(_ body: [UInt8]) async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200) }
    var request = try Request(server, "/callback?x=y")
    request.method = .post(body: body, contentType: "application/x-www-form-urlencoded; charset=UTF-8")
    request.headers = ["X-One: 1"]
    _ = try await engine.perform(request, limit: 10)
    let served = try #require(server.exchanges.first?.request)
    #expect(served.method == "POST")
    #expect(served.target == "/callback?x=y")
    #expect(served.body == body)
    #expect(served.headers["content-type"] == "application/x-www-form-urlencoded; charset=UTF-8")
    #expect(served.headers["expect"] == nil)
    #expect(served.headers["x-one"] == "1")
    #expect(served.headers["user-agent"] == "kollus")
  }

  @Test func `a connection is used again, and nothing of a request lingers`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200) }
    var post = try Request(server)
    post.method = .post(body: [1], contentType: "text/plain")
    post.headers = ["Range: bytes=0-1"]
    _ = try await engine.perform(post, limit: 10)
    _ = try await engine.perform(Request(server), limit: 10)
    let second = try #require(server.exchanges.last?.request)
    #expect(second.method == "GET")
    #expect(second.body.isEmpty)
    #expect(second.headers["range"] == nil)
    #expect(second.headers["content-type"] == nil)
  }

  @Test func `an encoded body is not decoded`() async throws {
    defer { engine.stop() }
    let server = try ScriptedServer { _ in Answer(200, text: "xyz").with("Content-Encoding", "gzip") }
    let response = try await engine.perform(Request(server), limit: 10)
    #expect(response.body == Array("xyz".utf8))
    #expect(server.exchanges.first?.request.headers["accept-encoding"] == nil)
  }
}
