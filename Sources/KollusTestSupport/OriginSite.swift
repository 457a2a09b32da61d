import Foundation
import JSONKit

/// An origin on the loopback: manifests of contents under `/contents/`, their media under `/media/`.
package final class OriginSite: Sendable {
  package let server: ScriptedServer
  private let state: Protected<State>

  private struct State: Sendable {
    var manifests: [String: ScriptedServer.Handler] = [:]
    var media: [String: ScriptedServer.Handler] = [:]
    var names: [String: Int] = [:]
  }

  package init() throws {
    let state = Protected(State())
    self.state = state
    server = try ScriptedServer { request in
      let prefix = "/contents/"
      guard request.path.hasPrefix(prefix) else {
        return state.withLock { $0.media[request.path] }?(request) ?? Answer(404)
      }
      let mck = request.path.dropFirst(prefix.count).removingPercentEncoding ?? ""
      return state.withLock { $0.manifests[mck] }?(request) ?? Answer(404)
    }
  }

  package var url: String { server.url }

  /// Serves the manifest and the media of a content, in place of what was served for its key.
  package func publish(_ content: OriginContent) throws {
    try publishManifest(content)
    answerMedia(of: content.mck, with: content.handler)
  }

  /// Serves a manifest alone: the media stay as they are.
  package func publishManifest(_ content: OriginContent) throws {
    let text = content.manifest(mediaURL: mediaURL(of: content.mck))
    answerManifest(of: content.mck) { _ in Answer(200, text: text, type: "application/json") }
  }

  package func answerManifest(of mck: String, with handler: @escaping ScriptedServer.Handler) {
    state.withLock { $0.manifests[mck] = handler }
  }

  package func answerMedia(of mck: String, with handler: @escaping ScriptedServer.Handler) {
    let path = mediaPath(of: mck)
    state.withLock { $0.media[path] = handler }
  }

  /// Answers any other path, such as the target of a redirect.
  package func answer(_ path: String, with handler: @escaping ScriptedServer.Handler) {
    state.withLock { $0.media[path] = handler }
  }

  /// The path of a content's media; it stays the same however often the content is published.
  package func mediaPath(of mck: String) -> String {
    let number = state.withLock { state in
      let number = state.names[mck] ?? state.names.count + 1
      state.names[mck] = number
      return number
    }
    return "/media/\(number).mp4"
  }

  package func mediaURL(of mck: String) -> String { url + mediaPath(of: mck) }

  /// Requests for a content's media so far.
  package func mediaExchanges(of mck: String) -> [ScriptedServer.Exchange] {
    let path = mediaPath(of: mck)
    return server.exchanges.filter { $0.request.path == path }
  }

  /// Body bytes of a content's media sent so far.
  package func mediaBytes(of mck: String) -> Int {
    mediaExchanges(of: mck).reduce(0) { $0 + $1.bodyBytes }
  }

  package var manifestExchanges: [ScriptedServer.Exchange] { server.exchanges(under: "/contents/") }
}
