import JSONKit
import KollusCore
import Synchronization
import SystemKit
import TerminalKit

/// What a running command works with: the world, the common inputs, and the ways to speak.
final class Session: Sendable {
  let context: Context
  let common: CommonInputs
  private let interruption: Interruption
  private let hasLostOutput = Atomic(false)

  init(context: Context, common: CommonInputs, _ interruption: Interruption) {
    (self.context, self.common, self.interruption) = (context, common, interruption)
  }

  /// The exit status of a failure: an interruption has that of its signal.
  func status(of error: KollusError) -> Int32 {
    guard error.kind == .interrupted, let number = interruption.number else {
      return ExitStatus.of(error.kind)
    }
    return 128 + number
  }

  /// Whether everything that was printed could be.
  var isHeard: Bool { !hasLostOutput.load(ordering: .relaxed) }

  // MARK: Where things are

  var homePath: String {
    get throws(KollusError) { try Places.home(given: common.home, environment: context.environment) }
  }

  /// The configuration file, and whether the user named it.
  var configPath: (path: String, isNamed: Bool) {
    Places.configuration(given: common.config, environment: context.environment)
  }

  func settings(_ flags: [(name: String, value: String?)] = []) throws(KollusError) -> Settings {
    let (path, isNamed) = configPath
    return try Settings.load(
      file: path, isRequired: isNamed, environment: context.environment,
      flags: flags.compactMap { flag in flag.value.map { (flag.name, $0) } })
  }

  func openHome() throws(KollusError) -> Home {
    try Home(opening: try homePath, machineID: context.machineID())
  }

  func openLibrary() throws(KollusError) -> Library {
    let library = try Library(try openHome(), now: context.now)
    if let recovery = library.recovery {
      let text = Self.text(of: recovery)
      warn(text)
      // A log that cannot be written is told with the command's own events.
      try? EventLog(library.home, now: context.now).append(
        .note(.recovered, mediaContentKey: nil, message: text))
    }
    return library
  }

  /// What a person has to know of a library that was lost.
  private static func text(of recovery: Recovery) -> String {
    var text =
      "the library was lost; \(recovery.contents) contents were found again from their files, \(recovery.licensed) of them need a renewal"
    if recovery.partial > 0 { text += ", \(recovery.partial) are not complete" }
    if !recovery.unreadable.isEmpty { text += "; \(recovery.unreadable.count) files cannot be opened" }
    return text + "; positions, folders and reports that were not sent are gone"
  }

  /// The content with this key, or the error that says there is none.
  func content(_ key: String, in library: Library) async throws -> Content {
    guard let content = try await library.content(key) else {
      if key.isEmpty { throw KollusError(.usage, "a media content key may not be empty") }
      throw KollusError(
        .unknownContent, code: KollusCode.notDownloaded, "no such content in the library",
        hint: "'kollus list' shows what is there", mediaContentKey: key)
    }
    return content
  }

  // MARK: Speaking

  /// Writes to standard output as it is.
  func write(_ text: String) {
    if !context.standardOutput(text) { hasLostOutput.store(true, ordering: .relaxed) }
  }

  /// A line for people, unless JSON or quiet was asked for.
  func say(_ line: String) {
    if !common.json, !common.quiet, common.events == nil { write(line + "\n") }
  }

  /// A result for people: where events are printed it would stand among them, so it is left out.
  func show(_ text: String) {
    if common.events == nil { write(text) }
  }

  /// One JSON document.
  func write(json: String) { write(json + "\n") }

  /// Tells on standard error what a person must know and no failure says.
  func warn(_ text: String) {
    if common.json || common.events != nil {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("warning", text)
      writer.endObject()
      _ = context.standardError(writer.text + "\n")
    } else {
      _ = context.standardError("warning: \(text.terminalSafe)\n")
    }
  }

  /// Tells a failure on standard error, in the form that was asked for.
  func tell(_ error: KollusError) {
    // Merely offline is nothing a person must act on.
    if common.quiet, error.kind == .tryLater { return }
    _ = context.standardError(
      common.json ? Failure.json(error, status: status(of: error)) + "\n" : Failure.text(error))
  }
}
