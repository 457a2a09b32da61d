/// One thing that the doctor has looked at.
package struct Finding: Sendable, Equatable {
  /// What was looked at; the raw value is its name in JSON.
  package enum Check: String, Sendable, CaseIterable {
    case home, key, library, locks, media, clock, space, config, endpoints, player, reports, events
  }

  package enum Level: String, Sendable {
    case fine
    /// Worth knowing; nothing is wrong by it.
    case notice
    case problem
  }

  package let check: Check
  package let level: Level
  /// Lower case, no final stop, never a secret.
  package let message: String
  /// What `--fix` does about it; `nil` where it can do nothing.
  package var fix: String?
  package var isFixed = false
  /// What a person can do about it.
  package var hint: String?
  package var mediaContentKey: String?
  /// What a problem amounts to; the exit status follows from it.
  package var kind = KollusError.Kind.configuration

  init(_ check: Check, _ level: Level, _ message: String, hint: String? = nil) {
    (self.check, self.level, self.message, self.hint) = (check, level, message, hint)
  }

  /// A problem that a failure tells of.
  init(_ check: Check, _ error: KollusError) {
    self.init(check, .problem, error.message, hint: error.hint)
    (kind, mediaContentKey) = (error.kind, error.mediaContentKey)
  }

  /// Whether it is still to be done about.
  package var isOpen: Bool { level == .problem && !isFixed }
}
