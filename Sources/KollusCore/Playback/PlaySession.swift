import CurlKit
import JSONKit
import SystemKit

/// What is to be played, and how.
package struct PlayRequest: Sendable {
  package var mediaContentKey: String
  package var player = PlayerChoice.mpv
  /// Where to begin, media seconds; `nil` goes on where it was left.
  package var start: Double?
  package var speed = 1.0
  package var sendsReports = true
  /// The user at a machine that several share, instead of the one the content was downloaded for.
  package var clientUserID: String?
  /// Asks nobody before the play.
  package var isOffline = false
  package var environment: [String: String] = [:]
  /// Steers the play; none where only the viewer does.
  package var control: PlayControl?
  /// Hears of everything the player tells, on threads of the player; it must not block.
  package var observer: PlayerObserver?

  package init(_ mediaContentKey: String) { self.mediaContentKey = mediaContentKey }
}

/// How a play went.
package struct PlayOutcome: Sendable {
  package let log: ViewingLog
  /// Whether the player told where it was; otherwise the clock alone is known.
  package let isFollowed: Bool
  /// Why it was ended before its time, or could not be played.
  package let error: KollusError?
}

/// One play of one content: the gate, the server, the player, what it costs and what it reports (design §7).
package struct PlaySession: Sendable {
  let library: Library
  let settings: Settings
  let sink: any EventSink
  private let engine: TransferEngine
  private let licensor: Licensor
  let sender: ReportSender

  package init(library: Library, settings: Settings, sink: any EventSink) throws(KollusError) {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    engine = try TransferEngine.started()
    licensor = Licensor(
      library: library, settings: settings, sink: sink, engine: engine, keys: SecurityKeys(settings))
    sender = try ReportSender(library: library, settings: settings, sink: sink)
  }

  /// Ends the threads; to be called once after the last run.
  package func close() {
    engine.stop()
    sender.close()
  }

  /// Plays a content to its end, until the viewer leaves, or until its licence is used up.
  ///
  /// Throws when it may not be played or no player comes up; `interrupted` when the task was cancelled.
  /// What was watched until then is charged and reported in every case.
  package func run(_ request: PlayRequest) async throws -> PlayOutcome {
    try await play(try await prepare(request))
  }

  /// Passes the gate; throws when the content may not be played.
  ///
  /// Nothing is charged yet. Nobody else can work on the content as long as what this returns is kept.
  package func prepare(_ request: PlayRequest) async throws -> PreparedPlay {
    let key = request.mediaContentKey
    guard let known = try await library.content(key) else {
      throw KollusError(
        .unknownContent, code: KollusCode.notDownloaded, "no such content in the library",
        hint: "'kollus list' shows what is there", mediaContentKey: key)
    }
    guard let lock = try library.home.lock(content: known.id) else {
      throw KollusError(
        .tryLater, "another process works on this content or plays it", hint: "wait until it has ended",
        mediaContentKey: key)
    }
    let content = try await admit(known, request)
    let file = try library.home.openMedia(of: content)
    let plan = try await PlayPlan(content, file, request, library, settings, sink)
    return PreparedPlay(request: request, content: content, file: file, plan: plan, lock: lock)
  }

  /// Plays what was prepared, once; as `run`.
  package func play(_ prepared: PreparedPlay) async throws -> PlayOutcome {
    let content = prepared.content
    let damage = Protected<Int?>(nil)
    let media = SealedMedia(prepared.file) { segment in damage.withLock { $0 = $0 ?? segment } }
    let server = try PlayServer(media, type: content.mediaType, identity: content.identity)
    defer { server.stop() }
    let run = try await PlayRun(prepared.plan, content, library, sink, sender)
    defer { withExtendedLifetime((run, prepared)) {} }
    return try await run.play(at: server.url, prepared.request, damage)
  }

  /// The gate: the server's word where it can be had, then the verdict.
  private func admit(_ known: Content, _ request: PlayRequest) async throws -> Content {
    let key = known.mediaContentKey
    if known.isDownloaded, !request.isOffline, library.needsLicence(known),
      let refusal = try await licensor.askBeforePlay(known)
    {
      throw refusal
    }
    guard let content = try await library.content(key) else { throw Downloader.removed.of(key) }
    let verdict = try await library.judge(
      content, isDeep: false, isAsked: !request.isOffline, isLocked: true, sink)
    guard let reason = verdict.reasons.first else { return content }
    let device = Int64(library.now())
    if verdict.isExpired, let ledger = try await library.ledger() {
      try await library.keepExpiry(of: content, at: ledger.time(device))
    }
    let isData = reason.name == .notReady || reason.name == .damaged
    throw KollusError(
      isData ? .badData : .licence, code: reason.code, reason.message, hint: reason.hint, mediaContentKey: key
    )
  }
}

