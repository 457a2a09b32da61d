import Synchronization

/// An HTTP server on one address: it answers by a handler from ``init(_:observe:handler:)`` until ``stop()``.
///
/// Ranges, validators and HEAD are the server's own work; a handler only says what there is at a path.
package final class HTTPServer: Sendable {
  /// Looks at an answer as it is sent: the request, the handler's response, and the status the client gets
  /// (206, say, not the handler's 200; 0 for no answer).
  ///
  /// It runs on the connection's thread.
  package typealias Observer = @Sendable (_ request: Request, _ response: Response, _ status: Int) -> Void

  /// Answers one request whose body has arrived in full; runs on a thread of the server (see ``Threading``).
  package typealias Handler = @Sendable (_ request: Request) -> Response

  /// The port in use: the kernel's choice where the configuration said 0.
  package let port: Int
  /// The address and port as a URL without a path, such as `http://127.0.0.1:8080`.
  package let origin: String
  private let site: Site
  private let daemon: Mutex<Daemon?>

  /// Binds, listens and serves; an answer may be asked for before this returns.
  package init(
    _ configuration: Configuration = Configuration(), observe: Observer? = nil, handler: @escaping Handler
  ) throws(ServerError) {
    let socket = try ListeningSocket(address: configuration.address, port: configuration.port)
    port = socket.port
    origin = "http://\(socket.isIPv6 ? "[\(configuration.address)]" : configuration.address):\(port)"
    site = Site(
      maximumBody: configuration.maximumBody, stopSignal: try StopSignal(), observe: observe, handler: handler
    )
    daemon = Mutex(try Daemon(configuration, on: socket, site: site))
  }

  deinit { stop() }

  /// Cuts off every transfer and returns when no thread of the server runs any more.
  ///
  /// Calling it again does nothing. Never call it from a handler, which it would wait for.
  package func stop() {
    site.stopSignal.raise()
    // The lock is held while stopping, so that a second caller also returns only when all is over.
    daemon.withLock { $0 = nil }
  }
}

extension HTTPServer {
  /// Which threads run the handler and read the bodies.
  package enum Threading: Sendable {
    /// So many threads serve all connections; a handler or source that blocks stalls others.
    ///
    /// Connections beyond the limit wait to be accepted.
    case shared(threads: Int)
    /// Every connection has a thread, so that a handler may take its time.
    ///
    /// Connections beyond the limit are reset.
    case perConnection
  }

  /// What a server needs to know before it starts.
  package struct Configuration: Sendable {
    /// A numeric IPv4 or IPv6 address.
    package var address = "127.0.0.1"
    /// 0 leaves the choice to the kernel.
    package var port = 0
    package var threading = Threading.perConnection
    /// How many connections may be open at once.
    package var connectionLimit = 512
    /// How long a connection may be idle, in whole seconds; zero is for ever.
    package var timeout = Duration.seconds(30)
    /// The largest request body taken, in bytes; a larger one is answered by 413.
    package var maximumBody = 1 << 20

    package init() {}
  }
}
