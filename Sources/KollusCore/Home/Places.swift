/// Where the home and the configuration are when nobody names them, by the environment (design §3).
package enum Places {
  /// The folder of the home: `given`, else what the environment says.
  package static func home(
    given: String? = nil, environment: [String: String]
  ) throws(KollusError) -> String {
    if let home = given ?? environment["KOLLUS_HOME"].flatMap({ $0.isEmpty ? nil : $0 }) { return home }
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/kollus" }
    guard let account = environment["HOME"], !account.isEmpty else {
      throw KollusError(
        .configuration, "no home folder is known: HOME is not set",
        hint: "name one with --home or KOLLUS_HOME")
    }
    return "\(account)/.local/share/kollus"
  }

  /// The configuration file, and whether somebody named it, so that its absence is a mistake.
  package static func configuration(
    given: String? = nil, environment: [String: String]
  ) -> (path: String, isNamed: Bool) {
    if let config = given ?? environment["KOLLUS_CONFIG"].flatMap({ $0.isEmpty ? nil : $0 }) {
      return (config, true)
    }
    if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
      return ("\(folder)/kollus/config.json", false)
    }
    return ("\(environment["HOME"] ?? "/nonexistent")/.config/kollus/config.json", false)
  }
}