/// A content that has passed the gate, with all that its play needs.
package struct PreparedPlay: Sendable {
  let request: PlayRequest
  package let content: Content
  let file: SealedFile
  let plan: PlayPlan
  fileprivate let lock: ByteLock

  /// The same, to be steered and listened to.
  package func steered(by control: PlayControl, _ observer: @escaping PlayerObserver) -> PreparedPlay {
    var request = request
    (request.control, request.observer) = (control, observer)
    return PreparedPlay(request: request, content: content, file: file, plan: plan, lock: lock)
  }

  /// What the viewer may do.
  package var policy: PlayPolicy { plan.policy }
  /// Where it will begin, media seconds.
  package var start: Double { plan.start }
}

/// What a play does, by the manifest and the request.
struct PlayPlan: Sendable {
  let policy: PlayPolicy
  let start: Double
  let duration: Double
  let blockCount: Int
  let clientUserID: String
  let templates: [LMSTemplate]
  let session: LMSReport.Session

  /// Blocks of a content whose manifest names no number.
  private static let defaultBlockCount = 100

  init(
    _ content: Content, _ file: SealedFile, _ request: PlayRequest, _ library: Library, _ settings: Settings,
    _ sink: any EventSink
  ) async throws {
    let source = try await library.source(of: content.id).flatMap {
      Source(opening: $0, of: content.mediaContentKey, key: library.home.identity.key)
    }
    let json: JSON
    do throws(JSONError) {
      json = try JSON(
        parsing: source?.manifest.text ?? file.about.manifest,
        limits: JSON.Limits(bytes: 1 << 24, depth: 33, values: 500_016))
      policy = try PlayPolicy(try json.object("policy"))
    } catch {
      throw KollusError(
        .badData, code: KollusCode.contentInfoUnreadable, "the manifest's policy is not right: \(error)",
        hint: "tell the people who run the origin", mediaContentKey: content.mediaContentKey)
    }
    duration = content.duration
    let isNearEnd = duration > 0 && content.position >= duration - 5
    let resumed = isNearEnd ? 0 : content.position
    if let wanted = request.start, duration > 0, wanted >= duration {
      throw KollusError(
        .usage, "the place to begin lies beyond the end", hint: "the content has \(Int(duration)) seconds",
        mediaContentKey: content.mediaContentKey)
    }
    start = policy.start(wanted: request.start, resumed: resumed)
    // What was checked when the manifest was read.
    let channel = (try? json.object("channel")).flatMap { $0 }
    func text(_ name: String) -> String { channel.flatMap { try? $0.string(name) }.flatMap { $0 } ?? "" }
    blockCount =
      channel.flatMap { try? $0.integer("blockCount") }.flatMap { $0 }.map(Int.init) ?? Self.defaultBlockCount
    clientUserID =
      request.clientUserID ?? (content.clientUserID.isEmpty ? settings.cuid ?? "" : content.clientUserID)
    let callback = text("lmsCallback")
    do throws(KollusError) {
      let template = callback.isEmpty ? settings.lmsCallback ?? "" : callback
      templates =
        request.sendsReports
        ? try LMSTemplate.read(template, relativeTo: callback.isEmpty ? nil : source?.base) : []
    } catch {
      // A report that cannot be made must not keep anybody from a lecture.
      sink.emit(
        .note(
          .warning, mediaContentKey: content.mediaContentKey,
          message: "viewing is not reported: \(error.message)"))
      templates = []
    }
    var session = LMSReport.Session(mediaContentKey: content.mediaContentKey, startAt: 0)
    session.contentProviderKey = content.contentProviderKey
    session.clientUserID = clientUserID
    session.playerID = library.home.identity.playerID
    session.hostName = (source?.playURL ?? source?.base)?.host ?? ""
    session.device = Licensor.deviceName
    session.encodingProfile = content.encodingProfile
    session.channelKey = text("channelKey")
    session.userValues = content.userValues
    self.session = session
  }
}
