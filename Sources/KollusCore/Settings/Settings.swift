import CurlKit

/// How the program is set up: the configuration file, the environment and flags laid over the defaults.
package struct Settings: Sendable, Equatable {
  /// Base URL of the origin, such as `https://origin.example/kollus`.
  package var origin: String?
  /// Client user id for contents whose manifest and token name none.
  package var cuid: String?
  /// Custom key → path of the file that holds its security key.
  package var keys: [String: String] = [:]
  package var drmCallback: String?
  package var lmsCallback: String?
  /// Longest wait for a connection, and longest stall.
  package var timeout = TimeSpan(seconds: 30)
  /// Tries after a failure, earned back by progress.
  package var retries = 3
  /// Contents downloaded at once.
  package var jobs = 2
  /// Connections for each content.
  package var connections = 4
  package var renewWithin = TimeSpan(seconds: 72 * 3_600)
  /// Bytes of the disk that a download leaves free.
  package var reserve = ByteSize(bytes: 150 << 20)
  package var player: String?
  package var language: String?
  package var caFile: String?
  package var proxy: String?
  /// Whether plain http may go to other machines than this one.
  package var allowPlainHTTP = false

  package init() {}
}

/// One key of the configuration: its name there, in the environment, and how its value is read.
package struct SettingKey: Sendable {
  package let name: String
  /// What a value must be, for messages and help.
  package let expects: String
  let assign: @Sendable (inout Settings, String) -> Bool
  let show: @Sendable (Settings) -> String?

  /// `KOLLUS_RENEW_WITHIN` for `renewWithin`.
  package var variable: String {
    var words = ""
    var wasLower = false
    for character in name {
      if character.isUppercase, wasLower { words += "_" }
      wasLower = character.isLowercase
      words += character.uppercased()
    }
    return "KOLLUS_\(words)"
  }

  /// Whether a value may hold a password or a token and is not shown in messages.
  var mayHoldSecret: Bool { ["origin", "proxy", "drmCallback", "lmsCallback"].contains(name) }

  /// What to say of a value that is not right.
  func refusal(of value: String) -> String {
    mayHoldSecret ? "not a valid value for \(name)" : "'\(value)' is not a valid value for \(name)"
  }

  /// The value in force, as the configuration would have it; `nil` when there is none.
  package func value(in settings: Settings) -> String? { show(settings) }

  /// Every key but `keys`, which is an object and has no variable.
  package static let all: [SettingKey] = [
    text("origin", \.origin, "an http or https URL without user and password") { WebAddress($0) != nil },
    text("cuid", \.cuid, "a user id"),
    text("drmCallback", \.drmCallback, "a URL"), text("lmsCallback", \.lmsCallback, "SECONDS:URL"),
    parsed("timeout", \.timeout, "a duration from 1s to 1h, such as 30s") {
      (1_000...3_600_000).contains($0.milliseconds)
    },
    parsed("retries", \.retries, "a number from 0 to 100") { (0...100).contains($0) },
    parsed("jobs", \.jobs, "a number from 1 to 16") { (1...16).contains($0) },
    parsed("connections", \.connections, "a number from 1 to 16") { (1...16).contains($0) },
    parsed("renewWithin", \.renewWithin, "a duration such as 72h") { _ in true },
    parsed("reserve", \.reserve, "a size such as 150M") { _ in true },
    text("player", \.player, "a command"), text("language", \.language, "ko, ja or en"),
    text("caFile", \.caFile, "a file"), text("proxy", \.proxy, "a URL"),
    parsed("allowPlainHTTP", \.allowPlainHTTP, "true or false") { _ in true },
  ]

  private static func text(
    _ name: String, _ path: any WritableKeyPath<Settings, String?> & Sendable, _ expects: String,
    where isValid: @escaping @Sendable (String) -> Bool = { _ in true }
  ) -> SettingKey {
    SettingKey(
      name: name, expects: expects,
      assign: { settings, word in
        guard !word.contains("\0"), word.isEmpty || isValid(word) else { return false }
        settings[keyPath: path] = word.isEmpty ? nil : word
        return true
      },
      show: { $0[keyPath: path] })
  }

  private static func parsed<Value: LosslessStringConvertible & SendableMetatype>(
    _ name: String, _ path: any WritableKeyPath<Settings, Value> & Sendable, _ expects: String,
    where isValid: @escaping @Sendable (Value) -> Bool
  ) -> SettingKey {
    SettingKey(
      name: name, expects: expects,
      assign: { settings, word in
        guard let value = Value(word), isValid(value) else { return false }
        settings[keyPath: path] = value
        return true
      },
      show: { "\($0[keyPath: path])" })
  }
}
