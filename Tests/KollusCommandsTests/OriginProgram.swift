import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import Testing

/// The built `kollus-origin` over a folder of its own; its media come from a server that counts.
final class OriginProgram: Sendable {
  static let customKey = "demo"
  private static let securityKey = "demo-security-key"

  let url: String
  /// Serves the media under `/<key>`.
  let media: ScriptedServer
  private let folder: String
  private let process: ChildProcess
  private let handlers = Protected<[String: ScriptedServer.Handler]>([:])

  /// Serves an empty folder with these further options.
  init(_ options: String...) async throws {
    folder = "\(TemporaryDirectory.path)/origin"
    try FileManager.default.createDirectory(atPath: folder + "/root", withIntermediateDirectories: true)
    try Data("\(Self.securityKey)\n".utf8).write(to: URL(fileURLWithPath: folder + "/security.key"))
    let keys = "{\"\(Self.customKey)\":\"security.key\"}"
    try Data(keys.utf8).write(to: URL(fileURLWithPath: folder + "/keys.json"))
    media = try ScriptedServer { [handlers] request in
      handlers.withLock { $0[request.path] }?(request) ?? Answer(404)
    }
    let words = [
      "serve", "--root", folder + "/root", "--port", "0", "--keys", folder + "/keys.json", "--log",
    ]
    process = try ChildProcess(try Tool.built("kollus-origin"), words + options, environment: [:])
    let line = await process.line { $0.hasPrefix("listening on ") }
    url = String(try #require(line).dropFirst("listening on ".count))
  }

  deinit { process.stop() }

  /// Requests that the program has logged so far.
  var log: [String] {
    process.text(on: .standardError).split(separator: "\n").map(String.init)
  }

  /// Publishes bytes with the program, and moves their address to ``media``.
  func publish(_ key: String, _ bytes: [UInt8], _ options: String...) async throws {
    let file = folder + "/source.mp4"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let words = ["publish", file, "--mck", key, "--title", "Title of \(key)", "--root", folder + "/root"]
    let publishing = try ChildProcess(try Tool.built("kollus-origin"), words + options, environment: [:])
    await publishing.wait().expect(0)
    let path = "\(folder)/root/contents/\(key)"
    let manifest = try String(contentsOfFile: path, encoding: .utf8)
    let changed = manifest.replacing(/"urls":\[[^\]]*\]/, with: "\"urls\":[\"\(media.url)/\(key)\"]")
    #expect(changed != manifest)
    try changed.write(toFile: path, atomically: true, encoding: .utf8)
    answer(key, with: ScriptedServer.object(bytes))
  }

  func answer(_ key: String, with handler: @escaping ScriptedServer.Handler) {
    handlers.withLock { $0["/" + key] = handler }
  }

  /// A token with these claims.
  static func token(_ claims: String, key: String = securityKey) -> String {
    JSONWebToken.signed(payload: claims, key: SymmetricKey(bytes: Array(key.utf8)))
  }

  /// Claims for these contents that hold for an hour; `salt` makes another token of the same.
  static func claims(_ keys: String..., salt: Int = 0) -> String {
    let contents = keys.map { #"{"mckey":\#($0.jsonQuoted)}"# }.joined(separator: ",")
    let end = Int(Date().timeIntervalSince1970) + 3_600 + salt
    return #"{"cuid":"learner-17","expt":\#(end),"mc":[\#(contents)]}"#
  }

  func playURL(_ token: String, customKey: String = customKey, more: String = "") -> String {
    "\(url)/s?jwt=\(token)&custom_key=\(customKey)\(more)"
  }
}
