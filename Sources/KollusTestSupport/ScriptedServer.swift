import Dispatch
import Foundation
import Glibc
import Synchronization

/// An HTTP/1.1 server on the loopback whose every answer, sound or not, comes from a closure.
///
/// One thread a connection; it stops with ``stop()`` or its last reference.
package final class ScriptedServer: Sendable {
  /// Called on a connection's thread, several at once.
  package typealias Handler = @Sendable (ServedRequest) -> Answer

  /// One request and what became of its answer.
  package struct Exchange: Sendable {
    package let request: ServedRequest
    package let status: Int
    package let at: ContinuousClock.Instant
    /// Body bytes the kernel took for sending.
    package internal(set) var bodyBytes = 0
    package internal(set) var isFinished = false
  }

  package let port: Int
  private let core: Core

  /// Listens on a port chosen by the kernel, or on that of a server that was stopped.
  package init(on port: Int = 0, _ handler: @escaping Handler) throws {
    let (socket, port) = try Descriptors.listen(on: port)
    self.port = port
    core = Core(listener: socket, handler: handler)
    let core = core
    Thread.detachNewThread { core.serve() }
  }

  deinit { core.stop() }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// Every request so far, in the order of arrival.
  package var exchanges: [Exchange] { core.state.withLock { $0.exchanges } }

  /// Answers by another closure from the next request on.
  package func answer(with handler: @escaping Handler) { core.state.withLock { $0.handler = handler } }

  /// Ends listening and every connection, and waits until their threads let go.
  package func stop() { core.stop() }

  package func exchanges(under prefix: String) -> [Exchange] {
    exchanges.filter { $0.request.path.hasPrefix(prefix) }
  }

  /// Body bytes sent for every path that starts so.
  package func bodyBytes(under prefix: String) -> Int {
    exchanges(under: prefix).reduce(0) { $0 + $1.bodyBytes }
  }
}

/// What the threads of a ``ScriptedServer`` share; it does not keep the server itself alive.
extension ScriptedServer {
  final class Core: Sendable {
    struct State {
      var handler: Handler
      var exchanges: [Exchange] = []
      var requests: [String: Int] = [:]
      var connections: Set<Int32> = []
      var isStopped = false
    }

    /// More connections at once than any test opens; the next ones are closed unanswered.
    private static let mostConnections = 512

    let state: Mutex<State>
    private let listener: Int32
    private let threads = DispatchGroup()

    init(listener: Int32, handler: @escaping Handler) {
      self.listener = listener
      state = Mutex(State(handler: handler))
      threads.enter()
    }

    func serve() {
      defer { threads.leave() }
      while case let socket = Descriptors.accept(on: listener), socket >= 0 {
        let isWanted = state.withLock { state in
          guard !state.isStopped, state.connections.count < Self.mostConnections else { return false }
          return state.connections.insert(socket).inserted
        }
        guard isWanted else {
          close(socket)
          continue
        }
        threads.enter()
        Thread.detachNewThread { [self] in
          ServerConnection(socket: socket, core: self).serve()
          // Off the list first: ``stop()`` must not shut down a number that means something else by then.
          _ = state.withLock { $0.connections.remove(socket) }
          shutdown(socket, Int32(SHUT_RDWR))
          close(socket)
          threads.leave()
        }
      }
      close(listener)
    }

    func stop() {
      let isFirst = state.withLock { state in
        defer { state.isStopped = true }
        guard !state.isStopped else { return false }
        for socket in state.connections { shutdown(socket, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
        return true
      }
      if isFirst { _ = threads.wait(timeout: .now() + .seconds(5)) }
    }

    /// Notes a request and asks the script; the number is for ``sent(_:on:finished:)``.
    func answer(to request: ServedRequest) -> (Answer, number: Int) {
      var request = request
      let path = request.path
      let (handler, earlier) = state.withLock { state in
        defer { state.requests[path, default: 0] += 1 }
        return (state.handler, state.requests[path, default: 0])
      }
      request.earlier = earlier
      let answer = handler(request)
      let exchange = Exchange(request: request, status: answer.status, at: .now)
      return state.withLock { state in
        state.exchanges.append(exchange)
        return (answer, state.exchanges.count - 1)
      }
    }

    func sent(_ count: Int, on number: Int, finished: Bool = false) {
      state.withLock { state in
        state.exchanges[number].bodyBytes += count
        if finished { state.exchanges[number].isFinished = true }
      }
    }
  }
}
