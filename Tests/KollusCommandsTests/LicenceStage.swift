import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// An origin, a DRM callback and a home, for tests of what licences allow.
struct LicenceStage: Sendable {
  typealias Entry = DRMCallback.Entry

  static let mck = "AbCd1234"

  let site: OriginSite
  let callback: DRMCallback
  var commands: CommandStage
  let bytes = randomBytes(100_000)

  init(_ settings: [String: String] = [:]) throws {
    site = try OriginSite()
    callback = try DRMCallback()
    let own = try DRMCallback.settings().merging(["retries": "0"]) { $1 }
    commands = try CommandStage(origin: site.url, own.merging(settings) { $1 })
    try publish(Self.mck)
  }

  var mck: String { Self.mck }
  var tool: Tool { commands.tool }
  static var now: Int { Int(Date().timeIntervalSince1970) }

  func publish(_ keys: String...) throws { try publish(keys) }

  func publish(_ keys: [String]) throws {
    for key in keys { try site.publish(OriginContent(key, bytes: bytes).licensed(by: callback)) }
  }

  /// The same stage so many seconds later, or earlier; the callback's clock stays right.
  func later(_ seconds: Int) -> Self {
    var stage = self
    stage.commands.later += Double(seconds)
    return stage
  }

  /// The same stage at a moment that machine and callback agree on.
  func at(_ time: Int) -> Self {
    let offset = Double(time) - Date().timeIntervalSince1970
    var stage = self
    stage.commands.later = offset
    callback.override { _, answer in answer.with("Date", DRMCallback.httpDate(Date() + offset)) }
    return stage
  }

  @discardableResult
  func run(_ words: String...) async -> CommandStage.Run { await commands.run(words) }

  /// Answers one kind by a fixed entry, the others with a plain yes.
  func answer(_ kind: Int, _ entry: Entry) { callback.answer { $0.kind == kind ? entry : Entry() } }

  /// Downloads the content under a licence.
  func download(_ entry: Entry, at location: SourceLocation = #_sourceLocation) async {
    answer(1, entry)
    await commands.run("download", mck).expect(0, at: location)
  }

  /// The kinds that the callback was asked about the content, in order.
  var kinds: [Int] { callback.items(of: mck).map(\.kind) }

  /// What `play-check --json` with these words says of the content; the exit status fits what it says.
  func check(_ words: String..., at location: SourceLocation = #_sourceLocation) async throws -> Finding {
    let run = await commands.run(["play-check", mck, "--json"] + words)
    let json = try #require(Array(try run.json.elements).first, sourceLocation: location)
    return Finding(json: json, status: run.status)
  }

  /// What is stored of the content, as `show --json` tells.
  func shown() async throws -> JSON { try await commands.run("show", mck, "--json").expect(0).json }

  /// Fails the test unless the content is refused for the reason, and one renewal with a reset heals it.
  func expectHealing(
    _ reason: String, _ code: Int, _ words: String = "", at location: SourceLocation = #_sourceLocation
  ) async throws {
    try await check().expect(77, [(reason, code)], words, at: location)
    answer(3, .granted(plays: 9))
    await commands.run("renew", mck).expect(0, at: location)
    try await check().expect(0, [], at: location)
    #expect(try await shown().integer("drmExpireCount") == 9, sourceLocation: location)
  }

  // MARK: What a tamperer does

  static let hasShell = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")

  /// Runs SQL on the library as the sqlite3 shell would.
  func edit(_ sql: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/sqlite3")
    process.arguments = ["\(tool.home)/library.db", "PRAGMA foreign_keys=ON; \(sql)"]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  /// Path of the only sealed file.
  func mediaFile() throws -> String {
    let files = try commands.sealedFiles()
    #expect(files.count == 1)
    return try #require(files.first)
  }

  /// Changes bytes of the only sealed file and leaves its time stamp as it was.
  func changeMedia(_ change: (FileHandle) throws -> Void) throws {
    let path = try mediaFile()
    var before = stat()
    #expect(stat(path, &before) == 0)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try change(file)
    try file.close()
    #expect(utimensat(AT_FDCWD, path, [before.st_atim, before.st_mtim], 0) == 0)
  }

  /// Turns a byte in the first segment.
  func damage() throws {
    try changeMedia { file in
      let middle = try file.seekToEnd() / 2
      try file.seek(toOffset: middle)
      let byte = try #require(try file.read(upToCount: 1)?.first)
      try file.seek(toOffset: middle)
      try file.write(contentsOf: Data([byte ^ 1]))
    }
  }
}

extension LicenceStage {
  /// One content of `play-check`.
  struct Finding {
    let json: JSON
    let status: Int32

    func reasons(_ name: String = "reasons") throws -> [(name: String, code: Int)] {
      try json.array(name)?.elements.map { reason in
        expectShape(reason, Contract.reason)
        return (try reason.string("reason") ?? "", Int(try reason.integer("code") ?? 0))
      } ?? []
    }

    /// Fails the test unless these are the reasons, the verdict's code is the first one's, and one says `words`.
    func expect(
      _ wanted: Int32, _ reasons: [(String, Int)], _ words: String = "",
      at location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(status == wanted, "\(json.rawText)", sourceLocation: location)
      let found = try self.reasons()
      #expect(found.map(\.name) == reasons.map(\.0), "\(json.rawText)", sourceLocation: location)
      #expect(found.map(\.code) == reasons.map(\.1), "\(json.rawText)", sourceLocation: location)
      #expect(try json.integer("code") == Int64(reasons.first?.1 ?? 0), sourceLocation: location)
      #expect(try json.bool("mayPlay") == reasons.isEmpty, sourceLocation: location)
      if !words.isEmpty { #expect(json.rawText.contains(words), sourceLocation: location) }
    }
  }
}
