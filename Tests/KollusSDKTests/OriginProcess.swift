import Foundation
import KollusTestSupport
import SealKit
import Testing

/// The built `kollus-origin` over a folder of its own.
final class OriginProcess: Sendable {
  let url: String
  private let root: String
  private let folder: String
  private let process: ChildProcess

  init(in folder: String) async throws {
    self.folder = folder
    root = "\(folder)/site"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    try DRMCallback.securityKey.write(toFile: "\(folder)/origin.key", atomically: true, encoding: .utf8)
    try "{\"\(DRMCallback.customKey)\":\"origin.key\"}".write(
      toFile: "\(folder)/keys.json", atomically: true, encoding: .utf8)
    process = try ChildProcess(
      try Tool.built("kollus-origin"),
      ["serve", "--root", root, "--port", "0", "--keys", "\(folder)/keys.json"], environment: [:])
    let line = await process.line { $0.hasPrefix("listening on ") }
    url = String(try #require(line).dropFirst("listening on ".count))
  }

  deinit { process.stop() }

  /// Publishes a file; `changes` replaces texts of its manifest.
  func publish(
    _ key: String, _ file: String, _ options: [String], changes: [(String, String)] = []
  ) async throws {
    let words = ["publish", file, "--mck", key, "--title", "Title of \(key)", "--root", root] + options
    let publishing = try ChildProcess(try Tool.built("kollus-origin"), words, environment: [:])
    await publishing.wait().expect(0)
    let path = "\(root)/contents/\(key)"
    var manifest = try String(contentsOfFile: path, encoding: .utf8)
    for (old, new) in changes {
      #expect(manifest.contains(old), "\(manifest)")
      manifest = manifest.replacing(old, with: new)
    }
    try manifest.write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// A play URL for these contents that holds for an hour.
  func playURL(_ keys: String..., user: String = "learner-17", more: String = "") -> String {
    let contents = keys.map { "{\"mckey\":\"\($0)\"}" }.joined(separator: ",")
    let end = Int(Date().timeIntervalSince1970) + 3_600
    let token = JSONWebToken.signed(
      payload: "{\"cuid\":\"\(user)\",\"expt\":\(end),\"mc\":[\(contents)]}",
      key: SymmetricKey(bytes: Array(DRMCallback.securityKey.utf8)))
    return "\(url)/s?jwt=\(token)&custom_key=\(DRMCallback.customKey)\(more)"
  }
}
