/// What the parser, the help page and the completion need to know of an input; its value type is erased.
package struct Declaration: Sendable, Equatable {
  package enum Kind: Sendable, Equatable { case positional, option, flag }

  /// The long name without its dashes, or the placeholder of a positional.
  package let name: String
  package let short: Character?
  package let kind: Kind
  /// Stands for the value on help pages.
  ///
  /// `FILE`, `PATH` and `DIR`, or a last part such as that of `CA-FILE`, complete names from the disk.
  package let placeholder: String
  package let help: String
  /// What is taken when the input is absent, as the help page shows it.
  package var defaultText: String?
  /// The only words allowed, in help order; empty when any word may be tried.
  package var choices: [String] = []
  /// How many words a positional needs at least.
  package var minimum = 0
  /// Whether it may be given more than once.
  package var isRepeatable = false

  /// How messages name the input: `--jobs` or `MCK`.
  package var label: String { kind == .positional ? placeholder : "--\(name)" }

  package var isRequired: Bool { minimum > 0 }

  static func positional(_ placeholder: String, help: String, minimum: Int) -> Self {
    Self(
      name: placeholder, short: nil, kind: .positional, placeholder: placeholder, help: help, minimum: minimum
    )
  }

  static func option(_ name: String, _ short: Character?, _ placeholder: String, help: String) -> Self {
    Self(name: name, short: short, kind: .option, placeholder: placeholder, help: help)
  }
}
