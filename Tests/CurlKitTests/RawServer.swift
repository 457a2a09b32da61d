import Foundation
import Glibc

/// Answers the first bytes of every connection with a fixed text, whatever they ask, and closes it.
final class RawServer: Sendable {
  let url: String
  private let listener: Int32

  init(_ text: String) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) != 0 || listen(listener, 16) != 0
          || getsockname(listener, $0, &length) != 0
      }
    }
    guard !failed else { throw CocoaError(.fileReadUnknown) }
    self.listener = listener
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"
    Foundation.Thread.detachNewThread {
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        var piece = [UInt8](repeating: 0, count: 65_536)
        _ = recv(connection, &piece, piece.count, 0)
        _ = Array(text.utf8).withUnsafeBytes {
          send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        close(connection)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
