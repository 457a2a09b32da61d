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
    let display = session.display()
    try await library.tidy(display.sink)
    display.close()
    let content = try await session.content(key, in: library)
    if session.common.json {
      var writer = JSONWriter()
      content.write(to: &writer, mediaPath: library.home.mediaPath)
      session.write(json: writer.text)
      return ExitStatus.done
    }
    for (name, value) in Self.lines(content, mediaPath: library.home.mediaPath) where !value.isEmpty {
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
      ("licence", content.needsLicence ? "needed" : "not needed"),
    ]
  }
}
