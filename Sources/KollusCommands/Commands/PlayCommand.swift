import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus play`: a content with a real player, metered and reported.
struct PlayCommand: Command {
  static let key = Input<String>.positional(
    "KEY", help: "Media content key, or a kollus://download_play URL.")
  static let player = Input<String?>.option(
    "player", nil, "CMD", help: "Another player than mpv; {url} in it is replaced by the address.")
  static let start = Input<TimeSpan?>.option(
    "start", nil, "TIME", help: "Where to begin; where it was left when absent.")
  static let speed = Input<Double>.option("speed", nil, "FACTOR", default: 1, help: "Speed, 0.1 to 16.")
  static let noLMS = Input<Bool>.flag("no-lms", help: "Report nothing of this play.")
  static let cuid = Input<String?>.option(
    "cuid", nil, "ID", help: "User of this play, at a machine that several share.")
  static let offline = Input<Bool>.flag("offline", help: "Do not ask the licence's server first.")

  static let spec = CommandSpec(
    "play", "Play a downloaded content with mpv.",
    discussion: """
      The licence's server is asked first where it can be reached; else the stored licence decides. Nothing is decrypted onto a disk: the \
      player reads from an address on this machine that is good for this play only. Plays and play time are charged as they pass; when \
      they are used up, or the licence ends, the player is stopped with status 77. What was watched is reported to the content's LMS callback, \
      at once or when the network is back.
      """,
    inputs: [
      key.declaration, player.declaration, start.declaration, speed.declaration, noLMS.declaration,
      cuid.declaration, offline.declaration,
    ],
    examples: [
      "kollus play AbCd1234", "kollus play AbCd1234 --start 10m --speed 1.5",
      "kollus play AbCd1234 --player 'vlc {url}'",
    ])

  var request: PlayRequest?
  /// A URL whose content is looked up when the command runs.
  var url: String?
  private var prototype = PlayRequest("")

  init(_ given: ParsedArguments) throws(UsageError) {
    let word = try given(Self.key)
    let player = try given(Self.player)
    do throws(KollusError) {
      prototype.player = try PlayerChoice(player)
    } catch {
      throw UsageError("--player: \(error.message)", hint: error.hint)
    }
    prototype.start = try given(Self.start).map { Double($0.milliseconds) / 1_000 }
    prototype.speed = try given(Self.speed)
    guard (0.1...16).contains(prototype.speed) else { throw UsageError("--speed must be from 0.1 to 16") }
    prototype.sendsReports = try !given(Self.noLMS)
    prototype.clientUserID = try given(Self.cuid)
    if let id = prototype.clientUserID, !(1...1_024).contains(id.utf8.count) {
      throw UsageError("--cuid must have 1 to 1024 bytes")
    }
    prototype.isOffline = try given(Self.offline)
    do throws(KollusError) {
      if let scheme = try ContentReference.request(word) {
        guard scheme.action == "download_play", let first = scheme.urls.first else {
          throw KollusError(.usage, "kollus://\(scheme.action) is nothing to play")
        }
        url = first
        return
      }
    } catch {
      throw UsageError(error.message, hint: error.hint)
    }
    prototype.mediaContentKey = word
    request = prototype
  }

  func run(_ session: Session) async throws -> Int32 {
    let settings = try session.settings()
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    var request = request ?? prototype
    if let url {
      // As the vendor's scheme has it: nothing happens for what is not downloaded.
      guard let key = try await library.content(ofPlayURL: url)?.mediaContentKey else {
        return ExitStatus.done
      }
      request.mediaContentKey = key
    }
    if request.mediaContentKey.isEmpty { throw KollusError(.usage, "a media content key may not be empty") }
    if prototype.player == .mpv, let player = settings.player {
      request.player = try PlayerChoice(player)
    }
    request.environment = session.context.environment
    let play = try PlaySession(library: library, settings: settings, sink: display.sink)
    defer { play.close() }
    let outcome = try await play.run(request)
    display.close()
    show(outcome, request.mediaContentKey, session)
    guard let error = outcome.error else { return ExitStatus.done }
    session.tell(error)
    return ExitStatus.of(error.kind)
  }

  private func show(_ outcome: PlayOutcome, _ key: String, _ session: Session) {
    let log = outcome.log
    if session.common.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("mediaContentKey", key)
      writer.member("playtime", log.playTime)
      writer.member("realPlaytime", log.realPlayTime)
      writer.member("runtime", log.runTime)
      writer.member("showtime", log.showTime)
      writer.member("playtimePercent", log.playTimePercent)
      writer.member("lastPlayAt", log.lastPlayAt)
      writer.name("error")
      if let error = outcome.error { Failure.write(error, to: &writer) } else { writer.null() }
      writer.endObject()
      session.write(json: writer.text)
      return
    }
    let watched = DurationText(seconds: Int64(log.playTime))
    let whole = log.duration > 0 ? " of \(DurationText(seconds: Int64(log.duration)))" : ""
    let place = outcome.isFollowed ? ", left at \(DurationText(seconds: Int64(log.lastPlayAt)))" : ""
    session.say("\(key.terminalSafe): \(watched)\(whole) watched\(place)")
  }
}
