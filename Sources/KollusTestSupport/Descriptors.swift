import Glibc
import Synchronization

/// Makes and marks descriptors so that no program started here inherits one by accident.
///
/// `accept4` and `pipe2` are out of reach without a shim, so making, marking and starting exclude each other.
enum Descriptors {
  private static let lock = Mutex(())

  static func withLock<Result: Sendable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.withLock { _ throws(Failure) in try body() }
  }

  /// The next connection of a listening socket, or a negative number once the socket is shut down.
  static func accept(on listener: Int32) -> Int32 {
    guard wait(for: listener, milliseconds: -1) else { return -1 }
    return withLock { closingOnExec(Glibc.accept(listener, nil, nil)) }
  }

  /// The reading and the writing end of a pipe; the caller holds the lock.
  static func pipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { throw SystemError(number: errno) }
    return (closingOnExec(ends[0]), closingOnExec(ends[1]))
  }

  /// True once there is something to read or the other side is gone; false at the time-out.
  static func wait(for descriptor: Int32, milliseconds: Int) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let ready = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
      if ready >= 0 || errno != EINTR { return ready > 0 }
    }
  }

  /// A socket that listens on a loopback port: chosen by the kernel, or one that was listened on before.
  static func listen(on port: Int = 0) throws(SystemError) -> (socket: Int32, port: Int) {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if port != 0 { reuse(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(socket, address, length) != 0 || Glibc.listen(socket, 1_024) != 0
          || getsockname(socket, address, &length) != 0
      }
    }
    guard !failed else {
      let number = errno
      close(socket)
      throw SystemError(number: number)
    }
    return (socket, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A socket bound to a loopback port, which does not listen.
  static func hold(_ port: Int) throws(SystemError) -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    reuse(socket)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    let failed = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
      }
    }
    guard !failed else {
      let number = errno
      close(socket)
      throw SystemError(number: number)
    }
    return socket
  }

  /// Connections that have just ended still name the port.
  private static func reuse(_ socket: Int32) {
    var on: Int32 = 1
    unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func closingOnExec(_ descriptor: Int32) -> Int32 {
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }
}

/// A loopback port on which nobody listens: it was free a moment ago.
package func unusedPort() throws -> Int {
  let (socket, port) = try Descriptors.listen()
  close(socket)
  return port
}

/// Holds a loopback port on which nobody listens, so that no other server gets it meanwhile.
package final class HeldPort: Sendable {
  private let socket: Mutex<Int32>

  /// Takes the port, which must have become free just now.
  package init(_ port: Int) throws {
    socket = Mutex(try Descriptors.hold(port))
  }

  deinit { release() }

  /// Lets a server have the port.
  package func release() {
    socket.withLock { socket in
      if socket >= 0 { close(socket) }
      socket = -1
    }
  }
}
