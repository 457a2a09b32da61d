import ArgumentKit
import KollusCore

/// One subcommand: declared inputs, read once, then run.
protocol Command: Sendable {
  static var spec: CommandSpec { get }
  init(_ given: ParsedArguments) throws(UsageError)
  /// Does the work and returns the exit status; a thrown `KollusError` is told by the caller.
  func run(_ session: Session) async throws -> Int32
}

/// Inputs that every command takes, before its name or after.
struct CommonInputs: Sendable {
  static let home = Input<String?>.option(
    "home", nil, "DIR", help: "Folder that holds everything (KOLLUS_HOME).")
  static let config = Input<String?>.option(
    "config", nil, "FILE", help: "Configuration file (KOLLUS_CONFIG).")
  static let json = Input<Bool>.flag("json", help: "Print one JSON document; errors are JSON on stderr.")
  static let quiet = Input<Bool>.flag("quiet", "q", help: "Print only what a person must act on.")
  static let events = Input<EventFormat?>.choice(
    "events", nil, "FORMAT", help: "Print every event as a JSON line.")

  static let all = [
    home.declaration, config.declaration, json.declaration, quiet.declaration, events.declaration,
  ]

  var home: String?
  var config: String?
  var json: Bool
  var quiet: Bool
  var events: EventFormat?

  init(_ given: ParsedArguments) throws(UsageError) {
    home = try given(Self.home)
    config = try given(Self.config)
    json = try given(Self.json)
    quiet = try given(Self.quiet)
    events = try given(Self.events)
  }
}

/// How events are printed; lines for people when none is named.
enum EventFormat: String, CaseIterable, Sendable {
  case jsonl
}
