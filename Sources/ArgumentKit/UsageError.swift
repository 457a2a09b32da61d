/// The user wrote something the command does not accept; shown with the usage line, exit 64.
///
/// The texts may hold words from outside: whoever prints them makes them safe for the terminal.
package struct UsageError: Error, Equatable, Sendable {
  /// What is wrong and with which word.
  package let message: String
  /// What to write instead, when that can be guessed.
  package let hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
