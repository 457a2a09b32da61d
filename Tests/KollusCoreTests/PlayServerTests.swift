import KollusTestSupport
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PlayServerTests {
  static let plain = randomBytes(200_000)

  private func server(spoiled: Bool = false, told: KollusTestSupport.Protected<Int?> = .init(nil)) throws
    -> PlayServer
  {
    let path = TemporaryDirectory.path + "/x.sealed"
    let file = try CoreStage.sealedFile(at: path, plain: Self.plain)
    return try PlayServer(
      SealedMedia(file) { segment in told.withLock { $0 = segment } }, type: "video/mp4", identity: "abc")
  }

  private func fetch(_ url: String, host: String? = nil, _ lines: [String] = []) throws
    -> LoopbackClient.Answer
  {
    let rest = url.dropFirst("http://".count)
    let slash = try #require(rest.firstIndex(of: "/"))
    let port = try #require(rest[..<slash].split(separator: ":").last.flatMap { Int($0) })
    let client = try LoopbackClient(port: port)
    let head = ["GET \(rest[slash...]) HTTP/1.1", "Host: \(host ?? String(rest[..<slash]))"] + lines
    try client.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    return try client.answer()
  }

  @Test func `the plain bytes are served under a strong tag`() throws {
    let server = try server()
    let answer = try fetch(server.url)
    #expect(answer.status == 200 && answer.body == Self.plain)
    #expect(answer.headers["etag"] == "\"abc\"" && answer.headers["x-content-type-options"] == "nosniff")
    let part = try fetch(server.url, ["Range: bytes=65000-66000"])
    #expect(part.status == 206 && part.body == Array(Self.plain[65_000...66_000]))
    server.stop()
    #expect(throws: (any Error).self) { try fetch(server.url) }
  }

  @Test func `no two servers have the same path, and neither knows the other's`() throws {
    let (one, other) = (try server(), try server())
    let path = try #require(one.url.split(separator: "/").last)
    #expect(path.count == 48 && other.url.split(separator: "/").last != path)
    let host = try #require(other.url.split(separator: "/").dropFirst().first)
    #expect(try fetch("http://\(host)/\(path)").status == 404)
    #expect(try fetch(one.url, host: String(host)).status == 421)
    #expect(try fetch(one.url, host: "").status == 421)
  }

  @Test func `no path but the right one is answered`() throws {
    let server = try server()
    let start = try #require(server.url.lastIndex(of: "/"))
    let (site, path) = (server.url[...start], Array(server.url[server.url.index(after: start)...]))
    var guesses = [String(path).uppercased(), String(path.reversed()), String(path.dropLast()), ""]
    for index in path.indices {
      for digit in "0123456789abcdef" where digit != path[index] && Int.random(in: 0..<12) == 0 {
        var guess = path
        guess[index] = digit
        guesses.append(String(guess))
      }
    }
    for _ in 0..<60 {
      guesses.append(String((0..<48).compactMap { _ in "0123456789abcdef".randomElement() }))
    }
    let found = try guesses.filter { try fetch(site + $0).status != 404 }
    #expect(found == [], "of \(path)")
  }

  @Test func `a reader that stops reading is cut off by the end`() throws {
    let server = try server()
    let rest = server.url.dropFirst("http://".count)
    let port = try #require(rest.prefix { $0 != "/" }.split(separator: ":").last.flatMap { Int($0) })
    let client = try LoopbackClient(port: port)
    let path = rest.drop { $0 != "/" }
    try client.send(Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8))
    let start = ContinuousClock.now
    server.stop()
    #expect(start.duration(to: .now) < .seconds(2))
  }
}
