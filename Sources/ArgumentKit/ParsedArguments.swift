/// The words of one command line, sorted by input; values are converted when they are asked for.
package struct ParsedArguments: Sendable, Equatable {
  let declared: Set<String>
  let words: [String: [String]]

  init(_ parser: WordParser) {
    declared = Set(parser.inputs.map(\.name))
    words = parser.found
  }

  /// The typed value of an input the command, or its tree in common, declared.
  package func callAsFunction<Value>(_ input: Input<Value>) throws(UsageError) -> Value {
    try input.read(written(input.declaration))
  }

  /// Whether the user wrote the input, so that a default is told from the same value given.
  package func isGiven<Value>(_ input: Input<Value>) -> Bool {
    !written(input.declaration).isEmpty
  }

  private func written(_ declaration: Declaration) -> [String] {
    precondition(declared.contains(declaration.name), "undeclared input \(declaration.name)")
    return words[declaration.name] ?? []
  }
}
