/// Why a JSON text, or a value inside one, cannot be used.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Where the value lies, such as `contents[0].media.size`; empty for the whole document.
  package let path: String
  /// What is wrong, in lower case and without a final stop.
  package let reason: String

  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  package var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}
