/// What all connections of a server share.
final class Site: Sendable {
  let maximumBody: Int
  let stopSignal: StopSignal
  let observe: HTTPServer.Observer?
  let handler: HTTPServer.Handler

  init(
    maximumBody: Int, stopSignal: StopSignal, observe: HTTPServer.Observer?,
    handler: @escaping HTTPServer.Handler
  ) {
    self.maximumBody = maximumBody
    self.stopSignal = stopSignal
    self.observe = observe
    self.handler = handler
  }
}
