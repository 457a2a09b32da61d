import CMicroHTTPD
import Glibc

/// The library's server, with what its callbacks need kept alive: it stops when this value ends.
///
/// The handle is used by its owner alone, behind the mutex of ``HTTPServer``; the library's threads never see
/// it.
@safe struct Daemon: ~Copyable, @unchecked Sendable {
  private let handle: OpaquePointer
  private let site: Unmanaged<Site>

  init(_ configuration: HTTPServer.Configuration, on socket: consuming ListeningSocket, site: Site)
    throws(ServerError)
  {
    let descriptor = socket.release()
    let settings = kollus_mhd_settings(
      configuration, threading: configuration.threading, listeningSocket: descriptor)
    let retained = unsafe Unmanaged.passRetained(site)
    let started = unsafe kollus_mhd_start(
      settings, retained.toOpaque(), { context, target, _ in unsafe begin(context, target) },
      { unsafe keepEscapes($2) },
      { unsafe answer($0, $1, $3, $5, $6, $7) }, { _, _, mark, _ in unsafe complete(mark) })
    guard let handle = unsafe started else {
      unsafe retained.release()
      close(descriptor)
      throw ServerError(.notStarted)
    }
    unsafe self.handle = handle
    unsafe self.site = retained
  }

  deinit {
    unsafe kollus_mhd_stop(handle)
    unsafe site.release()
  }
}

extension kollus_mhd_settings {
  fileprivate init(
    _ configuration: HTTPServer.Configuration, threading: HTTPServer.Threading, listeningSocket: Int32
  ) {
    self.init()
    listening_socket = listeningSocket
    // No MHD_USE_ERROR_LOG: its lines would hold the paths, which may be secrets.
    flags = MHD_USE_INTERNAL_POLLING_THREAD.rawValue
    switch threading {
    case .perConnection: flags |= MHD_USE_THREAD_PER_CONNECTION.rawValue | MHD_USE_POLL.rawValue
    case .shared(let count):
      flags |= MHD_USE_EPOLL.rawValue
      threads = UInt32(clamping: count)
    }
    connection_limit = max(UInt32(clamping: configuration.connectionLimit), max(threads, 1))
    timeout_seconds = UInt32(clamping: configuration.timeout.components.seconds)
    // A play URL with a hundred entries in its token is some 20 KiB long; the default takes 32 KiB in all.
    memory_limit = 128 << 10
  }
}

/// The first callback of a request, with the target as sent: makes the exchange that the others get back.
private func begin(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context, let target = unsafe target else { return nil }
  let site = unsafe Unmanaged<Site>.fromOpaque(context).takeUnretainedValue()
  let exchange = unsafe Exchange(target: String(cString: target), site: site)
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Replaces the library's own decoding, which would turn `%2F` into a slash before anyone could tell them
/// apart.
private func keepEscapes(_ text: UnsafeMutablePointer<CChar>?) -> Int {
  guard let text = unsafe text else { return 0 }
  return unsafe strlen(text)
}

/// Called with the headers, then with each part of the body, then once more to be answered.
private func answer(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ method: UnsafePointer<CChar>?,
  _ part: UnsafePointer<CChar>?, _ partSize: UnsafeMutablePointer<Int>?,
  _ mark: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection = unsafe connection, let method = unsafe method, let partSize = unsafe partSize,
    let mark = unsafe mark?.pointee
  else { return .NO }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(mark).takeUnretainedValue()
  guard exchange.hasBegun else { return unsafe exchange.begin(connection, method: String(cString: method)) }
  let size = unsafe partSize.pointee
  guard size > 0 else { return unsafe exchange.finish(connection) }
  unsafe partSize.pointee = 0
  guard let part = unsafe part else { return .NO }
  return unsafe exchange.take(UnsafeRawBufferPointer(start: part, count: size))
}

/// The last callback of a request, however it ended.
private func complete(_ mark: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) {
  guard let exchange = unsafe mark?.pointee else { return }
  unsafe Unmanaged<Exchange>.fromOpaque(exchange).release()
  unsafe mark?.pointee = nil
}
