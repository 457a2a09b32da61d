import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The error number, such as `ENOSPC`.
  package let number: Int32
  /// What was attempted: "open", "write".
  package let operation: String
  /// The path concerned, or "" where there is none.
  package let path: String

  package init(_ operation: String, _ path: String = "", number: Int32 = errno) {
    self.number = number
    self.operation = operation
    self.path = path
  }

  /// Whether the disk, or the user's share of it, is full.
  package var isNoSpace: Bool { number == ENOSPC || number == EDQUOT }

  /// The system's own words for the error number.
  package var reason: String { unsafe String(cString: strerror(number)) }

  package var description: String {
    path.isEmpty ? "cannot \(operation): \(reason)" : "cannot \(operation) \(path): \(reason)"
  }
}
