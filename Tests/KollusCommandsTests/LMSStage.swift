import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// A home with stored reports and a receiver for them, without any play.
///
/// The form of a report names it, as `s=SESSION&n=NUMBER` with numbers that rise within the session.
struct LMSStage: Sendable {
  let receiver: ScriptedServer
  var stage: CommandStage
  /// The home's library, as another process would have it open.
  let library: Library

  /// `name` may lead to another folder; the receiver takes everything until told otherwise.
  init(name: String = "kollus", _ settings: [String: String] = [:]) throws {
    receiver = try ScriptedServer { _ in Answer(200) }
    stage = try CommandStage(name: name, settings)
    library = try Library(Home(opening: stage.tool.home, machineID: stage.machineID))
  }

  var tool: Tool { stage.tool }

  func with(_ change: (inout Self) -> Void) -> Self {
    var other = self
    change(&other)
    return other
  }
}

// MARK: Stored reports

extension LMSStage {
  static let start: Int64 = 1_700_000_000

  /// A report that waits to be sent.
  func report(
    _ session: Int, _ number: Int, stream: Int64 = 0, url: String? = nil,
    _ change: (inout Report) -> Void = { _ in }
  ) -> Report {
    var report = Report(
      viewing: Int64(session), stream: stream, mediaContentKey: "lecture/\(session)", clientUserID: "user",
      startAt: Self.start + Int64(session), playStatus: "play", url: url ?? "\(receiver.url)/lms",
      body: "s=\(session)&n=\(number)")
    change(&report)
    return report
  }

  /// Stores `each` reports of every session, in turns as plays at the same time would.
  func fill(_ sessions: Range<Int>, each: Range<Int> = 0..<1, url: String? = nil, padding: Int = 0)
    async throws
  {
    let padding = padding > 0 ? "&p=" + String(repeating: "x", count: padding) : ""
    for number in each {
      let reports = sessions.map { session in
        report(session, number, url: url) { $0.body += padding }
      }
      try await library.add(reports, at: Int64(Date().timeIntervalSince1970))
    }
  }

  /// All that is stored, by what their forms said when they were stored; receipts by their number.
  func stored() async throws -> [Report] {
    let found = KollusTestSupport.Protected<[Report]>([])
    var selection = Library.ReportSelection()
    selection.states = Set(Report.State.allCases)
    try await library.forEachReport(selection) { report in found.withLock { $0.append(report) } }
    return found.withLock { $0 }
  }

  /// How many reports are in each state.
  func states() async throws -> [Report.State: Int] {
    try await stored().reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
  }
}

// MARK: What the receiver saw

extension LMSStage {
  /// Forms in the order of arrival, without padding.
  var received: [String] { Self.forms(receiver) }

  static func forms(_ receiver: ScriptedServer) -> [String] {
    receiver.exchanges.map { exchange in
      let words = String(decoding: exchange.request.body.prefix(64), as: UTF8.self).split(separator: "&")
      return words.prefix(2).joined(separator: "&")
    }
  }

  /// Names of the reports that these sessions hold.
  static func names(_ sessions: Range<Int>, each: Range<Int> = 0..<1) -> Set<String> {
    Set(sessions.flatMap { session in each.map { "s=\(session)&n=\($0)" } })
  }

  /// Fails the test where a report of a session came after a later one, or `once` is broken.
  func expectOrder(
    _ forms: [String]? = nil, once: Bool = true, at location: SourceLocation = #_sourceLocation
  ) {
    let forms = forms ?? received
    var last: [Substring: Int] = [:]
    for form in forms {
      let words = form.split(separator: "&")
      guard words.count == 2, let number = Int(words[1].dropFirst(2)) else {
        Issue.record("no report of ours: \(form)", sourceLocation: location)
        continue
      }
      let before = last[words[0]] ?? -1
      #expect(number >= before, "\(form) came after number \(before)", sourceLocation: location)
      last[words[0]] = number
    }
    if once { #expect(Set(forms).count == forms.count, "some came twice", sourceLocation: location) }
  }

  /// Answers the reports of one session by `answer`, all others with 200.
  func answer(session: Int, _ answer: Answer) {
    receiver.answer { request in
      String(decoding: request.body, as: UTF8.self).hasPrefix("s=\(session)&") ? answer : Answer(200)
    }
  }

  func answer(_ answer: Answer) { receiver.answer { _ in answer } }
}

// MARK: Runs

extension LMSStage {
  @discardableResult
  func run(_ words: String...) async -> CommandStage.Run { await stage.run(words) }

