import ArgumentKit
import KollusCore

/// `kollus download`: contents by key, play URL or `kollus://download` URL.
struct DownloadCommand: Command {
  static let words = Input<[String]>.positionals(
    "CONTENT", minimum: 0, help: "Media content key, play URL or kollus://download URL.")
  static let keys = Input<[String]>.options(
    "mck", nil, "KEY", help: "A media content key, whatever it looks like.")
  static let urls = Input<[String]>.options("url", nil, "URL", help: "A play URL, whatever it looks like.")
  static let from = Input<String?>.option(
    "from", nil, "FILE", help: "Read further contents, one a line; - is standard input.")
  static let folder = Input<String?>.option(
    "folder", nil, "PATH", help: "Virtual folder to list them in, such as math/unit 1.")
  static let userValues = Input<[String]>.options(
    "uservalue", nil, "N=VALUE", help: "User value 0 to 99 for contents named by key.")
  static let rate = Input<ByteSize?>.option(
    "limit-rate", nil, "SIZE", help: "Bytes a second for everything together, such as 500K.")
  static let dryRun = Input<Bool>.flag("dry-run", "n", help: "Say what would be downloaded; change nothing.")
  static let jobs = Input<String?>.option("jobs", "j", "N", help: "Contents at once.")
  static let connections = Input<String?>.option(
    "connections", "x", "N", help: "Connections for each content.")
  static let origin = Input<String?>.option("origin", nil, "URL", help: "Where keys are looked up.")
  static let timeout = Input<String?>.option(
    "timeout", nil, "TIME", help: "Longest wait for a connection and longest stall.")
  static let retries = Input<String?>.option(
    "retries", nil, "N", help: "Tries after a failure; progress earns them back.")
  static let reserve = Input<String?>.option("reserve", nil, "SIZE", help: "Space to leave free on the disk.")
  static let cuid = Input<String?>.option(
    "cuid", nil, "ID", help: "Client user id, where the origin names none.")

  static let spec = CommandSpec(
    "download", "Download contents, or go on with them.",
    discussion: """
      A download that was interrupted goes on where it stopped when the same command is run again. A content that \
      another process downloads is joined and its progress shown.
      """,
    inputs: [
      words.declaration, keys.declaration, urls.declaration, from.declaration, folder.declaration,
      userValues.declaration, rate.declaration, dryRun.declaration, jobs.declaration, connections.declaration,
      origin.declaration, timeout.declaration, retries.declaration, reserve.declaration, cuid.declaration,
    ],
    examples: [
      "kollus download AbCd1234", "kollus download --from lectures.txt --jobs 4 --folder 'math/unit 1'",
      "kollus download 'https://v.kr.kollus.com/s?jwt=…&custom_key=…'",
    ])

  var requests: [DownloadRequest] = []
  var from: String?
  var folder: String?
  var userValues: [Int: String] = [:]
  var rate: ByteSize?
  var isDryRun: Bool
  var flags: [(name: String, value: String?)]

  init(_ given: ParsedArguments) throws(UsageError) {
    from = try given(Self.from)
    folder = try given(Self.folder).map { path throws(UsageError) in try Usage.folder(path) }
    for word in try given(Self.userValues) {
      let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2, let number = Int(sides[0]), (0...99).contains(number) else {
        throw UsageError(
          "'\(word)' is not a valid N=VALUE for --uservalue", hint: "N is a number from 0 to 99")
      }
      userValues[number] = String(sides[1])
    }
    rate = try given(Self.rate)
    if let rate, rate.bytes < 1 { throw UsageError("--limit-rate must be at least 1") }
    isDryRun = try given(Self.dryRun)
    flags = [
      ("jobs", try given(Self.jobs)), ("connections", try given(Self.connections)),
      ("origin", try given(Self.origin)), ("timeout", try given(Self.timeout)),
      ("retries", try given(Self.retries)), ("reserve", try given(Self.reserve)),
      ("cuid", try given(Self.cuid)),
    ]
    for word in try given(Self.words) { requests += try requests(for: word) }
    for key in try given(Self.keys) {
      requests.append(try request { () throws(KollusError) in try .init(key: key) })
    }
    for url in try given(Self.urls) {
      requests.append(try request { () throws(KollusError) in try .init(url: url) })
    }
    guard from != nil || !requests.isEmpty else {
      throw UsageError("missing CONTENT", hint: "name a content, or read a list with --from")
    }
  }

  /// What one word asks for: a `kollus://` URL may ask for several.
  private func requests(for word: String) throws(UsageError) -> [DownloadRequest] {
    let scheme: ContentReference.Request?
    do throws(KollusError) {
      scheme = try ContentReference.request(word)
    } catch {
      throw UsageError(error.message, hint: error.hint)
    }
    guard let scheme else { return [try request { () throws(KollusError) in try .init(word: word) }] }
    guard scheme.action == "download", !scheme.urls.isEmpty else {
      throw UsageError("kollus://\(scheme.action) is no download", hint: "give kollus://download?url=…")
    }
    var requests: [DownloadRequest] = []
    for url in scheme.urls {
      var request = try request { () throws(KollusError) in try .init(url: url) }
      request.folder = scheme.folder ?? folder
      requests.append(request)
    }
    return requests
  }

  private func request(_ reference: () throws(KollusError) -> ContentReference) throws(UsageError)
    -> DownloadRequest
  {
    do throws(KollusError) {
      return DownloadRequest(try reference(), folder: folder, userValues: userValues)
    } catch {
      throw UsageError(error.message, hint: error.hint)
    }
  }

  func run(_ session: Session) async throws -> Int32 {
    var requests = requests
    if let from {
      for line in try await Self.lines(from, session) where !line.isEmpty {
        do throws(UsageError) {
          requests += try self.requests(for: line)
        } catch {
          throw KollusError(.usage, "\(from): \(error.message)", hint: error.hint)
        }
      }
    }
    var seen: Set<ContentReference> = []
    requests = requests.filter { seen.insert($0.reference).inserted }
    let settings = try session.settings(flags)
    let library = try session.openLibrary()
    let display = isDryRun ? session.display() : session.display(logging: library.home)
    defer { display.close() }
    let downloader = try Downloader(
      home: library.home, library: library, settings: settings, sink: display.sink,
      bytesPerSecond: rate?.bytes)
    defer { downloader.close() }
    let outcomes = isDryRun ? await downloader.rehearse(requests) : await downloader.run(requests)
    display.close()
    let report = try await DownloadReport(outcomes, isDryRun: isDryRun, library)
    report.show(session)
    return report.status
  }

  private static func lines(_ from: String, _ session: Session) async throws -> [String] {
    let lines = from == "-" ? try await session.context.standardInputLines() : try Lines.read(from)
    guard let lines else {
      throw KollusError(.usage, "the list \(from) is larger than 16 MiB", hint: "split it")
    }
    // Some editors begin a file with a byte order mark.
    guard let first = lines.first, first.hasPrefix("\u{feff}") else { return lines }
    return [String(first.dropFirst())] + lines.dropFirst()
  }
}
