extension Input where Value == String {
  /// An option whose value is one of a few words.
  package static func choice(
    _ name: String, _ short: Character? = nil, _ placeholder: String, of allowed: [String],
    default value: String, help: String
  ) -> Self {
    var declaration = Declaration.option(name, short, placeholder, help: help)
    declaration.choices = allowed
    declaration.defaultText = value
    return Self(
      declaration: declaration,
      read: { [declaration] words throws(UsageError) in
        guard let word = words.last else { return value }
        return try declaration.choice(word)
      })
  }
}

extension Input where Value == String? {
  /// An option whose value is one of a few words, `nil` when absent.
  package static func choice(
    _ name: String, _ short: Character? = nil, _ placeholder: String, of allowed: [String], help: String
  ) -> Self {
    var declaration = Declaration.option(name, short, placeholder, help: help)
    declaration.choices = allowed
    return Self(
      declaration: declaration,
      read: { [declaration] words throws(UsageError) in
        guard let word = words.last else { return nil }
        return try declaration.choice(word)
      })
  }
}

extension Input where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// An option whose value is one of the cases of an enumeration, written as its raw value.
  package static func choice(
    _ name: String, _ short: Character? = nil, _ placeholder: String, default value: Value, help: String
  ) -> Self {
    var declaration = Declaration.option(name, short, placeholder, help: help)
    declaration.choices = Value.allCases.map(\.rawValue)
    declaration.defaultText = value.rawValue
    return Self(
      declaration: declaration,
      read: { [declaration] words throws(UsageError) in
        guard let word = words.last else { return value }
        return try declaration.enumerated(word)
      })
  }

  /// A word the command cannot do without, one of the cases of an enumeration.
  package static func positionalChoice(_ placeholder: String, help: String) -> Self {
    var declaration = Declaration.positional(placeholder, help: help, minimum: 1)
    declaration.choices = Value.allCases.map(\.rawValue)
    return Self(
      declaration: declaration,
      read: { [declaration] words throws(UsageError) in
        guard let word = words.first else { throw UsageError("missing \(placeholder)") }
        return try declaration.enumerated(word)
      })
  }
}

extension Input {
  /// An option whose value is one of the cases of an enumeration, `nil` when absent.
  package static func choice<Wrapped: CaseIterable & RawRepresentable>(
    _ name: String, _ short: Character? = nil, _ placeholder: String, help: String
  ) -> Self where Value == Wrapped?, Wrapped.RawValue == String {
    var declaration = Declaration.option(name, short, placeholder, help: help)
    declaration.choices = Wrapped.allCases.map(\.rawValue)
    return Self(
      declaration: declaration,
      read: { [declaration] words throws(UsageError) in
        guard let word = words.last else { return nil }
        return try .some(declaration.enumerated(word))
      })
  }
}

extension Declaration {
  fileprivate func enumerated<Value: RawRepresentable>(
    _ word: String
  ) throws(UsageError) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: word) else { throw invalid(word) }
    return value
  }
}
