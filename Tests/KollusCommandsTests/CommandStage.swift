import Foundation
import JSONKit
import KollusCommands
import KollusTestSupport
import SystemKit
import Testing

/// `Kollus.run` in this process, with a home, a configuration and streams of its own.
struct CommandStage: Sendable {
  /// What a run printed, and how it ended.
  struct Run: Sendable {
    let words: [String]
    let status: Int32
    let output: String
    let errors: String

    /// Fails the test, showing both outputs, unless the run ended with this status.
    @discardableResult
    func expect(_ wanted: Int32, at location: SourceLocation = #_sourceLocation) -> Self {
      #expect(
        status == wanted, "\(words)\n\(output.suffix(1_500))\n\(errors.suffix(1_500))",
        sourceLocation: location)
      return self
    }

    /// Standard output, which must be one JSON document of one line.
    var json: JSON {
      get throws {
        #expect(output.hasSuffix("\n") && output.count { $0 == "\n" } == 1, "\(words): \(output)")
        return try JSON(parsing: output)
      }
    }

    /// Standard error, which must be one JSON object a line.
    var failures: [JSON] { JSONLines(errors).objects }
  }

  let tool: Tool
  /// That of the built tool, so that both may share a home.
  var machineID = ProcessContext.machineID()
  /// Seconds to add to the clock.
  var later = 0.0
  var input: [String]? = []
  /// Whether standard output takes what is written.
  var isHeard = true
  /// What a person at the terminal answers; `nil` when nobody is there.
  var answer: String?
  /// What was asked at the terminal so far.
  let questions = Protected<[String]>([])

  /// `name` keeps two stages of one test apart.
  init(origin: String? = nil, name: String = "kollus", _ settings: [String: String] = [:]) throws {
    tool = try Tool(name: name, origin: origin, settings)
  }

  func with(_ change: (inout Self) -> Void) -> Self {
    var stage = self
    change(&stage)
    return stage
  }

  @discardableResult
  func run(_ words: String...) async -> Run { await run(words) }

  func run(_ words: [String]) async -> Run {
    let (output, errors) = (Protected(""), Protected(""))
    let (isHeard, input, machineID, later) = (isHeard, input, machineID, later)
    let (answer, questions) = (answer, questions)
    var environment = tool.environment
    environment["KOLLUS_CONFIG"] = tool.configuration
    let context = Context(
      environment: environment,
      standardOutput: { text in
        output.withLock { $0 += text }
        return isHeard
      },
      standardError: { text in
        errors.withLock { $0 += text }
        return true
      },
      standardInputLines: { input },
      ask: { question in
        if answer != nil { questions.withLock { $0.append(question) } }
        return answer
      },
      terminalColumns: { nil }, outputColumns: { nil },
      now: { Date().timeIntervalSince1970 + later }, machineID: { machineID }, watchSignals: { _ in nil })
    let status = await Kollus.run(words, in: context)
    return Run(
      words: words, status: status, output: output.withLock { $0 }, errors: errors.withLock { $0 })
  }

  /// The keys that `list` shows with these words.
  func listed(_ words: String...) async throws -> [String] {
    let list = try await run(["list", "--json"] + words).expect(0).json
    return try list.elements.compactMap { try $0.string("mediaContentKey") }
  }

  /// Paths of the sealed media files in the home.
  func sealedFiles() throws -> [String] {
    let folder = "\(tool.home)/media"
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".sealed") }.map { "\(folder)/\($0)" }
  }
}

/// Fails the test unless an object has exactly these members in this order, written `name kind|kind`.
func expectShape(_ json: JSON, _ contract: [String], at location: SourceLocation = #_sourceLocation) {
  let members = Array(json.members)
  let wanted = contract.map { $0.split(separator: " ") }
  #expect(members.map(\.name) == wanted.map { String($0[0]) }, sourceLocation: location)
  for (member, words) in zip(members, wanted) {
    let kinds = words[1].split(separator: "|").map(String.init)
    #expect(
      kinds.contains("\(member.value.kind)"), "\(member.name) is \(member.value.rawText)",
      sourceLocation: location)
  }
}

/// The members of JSON output that callers build on.
enum Contract {
  static let content =
    [
      "mediaContentKey string", "title string", "company string", "course string", "teacher string",
      "synopsis string", "descriptionURL string", "snapshot string", "thumbnail string",
      "contentType integer",
      "fileType integer", "folder string", "state string", "error null|object", "fileSize integer",
      "downloadSize integer", "downloadProgress integer", "downloaded bool", "downloadStopSize integer",
      "downloadedTime integer", "duration number|integer", "position number|integer", "naturalSize array",
      "mediaType string", "encodingProfile string", "contentProviderKey string", "clientUserID string",
      "contentIndex integer",
    ] + licence
  /// What `show` prints of one content.
  static let shown = content + ["lastExchange object|null"]
  static let lastExchange = ["kind integer", "at integer", "answered bool", "error object|null"]
  static let error = ["code integer", "message string", "hint string|null"]
  /// The object on standard error.
  static let failure = ["error object", "status integer", "mediaContentKey string|null"]
  static let download = [
    "mediaContentKey string", "downloaded bool", "content object|null", "error object|null",
  ]
  static let rehearsal = [
    "mediaContentKey string", "downloaded bool", "pendingSize integer", "content object", "error null",
  ]
  static let removed = [
    "mediaContentKey string", "removed bool", "reasons array", "size integer", "error object|null",
  ]
  static let cancelled = ["mediaContentKey string", "cancelled bool", "error object|null"]
  static let moved = ["mediaContentKey string", "moved bool", "folder string|null", "error object|null"]
  /// A folder of `list --tree`.
  static let folder = ["mediaContentKey null", "title string", "fileType integer", "folder string"]
  static let verified = [
    "mediaContentKey string", "sound bool", "segments integer|null", "damaged array", "error object|null",
    "repaired array",
  ]
  static let exported = ["mediaContentKey string", "output string", "size integer"]
  static let identity = ["playerID string", "home string"]
  static let licence = [
    "licenceNeeded bool", "DRMExpired bool", "DRMExpireDate null|integer", "DRMCheckDate null|integer",
    "drmTotalExpirePlayTime integer", "DRMExpirePlayTime integer", "drmExpireCountMax integer",
    "drmExpireCount integer", "DRMExpireRefreshPopup bool", "checkAbuse bool",
    "expirationPlaytimeType integer",
  ]
  /// One content of `play-check`; the members of ``judged`` follow for one that the library knows.
  static let unjudged = [
    "mediaContentKey string", "mayPlay bool", "code integer", "reasons array", "lasts null|bool",
    "shortfalls array", "renewed bool", "renewalError object|null", "error object|null",
  ]
  static let judged = unjudged + ["downloaded bool", "needsNetwork bool"] + licence
  static let reason = ["reason string", "code integer", "message string", "hint string"]
  static let renewed = ["mediaContentKey string", "renewed bool", "error object|null"]
  static let renewalPlan = ["mediaContentKey string", "title string", "reason string"]
  private static let event = ["v integer", "seq integer", "at string", "event string"]
  static let downloadEvent =
    event + [
      "mediaContentKey string", "title string", "downloaded bool", "downloadProgress integer",
      "downloadSize integer", "fileSize integer", "error object|null",
    ]
  static let note = event + ["note string", "mediaContentKey string|null", "message string"]
  static let drmRequest = event + ["request object", "json object|null", "error object|null"]
  static let drmUpdate =
    event + ["cur integer", "count integer", "mediaContentKey string", "error object|null"]
}
