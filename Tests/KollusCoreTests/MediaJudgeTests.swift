import CurlKit
import KollusTestSupport
import Testing

@testable import KollusCore

@Suite struct MediaJudgeTests {
  let judge = MediaJudge(size: 100, type: "video/mp4", policy: HTTPPolicy(allowsPlainHTTP: false))

  enum Expected: Sendable {
    case body, noRanges, changed, resized, denied, busy(Double?), foreign, redirect(String)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let status: Int
    var headers: [String: String] = [:]
    var first: Int64? = 10
    var validator: Validator? = .entityTag("\"v\"")
    let expected: Expected
    /// Whether an answer without a tag is meant as it stands.
    var isBare = false
    var testDescription: String { "\(status) \(headers) from \(first.map(String.init) ?? "-")" }
  }

  static let cases: [Case] = [
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/100", "ETag": "\"v\""], expected: .body),
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/100"], expected: .changed, isBare: true),
    Case(status: 200, headers: ["Content-Length": "100"], first: nil, expected: .changed, isBare: true),
    Case(status: 206, headers: ["Content-Range": "bytes 10-10/100"], expected: .body),
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/*"], expected: .body),
    Case(status: 206, headers: ["Content-Range": "bytes 0-99/100"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Range": "bytes 11-99/100"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Range": "bytes 10-100/*"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Range": "nonsense"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Range": "bytes */100"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Type": "multipart/byteranges; boundary=x"], expected: .noRanges),
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/101"], expected: .resized),
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/101", "ETag": "\"w\""], expected: .changed),
    Case(status: 206, headers: ["Content-Range": "bytes 10-99/100", "ETag": "\"w\""], expected: .changed),
    Case(
      status: 206, headers: ["Content-Range": "bytes 10-99/100", "ETag": "\"w\""], validator: nil,
      expected: .body),
    Case(status: 206, headers: ["Content-Range": "bytes 0-99/100"], first: nil, expected: .body),
    Case(status: 206, headers: ["Content-Range": "bytes 0-49/100"], first: nil, expected: .body),
    Case(status: 200, headers: ["Content-Length": "100"], first: nil, expected: .body),
    Case(status: 200, first: nil, expected: .body),
    Case(status: 200, headers: ["Content-Length": "99"], first: nil, expected: .resized),
    Case(status: 200, headers: ["Content-Length": "100", "ETag": "\"w\""], first: nil, expected: .changed),
    Case(status: 200, headers: ["Content-Length": "100"], expected: .noRanges),
    Case(status: 200, headers: ["Content-Length": "100"], first: 0, expected: .noRanges),
    Case(status: 200, headers: ["Content-Length": "101"], expected: .resized),
    Case(status: 200, headers: ["Content-Type": "text/html; charset=utf-8"], first: nil, expected: .foreign),
    Case(status: 200, headers: ["Content-Type": "TEXT/HTML"], expected: .foreign),
    Case(
      status: 206, headers: ["Content-Type": "application/xhtml+xml", "Content-Range": "bytes 10-99/100"],
      expected: .foreign),
    Case(status: 200, headers: ["Content-Encoding": "gzip"], first: nil, expected: .foreign),
    Case(status: 200, headers: ["Content-Encoding": "Identity"], first: nil, expected: .body),
    Case(status: 200, headers: ["Content-Type": "application/octet-stream"], first: nil, expected: .body),
    Case(status: 416, headers: ["Content-Range": "bytes */100"], expected: .noRanges),
    Case(status: 416, headers: ["Content-Range": "bytes */50"], expected: .resized),
    Case(status: 416, expected: .noRanges),
    Case(status: 503, headers: ["Retry-After": "3"], expected: .busy(1_003)),
    Case(status: 429, expected: .busy(nil)), Case(status: 408, expected: .busy(nil)),
    Case(status: 425, expected: .busy(nil)),
    Case(status: 500, headers: ["Content-Type": "text/html"], expected: .busy(nil)),
    Case(status: 599, expected: .busy(nil)),
    Case(status: 401, expected: .denied),
    Case(status: 403, headers: ["Content-Type": "text/html"], expected: .denied),
    Case(status: 404, expected: .denied), Case(status: 410, expected: .denied),
    Case(status: 204, expected: .denied),
    Case(status: 201, expected: .denied), Case(status: 600, expected: .denied),
    Case(status: 304, expected: .denied),
    Case(status: 302, headers: ["Location": "/y?z"], expected: .redirect("https://h/y?z")),
    Case(status: 302, headers: ["Location": "http://h/y"], expected: .denied),
    Case(status: 302, expected: .denied),
  ]

  @Test(arguments: cases) func `an answer means one thing`(_ given: Case) throws {
    var headers = given.headers
    if !given.isBare, headers["ETag"] == nil { headers["ETag"] = "\"v\"" }
    let answer = judge.judge(
      CoreStage.head(given.status, headers), from: try CoreStage.address("https://h/x"),
      first: given.first,
      validator: given.validator, now: 1_000)
    let isRight =
      switch (answer, given.expected) {
      case (.body(let from, _), .body): from == given.first ?? 0
      case (.noRanges, .noRanges), (.changed, .changed), (.resized, .resized), (.foreign, .foreign): true
      case (.denied(let status), .denied): status == given.status && !(300...399).contains(status)
      case (.strayed(let status), .denied): status == given.status && (300...399).contains(status)
      case (.busy(given.status, let retryAfter), .busy(let expected)): retryAfter == expected
      case (.redirect(let target), .redirect(let expected)): target.text == expected
      default: false
      }
    #expect(isRight, "\(answer)")
  }

  @Test func `a text content may be a page`() throws {
    let judge = MediaJudge(size: 100, type: "text/html", policy: HTTPPolicy(allowsPlainHTTP: false))
    let answer = judge.judge(
      CoreStage.head(200, ["Content-Type": "text/html"]), from: try CoreStage.address("https://h/x"),
      first: nil,
      validator: nil, now: 0)
    #expect(answer == .body(from: 0, through: 99))
  }
}
