import CMicroHTTPD

/// One request on its way to an answer; the connection's thread alone touches it.
@safe final class Exchange {
  /// How many bytes beyond the limit are read before the connection is cut.
  private static let excess = 4 << 20

  private(set) var hasBegun = false
  private let target: String
  private let site: Site
  private var request: Request?
  private var dropped = 0

  init(target: String, site: Site) {
    self.target = target
    self.site = site
  }

  /// Reads the headers; refuses here what must not send its body.
  ///
  /// What is answered this early closes its connection, so anything good waits for ``finish(_:)``.
  func begin(_ connection: OpaquePointer, method: String) -> MHD_Result {
    hasBegun = true
    guard var request = Request(method: method, target: target, stopSignal: site.stopSignal) else {
      let unreadable = Request(unreadableWithMethod: method, stopSignal: site.stopSignal)
      return unsafe send(Response(status: 400), to: unreadable, on: connection)
    }
    unsafe withUnsafeMutablePointer(to: &request.headers) { headers in
      _ = unsafe kollus_mhd_get_headers(connection, { unsafe collect($0, $2, $3) }, headers)
    }
    // A length that cannot be read was refused by the library already.
    if let length = request.headers["Content-Length"].flatMap(Int.init), length > site.maximumBody {
      return unsafe send(Response(status: 413), to: request, on: connection)
    }
    self.request = request
    return .YES
  }

  /// Keeps a part of the body; a body that has grown too large is read on for a while, since the library can
  /// answer
  /// only at its end, and then cut off.
  func take(_ part: UnsafeRawBufferPointer) -> MHD_Result {
    guard let held = request?.body.count else { return .NO }
    guard dropped == 0, part.count <= site.maximumBody - held else {
      request?.body = []
      dropped += held + part.count
      return dropped - site.maximumBody <= Self.excess ? .YES : .NO
    }
    unsafe request?.body.append(contentsOf: part)
    return .YES
  }

  /// Asks the handler and queues its answer.
  func finish(_ connection: OpaquePointer) -> MHD_Result {
    guard let request else { return .NO }
    let response =
      dropped > 0 ? Response(status: 413, headers: ["Connection": "close"]) : site.handler(request)
    return unsafe send(response, to: request, on: connection)
  }

  private func send(_ response: Response, to request: Request, on connection: OpaquePointer) -> MHD_Result {
    if case .nothing = response.body {
      site.observe?(request, response, 0)
      return .NO
    }
    // What the library refuses, say for a line break in a header, is our own fault.
    guard
      let status = unsafe Self.queue(response, request, connection)
        ?? Self.queue(Response(status: 500), request, connection)
    else { return .NO }
    if let timeout = response.timeout {
      unsafe kollus_mhd_set_timeout(connection, UInt32(clamping: timeout.components.seconds))
    }
    site.observe?(request, response, status)
    return .YES
  }

  private static func queue(_ response: Response, _ request: Request, _ connection: OpaquePointer) -> Int? {
    guard let reply = Reply(response, to: request) else { return nil }
    return unsafe reply.queue(on: connection)
  }
}

private func collect(
  _ headers: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> MHD_Result {
  guard let headers = unsafe headers, let name = unsafe name else { return .NO }
  let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
  unsafe headers.assumingMemoryBound(to: Headers.self).pointee.append(String(cString: name), text)
  return .YES
}
