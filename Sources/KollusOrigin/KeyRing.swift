import JSONKit
import SealKit
import SystemKit

/// Security keys by custom key, read once from the files that hold them.
struct KeyRing: Sendable {
  private var keys: [String: SymmetricKey] = [:]

  /// No keys: every play URL is refused, and no DRM answer can be signed.
  init() {}

  /// Reads `{"<custom key>": "<path of a file that holds the security key>"}`; paths are relative to the
  /// file's own.
  init(file path: String) throws(OriginError) {
    do {
      let object = try JSON(parsing: Files.read(path, limit: 1 << 20))
      guard object.kind == .object else { throw object.failure("expected an object") }
      for (name, value) in object.members {
        guard let keyPath = value.string, !keyPath.isEmpty else { throw value.failure("expected a path") }
        guard keys[name] == nil else { throw value.failure("appears twice") }
        guard !name.isEmpty, name.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
          throw value.failure("a custom key goes into an HTTP header: printable ASCII only")
        }
        let isAbsolute = keyPath.utf8.first == UInt8(ascii: "/")
        keys[name] = try Self.key(isAbsolute ? keyPath : "\(Files.folder(of: path))/\(keyPath)")
      }
    } catch {
      throw OriginError(.configuration, "keys file \(path): \(error)")
    }
  }

  /// The custom keys, in no order.
  var names: [String] { Array(keys.keys) }

  /// The security key of a custom key, nil for an unknown one.
  subscript(customKey: String) -> SymmetricKey? { keys[customKey] }

  private static func key(_ path: String) throws -> SymmetricKey {
    var bytes = try Files.read(path, limit: 1 << 16)
    // An editor's newline at the end is no part of the key.
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard !bytes.isEmpty else { throw OriginError(.configuration, "\(path) is empty") }
    return SymmetricKey(bytes: bytes)
  }
}
