import Glibc

/// A socket that listens, opened here rather than by the library so that a failure has its error number.
@safe struct ListeningSocket: ~Copyable {
  let port: Int
  let isIPv6: Bool
  private let descriptor: Int32

  /// Binds and listens with the longest backlog the system allows; port 0 is the kernel's choice.
  init(address: String, port: Int) throws(ServerError) {
    guard let wanted = UInt16(exactly: port) else { throw ServerError(.badAddress) }
    var storage = sockaddr_storage()
    guard let family = Self.fill(&storage, address: address, port: wanted) else {
      throw ServerError(.badAddress)
    }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { throw ServerError(.system, number: errno) }
    guard let bound = Self.listen(descriptor, &storage) else {
      let number = errno
      close(descriptor)
      throw ServerError(number == EADDRINUSE ? .addressInUse : .system, number: number)
    }
    self.port = bound
    self.isIPv6 = family == AF_INET6
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Hands the descriptor over to an owner that will close it.
  consuming func release() -> Int32 {
    let released = descriptor
    discard self
    return released
  }

  /// Writes the address into `storage`; nil when it is of neither family.
  private static func fill(_ storage: inout sockaddr_storage, address: String, port: UInt16) -> Int32? {
    unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      guard let start = bytes.baseAddress else { return nil }
      let four = unsafe start.bindMemory(to: sockaddr_in.self, capacity: 1)
      if unsafe inet_pton(AF_INET, address, &four.pointee.sin_addr) == 1 {
        unsafe four.pointee.sin_family = sa_family_t(AF_INET)
        unsafe four.pointee.sin_port = port.bigEndian
        return AF_INET
      }
      let six = unsafe start.bindMemory(to: sockaddr_in6.self, capacity: 1)
      guard unsafe inet_pton(AF_INET6, address, &six.pointee.sin6_addr) == 1 else { return nil }
      unsafe six.pointee.sin6_family = sa_family_t(AF_INET6)
      unsafe six.pointee.sin6_port = port.bigEndian
      return AF_INET6
    }
  }

  /// Binds and listens; gives the port back, or nil with `errno` set.
  private static func listen(_ descriptor: Int32, _ storage: inout sockaddr_storage) -> Int? {
    // A port in TIME_WAIT after our own restart is no reason to refuse it.
    var yes: Int32 = 1
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var length = socklen_t(
      storage.ss_family == sa_family_t(AF_INET)
        ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
    return unsafe withUnsafeMutablePointer(to: &storage) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe bind(descriptor, address, length) == 0, Glibc.listen(descriptor, SOMAXCONN) == 0,
          unsafe getsockname(descriptor, address, &length) == 0
        else { return nil }
        // The port stands at the same place for both families.
        return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          unsafe Int(UInt16(bigEndian: $0.pointee.sin_port))
        }
      }
    }
  }
}
