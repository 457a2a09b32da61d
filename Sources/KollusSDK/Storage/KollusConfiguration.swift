import Foundation
import KollusCore
import SystemKit

/// How a storage is set up on Linux: what the vendor's SDK gets from Kollus's servers.
///
/// It is this product's own; the vendor's SDK has nothing like it. Whatever is left out comes from the environment
/// (`KOLLUS_ORIGIN` and so on), then from the configuration file, then from the defaults, just as for the program `kollus`: a
/// program and `kollus` on one machine share one library unless told otherwise.
public struct KollusConfiguration: Sendable {
  /// The folder that holds everything; else `KOLLUS_HOME`, `XDG_DATA_HOME` and `HOME` say.
  public var home: String?
  /// The configuration file; else `KOLLUS_CONFIG`, `XDG_CONFIG_HOME` and `HOME` say.
  public var configurationFile: String?
  /// Base URL where media content keys are looked up.
  public var origin: String?
  /// The client user id of contents for which the origin names none (`cuid`).
  public var clientUserID: String?
  /// Custom key → path of the file that holds its security key, added to those of the configuration file.
  ///
  /// Answers of a DRM callback are believed only when they are signed with one of these.
  public var securityKeyFiles: [String: String] = [:]
  /// The DRM callback of contents whose origin names none.
  public var drmCallback: String?
  /// The LMS callback of contents whose origin names none, `SECONDS:URL`.
  public var lmsCallback: String?
  /// File of certificates to trust instead of the system's.
  public var caFile: String?
  /// URL of a proxy.
  public var proxy: String?
  /// Whether plain http may go to other machines than this one.
  public var allowsPlainHTTP: Bool?
  /// Bytes of the disk that a download leaves free.
  public var reserve: Int64?
  /// Contents downloaded at once, from 1 to 16.
  public var jobs: Int?
  /// Connections for each content, from 1 to 16.
  public var connections: Int?
  /// A player's command line instead of mpv, in which `{url}` is replaced; such a player cannot be steered.
  public var player: String?
  /// The environment to go by, and to start players in; the process's own unless set.
  public var environment: [String: String]

  /// A configuration that says nothing of its own.
  public init() {
    var environment = ProcessInfo.processInfo.environment
    if environment["HOME"] ?? "" == "" { environment["HOME"] = ProcessContext.accountFolder() }
    self.environment = environment
  }

  /// What is in force, by everything that has a say.
  ///
  /// Throws `configuration` for a value that is not right.
  func settings() throws(CoreError) -> Settings {
    let (file, isNamed) = Places.configuration(given: configurationFile, environment: environment)
    let given: [(name: String, value: String?)] = [
      ("origin", origin), ("cuid", clientUserID), ("drmCallback", drmCallback), ("lmsCallback", lmsCallback),
      ("caFile", caFile), ("proxy", proxy), ("allowPlainHTTP", allowsPlainHTTP.map { "\($0)" }),
      ("reserve", reserve.map { "\($0)" }), ("jobs", jobs.map { "\($0)" }),
      ("connections", connections.map { "\($0)" }), ("player", player),
    ]
    var settings = try Settings.load(
      file: file, isRequired: isNamed, environment: environment,
      flags: given.compactMap { item in item.value.map { (item.name, $0) } })
    settings.keys.merge(securityKeyFiles) { $1 }
    return settings
  }
}
