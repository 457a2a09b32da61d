import Foundation
import JSONKit
import KollusSDK
import KollusTestSupport
import Testing

/// A real origin, a DRM callback, a receiver of reports and bookmarks, and a storage that listens.
final class SDKStage: Sendable {
  typealias Entry = DRMCallback.Entry

  static let mck = "AbCd1234"
  /// A lecture of 24 seconds.
  static let lecture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Fixtures/lecture.mp4").path
  static let hasMPV = ["/usr/bin/mpv", "/usr/local/bin/mpv"].contains {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  let folder = TemporaryDirectory.path
  let origin: OriginProcess
  let callback: DRMCallback
  let receiver: ScriptedServer
  let storage: KollusStorage
  let listener = Listener()

  var mck: String { Self.mck }

  init() async throws {
    origin = try await OriginProcess(in: folder)
    callback = try DRMCallback()
    receiver = try ScriptedServer { _ in Answer(200, text: "ok") }
    storage = KollusStorage(configuration: try Self.configuration(in: folder, origin.url))
    storage.delegate = listener
    storage.setNetworkTimeOut(2, retry: 0)
  }

  /// A configuration that touches nothing outside of the folder.
  static func configuration(in folder: String, _ origin: String) throws -> KollusConfiguration {
    _ = try DRMCallback.settings(in: folder)
    var configuration = KollusConfiguration()
    configuration.environment = [
      "PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": folder, "TMPDIR": folder, "TZ": "UTC",
    ]
    configuration.home = "\(folder)/home"
    configuration.origin = origin
    configuration.securityKeyFiles = [DRMCallback.customKey: "\(folder)/security.key"]
    configuration.reserve = 0
    return configuration
  }

  // MARK: Contents

  /// Publishes the lecture: under a licence unless `entry` is `nil`.
  func publish(
    _ key: String = mck, under entry: Entry? = nil, _ options: String..., changes: [(String, String)] = []
  ) async throws {
    var words = [
      "--duration", "24", "--block-count", "24", "--custom-key", DRMCallback.customKey, "--channel-key",
      "chan77",
      "--lms-callback", "3600:\(receiver.url)/lms?json_data={JSON_DATA}&status={PLAY_STATUS}",
      "--segment-size", "64K",
    ]
    if let entry {
      words += ["--drm-callback", callback.url]
      answer(1, entry)
    }
    try await origin.publish(key, Self.lecture, words + options, changes: changes)
  }

  /// Publishes the lecture, its media on a server that sends at most so many bytes a second.
  func publish(_ key: String = mck, slowedTo bytesPerSecond: Int) async throws -> ScriptedServer {
    let good = ScriptedServer.object(Array(try Data(contentsOf: URL(filePath: Self.lecture))))
    let media = try ScriptedServer { good($0).throttled(to: bytesPerSecond) }
    try await publish(key, changes: [("\"urls\":[\"../media/", "\"urls\":[\"\(media.url)/")])
    return media
  }

  /// Publishes, loads and downloads the lecture.
  func download(
    _ key: String = mck, under entry: Entry? = nil, _ options: String..., changes: [(String, String)] = [],
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    try await publish(key, under: entry, changes: changes)
    try storage.start()
    let found = try storage.loadContentURL(origin.playURL(key))
    #expect(found == key, sourceLocation: location)
    try storage.downloadContent(key)
    await listener.waits(at: location) { $0.ended.contains { $0.key == key } }
  }

  /// Answers one kind by a fixed entry, the others with a plain yes.
  func answer(_ kind: Int, _ entry: Entry) { callback.answer { $0.kind == kind ? entry : Entry() } }

  /// The content as the storage lists it now.
  func content(
    _ key: String = mck, at location: SourceLocation = #_sourceLocation
  ) throws -> KollusContent {
    try #require(storage.contents()?.first { $0.mediaContentKey == key }, sourceLocation: location)
  }

  /// Forms that came for this path, decoded.
  func forms(_ path: String) -> [[String: String]] {
    receiver.exchanges.filter { $0.request.path == path }.map { exchange in
      var fields: [String: String] = [:]
      for pair in String(decoding: exchange.request.body, as: UTF8.self).split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        fields[parts[0]] = parts.last?.replacing("+", with: " ").removingPercentEncoding
      }
      return fields
    }
  }

  /// The sealed file of the only content.
  func mediaFile() throws -> String {
    let media = "\(storage.storagePath)/media"
    let names = try FileManager.default.contentsOfDirectory(atPath: media).filter { $0.hasSuffix(".sealed") }
    return "\(media)/\(try #require(names.first))"
  }
}

/// The code of what a call throws, 0 when it does not.
func code(_ call: () throws -> Void) -> Int {
  do {
    try call()
    return 0
  } catch {
    return (error as NSError).code
  }
}
