import JSONKit
import SealKit
import Synchronization
import SystemKit

/// Security keys by custom key, each read from its file when it is first needed.
package final class SecurityKeys: Sendable {
  static let hint =
    "name it under 'keys' in the configuration: custom key → path of the file that holds its security key"
  /// The largest file that is taken for a key, in bytes.
  private static let fileLimit = 64 << 10

  private let paths: [ExactText: String]
  private let known = Mutex<[ExactText: SymmetricKey]>([:])

  /// Nothing is read yet.
  package init(_ settings: Settings) {
    paths = Dictionary(uniqueKeysWithValues: settings.keys.map { (ExactText($0.key), $0.value) })
  }

  package var isEmpty: Bool { paths.isEmpty }

  /// The security key that a custom key stands for; a failure is of the configuration and is not remembered.
  func key(_ customKey: String) throws(KollusError) -> SymmetricKey {
    guard let path = paths[ExactText(customKey)] else {
      throw KollusError(
        .configuration, code: KollusCode.answerUntrusted,
        "no security key is configured for the custom key \(Self.shown(customKey))", hint: Self.hint)
    }
    return try known.withLock { known throws(KollusError) in
      if let key = known[ExactText(customKey)] { return key }
      let key = try Self.read(path)
      known[ExactText(customKey)] = key
      return key
    }
  }

  private static func read(_ path: String) throws(KollusError) -> SymmetricKey {
    var bytes: [UInt8]
    do throws(SystemError) {
      bytes = try Files.readRegular(path, limit: fileLimit)
    } catch {
      throw KollusError(
        .configuration, code: KollusCode.answerUntrusted,
        "the security key in \(path) cannot be read: \(error.reason)",
        hint: "make the file readable, or correct 'keys' in the configuration")
    }
    // What an editor or a copy and paste leaves at the end is no part of the key.
    while let last = bytes.last, [0x09, 0x0A, 0x0D, 0x20].contains(last) { bytes.removeLast() }
    guard !bytes.isEmpty else {
      throw KollusError(
        .configuration, code: KollusCode.answerUntrusted, "the file of the security key, \(path), is empty",
        hint: "put the security key into it, or correct 'keys' in the configuration")
    }
    return SymmetricKey(bytes: bytes)
  }

  /// A custom key for messages: in quotes, safe to print, cut after 100 characters.
  private static func shown(_ customKey: String) -> String {
    let start = customKey.unicodeScalars.prefix(100)
    return String(start).jsonQuoted + (start.endIndex < customKey.endIndex ? "…" : "")
  }
}
