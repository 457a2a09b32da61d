import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// A home with small contents under a DRM callback, for tests of `renew`.
struct RenewStage: Sendable {
  let site: OriginSite
  let callback: DRMCallback
  var stage: CommandStage
  let keys: [String]

  /// Publishes `count` contents, `k000` and so on, of which nothing is downloaded yet.
  ///
  /// The name may lead to another folder.
  init(_ count: Int, name: String = "kollus", _ settings: [String: String] = [:]) throws {
    site = try OriginSite()
    callback = try DRMCallback { _ in .granted(plays: 3) }
    let settings = try DRMCallback.settings().merging(settings) { $1 }
    stage = try CommandStage(origin: site.url, name: name, settings)
    keys = (0..<count).map { "k" + String("000\($0)".suffix(3)) }
    for key in keys { try publish(key, by: callback) }
  }

  /// A stage whose contents are downloaded.
  static func downloaded(_ count: Int, name: String = "kollus", _ settings: [String: String] = [:])
    async throws -> Self
  {
    let stage = try Self(count, name: name, settings)
    await stage.download(stage.keys)
    return stage
  }

  func publish(_ key: String, by callback: DRMCallback?) throws {
    let content = OriginContent(key, bytes: randomBytes(1_024))
    try site.publish(callback.map { content.licensed(by: $0) } ?? content)
  }

  func download(_ keys: [String], _ words: String..., at location: SourceLocation = #_sourceLocation) async {
    await run(["download", "--jobs", "8", "--quiet"] + words + keys).expect(0, at: location)
  }

  var tool: Tool { stage.tool }

  @discardableResult
  func run(_ words: [String]) async -> CommandStage.Run { await stage.run(words) }

  @discardableResult
  func run(_ words: String...) async -> CommandStage.Run { await stage.run(words) }

  /// A renewal with all that a script can read of it.
  func renew(_ words: String...) async throws -> RenewRun {
    let run = await stage.run(["renew", "--json", "--events", "jsonl"] + words)
    return try RenewRun(status: run.status, output: run.output, errors: run.errors)
  }

  /// The same as a process of its own.
  func start(_ words: String...) throws -> ChildProcess {
    try tool.start(["renew", "--json", "--events", "jsonl"] + words)
  }
}

// MARK: What the callback saw

extension RenewStage {
  /// Renewal items so far, in the order of arrival.
  var asked: [DRMCallback.Item] { callback.items.filter { $0.kind == 3 } }

  /// Keys asked for since `count` renewal items, sorted.
  func asked(since count: Int) -> [String] { asked.dropFirst(count).map(\.mck).sorted() }

  /// The items of each renewal request so far.
  static func requests(to callback: DRMCallback) throws -> [[JSON]] {
    try callback.server.exchanges.compactMap { exchange in
      let form = String(decoding: exchange.request.body, as: UTF8.self).dropFirst(6)
      let items = Array(try JSON(parsing: try #require(form.removingPercentEncoding)).elements)
      return try items.first?.integer("kind") == 3 ? items : nil
    }
  }

  /// Session keys of the renewals of one content, in their order.
  func sessionKeys(of key: String) -> [String?] {
    callback.items(of: key, kind: 3).map { $0.text("session_key") }
  }
}

// MARK: What the home holds

extension RenewStage {
  /// `list --json` by key.
  func listed(at location: SourceLocation = #_sourceLocation) async throws -> [String: JSON] {
    let list = try await run("list", "--json").expect(0, at: location).json
    let pairs = try list.elements.map { (try $0.string("mediaContentKey") ?? "", $0) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// The most plays each content has, by key.
  func plays(at location: SourceLocation = #_sourceLocation) async throws -> [String: Int] {
    try await listed(at: location).mapValues { Int(try $0.integer("drmExpireCountMax") ?? -1) }
  }

  /// All contents may be played, and were given `plays`.
  func expectRenewed(_ keys: [String]? = nil, plays: Int, at location: SourceLocation = #_sourceLocation)
    async throws
  {
    let found = try await self.plays(at: location)
    for key in keys ?? self.keys { #expect(found[key] == plays, "\(key)", sourceLocation: location) }
    await run(["play-check"] + (keys ?? self.keys)).expect(0, at: location)
  }

  /// What the sqlite3 shell answers.
  func sql(_ text: String) async throws -> String {
    let shell = try ChildProcess("/usr/bin/sqlite3", ["\(tool.home)/library.db", text], environment: [:])
    let outcome = await shell.wait()
    outcome.expect(0)
    return outcome.standardOutput
  }

  static let hasShell = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")
}

/// What `renew --json --events jsonl` printed.
struct RenewRun: Sendable {
  struct Item: Sendable, Equatable {
    let key: String
    /// 0 without an error.
    let code: Int
    let isRenewed: Bool
    let message: String
  }

  let status: Int32
  let items: [Item]
  /// The objects with an `event` member.
  let events: [JSON]
  /// Those without: failures told to scripts.
  let failures: [JSON]

  /// Fails the test unless everything parses and the numbers of `drmUpdate` come in their order.
  init(status: Int32, output: String, errors: String, at location: SourceLocation = #_sourceLocation) throws {
    self.status = status
    let document = try output.isEmpty ? nil : JSON(parsing: output)
    items =
      try document?.elements.map { element in
        let error = try element.object("error")
        return Item(
          key: try element.string("mediaContentKey") ?? "", code: Int(try error?.integer("code") ?? 0),
          isRenewed: try element.bool("renewed") ?? false, message: try error?.string("message") ?? "")
      } ?? []
    let lines = JSONLines(errors, at: location).objects
    events = try lines.filter { try $0.member("event") != nil }
    failures = try lines.filter { try $0.member("event") == nil }
    #expect(try events.map { try $0.integer("seq") } == (0..<events.count).map { Int64($0 + 1) })
  }

  init(_ outcome: ChildProcess.Outcome) throws {
    try self.init(
      status: Int32(outcome.status ?? -1), output: outcome.standardOutput, errors: outcome.standardError)
  }

  /// Fails the test, showing the results, unless the run ended with this status.
  @discardableResult
  func expect(_ wanted: Int32, at location: SourceLocation = #_sourceLocation) -> Self {
    let told = failures.map(\.rawText).joined(separator: "\n").prefix(1_500)
    #expect(status == wanted, "\(items)\n\(told)", sourceLocation: location)
    return self
  }

  var keys: [String] { items.map(\.key).sorted() }

  /// Codes by key, 0 without an error.
  var codes: [String: Int] { Dictionary(items.map { ($0.key, $0.code) }) { first, _ in first } }

  func named(_ event: String) throws -> [JSON] { try events.filter { try $0.string("event") == event } }

  func notes() throws -> [String] { try events.compactMap { try $0.string("note") } }
}

/// Holds a callback's answers back until it is opened, for 20 s at most.
final class Gate: Sendable {
  private let allowed = Protected(0)
  private let count = Protected(0)

  /// Answers that wait, or went through.
  var arrivals: Int { count.withLock { $0 } }

  /// Lets through so many of the first arrivals, all unless told.
  func open(only count: Int = .max) { allowed.withLock { $0 = count } }

  /// Returns `answer` when the gate is open; called on a server's thread, which waits.
  func passed(_ answer: Answer) -> Answer {
    let place = count.withLock { count in
      count += 1
      return count
    }
    let end = ContinuousClock.now + .seconds(20)
    while allowed.withLock({ $0 }) < place, ContinuousClock.now < end { usleep(5_000) }
    return answer
  }
}
