import Glibc
import SealKit
import SystemKit

/// The folder that `publish` writes: `contents/<key>` are manifests, `media/<name>` what they point to.
///
/// Everything in it is static, so any web server over the folder answers as `serve` does, play URLs aside.
struct OriginFolder: Sendable {
  static let contentsName = "contents"
  static let mediaName = "media"
  /// The largest answer a client takes, in bytes.
  static let manifestLimit = 8 << 20

  let root: String

  var contents: String { "\(root)/\(Self.contentsName)" }
  var media: String { "\(root)/\(Self.mediaName)" }
  /// Where files grow before they are moved to their place: hidden, and on the same file system.
  var incoming: String { "\(root)/.incoming" }

  /// A path in ``incoming`` that no other run uses.
  func temporaryPath() throws -> String { "\(incoming)/\(Hex.encode(try SecureRandom.bytes(16)))" }

  /// Makes what is missing, so that a web server under another user can read it.
  func create() throws {
    for path in [root, contents, media, incoming] where try Files.information(path) == nil {
      guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw SystemError("create", path) }
    }
  }

  /// Puts a manifest in its place; readers see the old one or the new one.
  func write(_ manifest: [UInt8], for key: ContentKey) throws {
    let temporary = try temporaryPath()
    try Files.write(manifest, to: temporary, mode: 0o644)
    // A failed move leaves the manifest there before, and no rubbish.
    defer { try? Files.remove(temporary) }
    try Files.rename(temporary, to: "\(contents)/\(key.text)")
  }
}
