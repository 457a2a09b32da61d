import KollusTestSupport
import ServerKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct MediaTests {
  static let content = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  static func serve(_ source: MemorySource, tag: String? = "\"v1\"") throws -> HTTPServer {
    try HTTPServer { _ in
      Response(media: Media(source, type: "video/mp4", entityTag: tag, lastModified: date))
    }
  }

  @Test(arguments: [
    ([], 200, 0, 1_000),
    (["Range: bytes=0-"], 206, 0, 1_000),
    (["Range: bytes=10-19"], 206, 10, 10),
    (["Range: bytes=999-"], 206, 999, 1),
    (["Range: bytes=-10"], 206, 990, 10),
    (["Range: bytes=-5000"], 206, 0, 1_000),
    (["Range: bytes=900-5000"], 206, 900, 100),
    (["Range: bytes=1000-"], 416, 0, 0),
    (["Range: bytes=-0"], 416, 0, 0),
    (["Range: bytes=5-4"], 200, 0, 1_000),
    (["Range: bytes=0-1,5-6"], 200, 0, 1_000),
    (["Range: lines=0-1"], 200, 0, 1_000),
    (["Range: bytes=10-19", "If-Range: \"v1\""], 206, 10, 10),
    (["Range: bytes=10-19", "If-Range: \"v2\""], 200, 0, 1_000),
    (["Range: bytes=10-19", "If-Range: W/\"v1\""], 200, 0, 1_000),
    (["Range: bytes=10-19", "If-Range: \(date)"], 206, 10, 10),
    (["Range: bytes=10-19", "If-Range: Sun, 06 Nov 1994 08:49:38 GMT"], 200, 0, 1_000),
    (["Range: bytes=2000-", "If-Range: \"v2\""], 200, 0, 1_000),
    (["If-None-Match: \"v1\""], 304, 0, 0),
    (["If-None-Match: \"v0\", W/\"v1\""], 304, 0, 0),
    (["If-None-Match: *"], 304, 0, 0),
    (["If-None-Match: \"v2\""], 200, 0, 1_000),
    (["If-None-Match: \"v1\"", "Range: bytes=0-0"], 304, 0, 0),
    (["If-Modified-Since: \(date)"], 304, 0, 0),
    (["If-Modified-Since: \(date)", "If-None-Match: \"v2\""], 200, 0, 1_000),
  ])
  func `a request gets its part`(_ headers: [String], _ status: Int, _ first: Int, _ count: Int) throws {
    let server = try Self.serve(MemorySource(Self.content))
    let answer = try LoopbackClient.fetch("/", port: server.port, headers: headers)
    #expect(answer.status == status)
    #expect(answer.body == Array(Self.content[first..<first + count]))
    #expect(answer.headers["etag"] == "\"v1\"")
    #expect(answer.headers["accept-ranges"] == "bytes")
    #expect(answer.headers["last-modified"] == Self.date)
    #expect(answer.headers["content-type"] == (status < 300 ? "video/mp4" : nil))
    let range = [206: "bytes \(first)-\(first + count - 1)/1000", 416: "bytes */1000"]
    #expect(answer.headers["content-range"] == range[status])
  }

  @Test func `a whole body may have another status, a part has its own`() throws {
    let server = try HTTPServer { _ in
      var response = Response(media: Media(MemorySource(Self.content), type: "a/b", entityTag: nil))
      response.status = 503
      return response
    }
    let whole = try LoopbackClient.fetch("/", port: server.port)
    #expect(whole.status == 503)
    #expect(whole.body == Self.content)
    #expect(try LoopbackClient.fetch("/", port: server.port, headers: ["Range: bytes=0-9"]).status == 206)
  }

  @Test func `HEAD tells the size without reading, and knows no ranges`() throws {
    let source = MemorySource(Self.content)
    let server = try Self.serve(source)
    let client = try LoopbackClient(port: server.port)
    for headers in [[], ["Range: bytes=0-9"]] {
      try client.request("/", method: "HEAD", headers: headers)
      let answer = try client.answer(to: "HEAD")
      #expect(answer.status == 200)
      #expect(answer.headers["content-length"] == "1000")
    }
    #expect(source.reads == 0)
  }

  @Test func `an empty source is an empty body`() throws {
    let server = try Self.serve(MemorySource([]))
    let answer = try LoopbackClient.fetch("/", port: server.port)
    #expect(answer.status == 200)
    #expect(answer.headers["content-length"] == "0")
  }

  @Test func `a source that gives little at a time is asked until all is there`() throws {
    let server = try Self.serve(MemorySource(Self.content, atMost: 7))
    #expect(try LoopbackClient.fetch("/", port: server.port).body == Self.content)
  }

  @Test func `a source that fails leaves a body that is seen to be short`() throws {
    let server = try Self.serve(MemorySource(Self.content, atMost: 100, failingAt: 500))
    let answer = try LoopbackClient.fetch("/", port: server.port)
    #expect(!answer.isComplete)
    #expect(answer.body == Array(Self.content[..<500]))
  }

  @Test func `media larger than any buffer arrives whole`() throws {
    let large = (0..<5_000_011).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
    let server = try Self.serve(MemorySource(large))
    #expect(try LoopbackClient.fetch("/", port: server.port).body == large)
    let part = try LoopbackClient.fetch("/", port: server.port, headers: ["Range: bytes=1048575-3145729"])
    #expect(part.body == Array(large[1_048_575...3_145_729]))
  }
}

/// Bytes in memory that count how often they are read, and may be slow to come or fail.
final class MemorySource: MediaSource {
  let size: Int
  private let bytes: [UInt8]
  private let most: Int
  private let failure: Int
  private let count = Protected(0)

  var reads: Int { count.withLock { $0 } }

  init(_ bytes: [UInt8], atMost most: Int = .max, failingAt failure: Int = .max) {
    (self.bytes, size, self.most, self.failure) = (bytes, bytes.count, most, failure)
  }

  func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int {
    count.withLock { $0 += 1 }
    guard offset < failure else { throw ServerError(.system) }
    let part = bytes[offset..<min(size, offset + min(most, buffer.byteCount))]
    for (index, byte) in part.enumerated() {
      buffer.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
    }
    return part.count
  }
}
