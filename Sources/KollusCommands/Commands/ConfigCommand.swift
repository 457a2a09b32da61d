import ArgumentKit
import JSONKit
import KollusCore
import TerminalKit

/// `kollus config`: what is set, and setting it.
struct ConfigCommand: Command {
  static let key = Input<String?>.positional("KEY", help: "Key to show or set.")
  static let value = Input<String?>.positional("VALUE", help: "New value, written to the configuration file.")
  static let unset = Input<Bool>.flag("unset", help: "Take KEY out of the configuration file.")
  static let spec = CommandSpec(
    "config", "Show or change the configuration.",
    discussion: """
      Keys: \(SettingKey.all.map(\.name).joined(separator: ", ")). A flag wins over the environment \
      (KOLLUS_ORIGIN, KOLLUS_JOBS, …), the environment over the file, the file over the default. 'keys', the files of \
      security keys by custom key, is set by editing the file.
      """,
    inputs: [key.declaration, value.declaration, unset.declaration],
    examples: ["kollus config", "kollus config origin https://origin.example", "kollus config jobs --unset"])

  var key: SettingKey?
  var value: String?
  var unset: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    value = try given(Self.value)
    unset = try given(Self.unset)
    if let name = try given(Self.key) {
      guard let known = SettingKey.all.first(where: { $0.name == name }) else {
        throw UsageError("'\(name)' is no configuration key", hint: "'kollus config' shows them all")
      }
      key = known
    }
    guard !unset || (key != nil && value == nil) else { throw UsageError("--unset needs a KEY and no VALUE") }
  }

  func run(_ session: Session) async throws -> Int32 {
    if let key, value != nil || unset {
      let path = session.configPath.path
      try Settings.change(file: path, key: key, to: value)
      session.say("\(key.name) \(unset ? "taken out of" : "set in") \(path.terminalSafe)")
      return ExitStatus.done
    }
    let settings = try session.settings()
    let shown = SettingKey.all.filter { key == nil || $0.name == key?.name }
    if session.common.json {
      var writer = JSONWriter()
      writer.beginObject()
      for key in shown { writer.member(key.name, key.shown(settings)) }
      writer.endObject()
      session.write(json: writer.text)
    } else if let key {
      session.show("\((key.shown(settings) ?? "").terminalSafe)\n")
    } else {
      session.say("# \(session.configPath.path.terminalSafe)")
      for key in shown {
        session.show("\(key.name.padded(toWidth: 16))\((key.shown(settings) ?? "-").terminalSafe)\n")
      }
    }
    return ExitStatus.done
  }
}

extension SettingKey {
  /// The value for people: a password in a proxy URL is not shown.
  fileprivate func shown(_ settings: Settings) -> String? {
    guard name == "proxy", let value = value(in: settings), let at = value.lastIndex(of: "@") else {
      return value(in: settings)
    }
    let scheme = value.range(of: "://").map { String(value[..<$0.upperBound]) } ?? ""
    return "\(scheme)…\(value[at...])"
  }
}

extension String {
  /// Where `part` first stands in the text.
  fileprivate func range(of part: String) -> Range<Index>? {
    indices.first { self[$0...].hasPrefix(part) }.map { $0..<index($0, offsetBy: part.count) }
  }
}
