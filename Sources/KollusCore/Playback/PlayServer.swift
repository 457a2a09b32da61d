import SealKit
import ServerKit

/// Serves one content's plain bytes to a player on this machine, at an address that nobody can guess (design §7).
final class PlayServer: Sendable {
  /// The only address that is answered; it is a secret of the session.
  let url: String
  private let server: HTTPServer

  /// Serves until `stop`; any other path, method or `Host` gets nothing.
  init(_ media: SealedMedia, type: String, identity: String) throws(KollusError) {
    do {
      let secret = Hex.encode(try SecureRandom.bytes(24))
      let path = "/\(secret)"
      let tag = "\"\(identity)\""
      var configuration = HTTPServer.Configuration()
      configuration.threading = .shared(threads: 1)
      configuration.connectionLimit = 8
      configuration.timeout = .seconds(10)
      configuration.maximumBody = 0
      let host = Protected("")
      let server = try HTTPServer(configuration) { request in
        guard let named = request.headers["Host"], named == host.withLock({ $0 }) else {
          return Response(status: 421)
        }
        guard Self.isSame(request.path, path), request.query == nil else { return Response(status: 404) }
        guard request.method == "GET" || request.method == "HEAD" else {
          return Response(status: 405, headers: ["Allow": "GET, HEAD"])
        }
        // A player that is paused needs patience.
        return Response(
          media: Media(media, type: type, entityTag: tag),
          headers: ["Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"], timeout: .zero)
      }
      host.withLock { $0 = "127.0.0.1:\(server.port)" }
      self.server = server
      url = "\(server.origin)\(path)"
    } catch {
      throw KollusError(.inputOutput, "cannot serve the content to a player: \(error)")
    }
  }

  /// Cuts off every reader; from here on the address leads nowhere.
  func stop() { server.stop() }

  /// Takes the same time wherever two texts of one length differ.
  private static func isSame(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
