import ArgumentKit
import JSONKit
import KollusCore
import SystemKit
import TerminalKit

/// `kollus show`: everything known of one content.
struct ShowCommand: Command {
  static let key = Input<String>.positional("KEY", help: "Media content key.")
  static let spec = CommandSpec(
    "show", "Show everything known of one content.", inputs: [key.declaration],
    examples: ["kollus show AbCd1234"])

  var key: String

  init(_ given: ParsedArguments) throws(UsageError) { key = try given(Self.key) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    try await library.tidy(display.sink, only: [key])
    display.close()
    var content = try await session.content(key, in: library)
    content.needsLicence = library.needsLicence(content)
    let verdict = library.licenceVerdict(content, ledger: try await library.ledger(), readsFile: true)
    if session.common.json {
      var writer = JSONWriter()
      content.write(
        to: &writer, mediaPath: library.home.mediaPath, licence: verdict,
        lastExchange: .some(try await library.lastExchange(of: content.id)))
      session.write(json: writer.text)
      return ExitStatus.done
    }
    let exchange = try await library.lastExchange(of: content.id)
    let blocks = try await library.watchedBlocks(of: key)
    let lines =
      Self.lines(content, mediaPath: library.home.mediaPath) + Self.lines(content, verdict, exchange)
      + [("watched", blocks.isEmpty ? "" : "\(BlockBar(blocks))")]
    for (name, value) in lines where !value.isEmpty {
      session.show("\(name.padded(toWidth: 16))\(value.terminalSafe)\n")
    }
    return ExitStatus.done
  }

  private static func lines(_ content: Content, mediaPath: String) -> [(String, String)] {
    let failure = content.failure.map { "\($0.message) (\($0.code))" } ?? ""
    let size =
      content.isDownloaded
      ? "\(ByteCountText(content.fileSize)) (\(content.fileSize) bytes)"
      : "\(content.progress.percent)%, \(content.downloadSize) of \(content.fileSize) bytes"
    return [
      ("key", content.mediaContentKey), ("title", content.title), ("company", content.company),
      ("course", content.course), ("teacher", content.teacher), ("synopsis", content.synopsis),
      ("description", content.descriptionURL), ("folder", content.folder), ("state", content.state.rawValue),
      ("error", failure), ("size", size), ("type", content.mediaType),
      ("kind", content.kind == .sample ? "sample" : "download"),
      ("downloaded", content.downloadedTime > 0 ? WallClock.text(content.downloadedTime) : ""),
      ("duration", content.duration > 0 ? "\(DurationText(seconds: Int64(content.duration)))" : ""),
      ("position", content.position > 0 ? "\(DurationText(seconds: Int64(content.position)))" : ""),
      ("picture", content.naturalWidth > 0 ? "\(content.naturalWidth) × \(content.naturalHeight)" : ""),
      ("profile", content.encodingProfile), ("provider", content.contentProviderKey),
      ("user", content.clientUserID),
      ("snapshot", content.snapshot.isEmpty ? "" : "\(mediaPath)/\(content.snapshot)"),
      ("thumbnail", content.thumbnail.isEmpty ? "" : "\(mediaPath)/\(content.thumbnail)"),
    ]
  }

  private static func lines(
    _ content: Content, _ verdict: Verdict, _ exchange: LastExchange?
  ) -> [(String, String)] {
    guard let licence = content.licence?.licence else {
      let reason = verdict.reasons.first { $0.name == .tampered }?.message
      return [("licence", reason ?? (content.needsLicence ? "needed, none is held" : "not needed"))]
    }
    let state = verdict.reasons.first.map { "\($0.message) (\($0.code))" } ?? "valid"
    let time = licence.playTimeType == .media ? "of the media" : "on the clock"
    return [
      ("licence", state), ("ends", licence.expirationDate.value.map(WallClock.text) ?? "no date"),
      ("plays left", amount(licence.plays)),
      (
        "time left",
        licence.playTime.limit.value == nil ? "no limit" : "\(amount(licence.playTime)) seconds \(time)"
      ),
      ("ask before", licence.checkDate.value.map(WallClock.text) ?? ""),
      ("asked always", licence.checksAbuse ? "the server is asked before each play" : ""),
      ("last exchange", exchange.map(text) ?? ""),
    ]
  }

  private static func amount(_ allowance: Allowance) -> String {
    allowance.limit.value == nil ? "no limit" : "\(allowance.left) of \(allowance.maximum)"
  }

  private static func text(_ exchange: LastExchange) -> String {
    let what = ["", "approval", "completion", "renewal"][Int(exchange.kind.rawValue)]
    let time = WallClock.text(exchange.time)
    guard let error = exchange.error else {
      return exchange.isAnswered ? "\(what), \(time): done" : "\(what), \(time): not answered yet"
    }
    return "\(what), \(time): \(error.message) (\(error.code))"
  }
}