  /// A flush with all that a script can read of it.
  func flush(_ words: String...) async throws -> LMSFlush {
    let run = await stage.run(["lms-flush", "--json", "--events", "jsonl"] + words)
    return try LMSFlush(status: run.status, output: run.output, errors: run.errors)
  }

  /// The objects of `lms list`.
  func listed(_ words: String...) async throws -> [JSON] {
    Array(try await stage.run(["lms", "list", "--json"] + words).expect(0).json.elements)
  }
}

/// What `lms-flush --json --events jsonl` printed.
struct LMSFlush: Sendable {
  let status: Int32
  /// `nil` when no document was printed.
  let successCount: Int?
  let failCount: Int?
  let events: [JSON]
  let failures: [JSON]

  /// Fails the test unless everything parses and has the shape that is promised.
  init(status: Int32, output: String, errors: String, at location: SourceLocation = #_sourceLocation) throws {
    self.status = status
    let document = try output.isEmpty ? nil : JSON(parsing: output)
    if let document { expectShape(document, LMSContract.flushed, at: location) }
    successCount = try document?.integer("successCount").map(Int.init)
    failCount = try document?.integer("failCount").map(Int.init)
    let lines = JSONLines(errors, at: location).objects
    events = try lines.filter { try $0.member("event") != nil }
    failures = try lines.filter { try $0.member("event") == nil }
    for event in events {
      let isData = try event.string("event") == "lmsData"
      expectShape(event, isData ? LMSContract.data : LMSContract.complete, at: location)
      if isData, let result = try event.object("resultJson") {
        expectShape(result, LMSContract.result, at: location)
        if let error = try result.object("error") { expectShape(error, Contract.error, at: location) }
      }
    }
    #expect(try events.map { try $0.integer("seq") } == (0..<events.count).map { Int64($0 + 1) })
  }

  init(_ outcome: ChildProcess.Outcome) throws {
    try self.init(
      status: Int32(outcome.status ?? -1), output: outcome.standardOutput, errors: outcome.standardError)
  }

  /// Fails the test unless the run ended with this status and these counts.
  @discardableResult
  func expect(
    _ wanted: Int32, sent: Int? = nil, failed: Int? = nil, at location: SourceLocation = #_sourceLocation
  ) -> Self {
    let told = events.suffix(3).map(\.rawText).joined(separator: "\n").prefix(1_500)
    #expect(status == wanted, "\(told)", sourceLocation: location)
    if let sent { #expect(successCount == sent, "\(told)", sourceLocation: location) }
    if let failed { #expect(failCount == failed, "\(told)", sourceLocation: location) }
    return self
  }

  /// What came of each report, by its form: the HTTP status and the error's code, 0 without.
  var results: [String: (status: Int64?, code: Int64)] {
    get throws {
      var results: [String: (status: Int64?, code: Int64)] = [:]
      for event in events where try event.string("event") == "lmsData" {
        let result = try event.object("resultJson")
        let code = try result?.object("error")?.integer("code") ?? 0
        results[try event.string("lmsData") ?? ""] = (try result?.integer("status"), code)
      }
      return results
    }
  }
}

/// The members of JSON output on reports that callers build on.
enum LMSContract {
  private static let event = ["v integer", "seq integer", "at string", "event string"]
  static let data = event + ["lmsData string", "resultJson object"]
  static let result = ["mediaContentKey string", "status integer|null", "error object|null"]
  static let complete = event + ["successCount integer", "failCount integer"]
  static let flushed = ["successCount integer", "failCount integer"]
  static let pending = ["pending integer"]
  static let changed = ["count integer", "of integer"]
  static let listed = [
    "id integer", "state string", "mediaContentKey string", "clientUserID string", "startAt integer",
    "playStatus string", "url string", "createdAt integer", "endedAt integer|null", "attempts integer",
    "nextAt integer|null", "notBefore integer|null", "status integer|null", "error object|null",
  ]
  static let shown = listed + ["body string"]
}

/// Takes every connection and closes it at once, without a word.
final class DroppingServer: Sendable {
  let url: String
  private let listener: Int32

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) != 0 || listen(listener, 16) != 0
          || getsockname(listener, $0, &length) != 0
      }
    }
    guard !failed else { throw SystemError(number: errno) }
    self.listener = listener
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    Foundation.Thread.detachNewThread {
      while case let connection = accept(listener, nil, nil), connection >= 0 { close(connection) }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
