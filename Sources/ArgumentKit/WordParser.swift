/// Sorts words by the input they belong to; options may stand anywhere before `--`.
struct WordParser {
  /// What may be written; grows once the command's name is known.
  var inputs: [Declaration]
  /// Passes over options written wrong: whoever asks for help gets it.
  var isLenient = false
  private var words: ArraySlice<String>
  private var optionsEnded = false
  private(set) var found: [String: [String]] = [:]

  init(inputs: [Declaration], words: [String]) {
    self.inputs = inputs
    self.words = words[...]
  }

  /// The next word that is no option, after taking in the options before it.
  mutating func nextArgument() throws(UsageError) -> String? {
    while let word = words.popFirst() {
      if optionsEnded || !word.hasPrefix("-") || word == "-" { return word }
      if word == "--" {
        optionsEnded = true
      } else if word.hasPrefix("--") {
        try takeLong(word)
      } else {
        try takeShort(word)
      }
    }
    return nil
  }

  /// Takes all words that are left, filling the positionals in their order.
  mutating func takeRest() throws(UsageError) {
    var open = inputs.filter { $0.kind == .positional }[...]
    while let word = try nextArgument() {
      guard let input = open.first else { throw UsageError("unexpected argument '\(word)'") }
      found[input.name, default: []].append(word)
      if !input.isRepeatable { open.removeFirst() }
    }
  }

  /// Refuses a command line that lacks what the command cannot do without.
  func requireAll() throws(UsageError) {
    for input in inputs where (found[input.name]?.count ?? 0) < input.minimum {
      throw input.minimum == 1
        ? UsageError("missing \(input.label)")
        : UsageError("\(input.label) must be given at least \(input.minimum) times")
    }
  }

  private mutating func takeLong(_ word: String) throws(UsageError) {
    let equals = word.utf8.firstIndex(of: UInt8(ascii: "="))
    let flag = equals.map { String(word[..<$0]) } ?? word
    let attached = equals.map { String(word[word.utf8.index(after: $0)...]) }
    guard let input = inputs.first(where: { $0.isOption && $0.label == flag }) else {
      return try refuse("unknown option '\(flag)'", hint: suggestion(for: flag))
    }
    switch (input.kind, attached) {
    case (.option, let attached?): try record(attached, of: input)
    case (.option, nil): try record(nextValue(for: flag), of: input)
    case (_, nil): try record("", of: input)
    case (_, _?): try refuse("'\(flag)' takes no value")
    }
  }

  private mutating func takeShort(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let input = inputs.first(where: { $0.isOption && $0.short == letter }) else {
        return try refuse(
          "unknown option '-\(letter)'\(word.count == 2 ? "" : " in '\(word)'")", hint: hint(for: word))
      }
      if input.kind == .option {
        return try record(letters.isEmpty ? nextValue(for: "-\(letter)") : String(letters), of: input)
      }
      try record("", of: input)
    }
  }

  /// Takes the next word whatever it looks like, so that `--start -5` works, unless it is an option itself.
  private mutating func nextValue(for flag: String) throws(UsageError) -> String {
    guard let word = words.first, !inputs.contains(where: { $0.isWritten(word) }) else {
      try refuse("'\(flag)' needs a value")
      return ""
    }
    words.removeFirst()
    return word
  }

  private mutating func record(_ value: String, of input: Declaration) throws(UsageError) {
    if !input.isRepeatable, found[input.name] != nil {
      try refuse("'\(input.label)' was given twice")
    }
    found[input.name, default: []].append(value)
  }

  private func suggestion(for flag: String) -> String? {
    Suggestion.closest(to: flag, among: inputs.filter(\.isOption).map(\.label)).map {
      "did you mean '\($0)'?"
    }
  }

  /// A word behind one dash may want another dash, or to be no option at all.
  private func hint(for word: String) -> String? {
    if word.count > 3, let suggestion = suggestion(for: "-\(word)") { return suggestion }
    let positional = inputs.first { $0.kind == .positional }
    return positional.map { "put '--' before a \($0.label) that begins with '-'" }
  }

  private func refuse(_ message: String, hint: String? = nil) throws(UsageError) {
    if !isLenient { throw UsageError(message, hint: hint) }
  }
}

extension Declaration {
  var isOption: Bool { kind != .positional }

  /// Whether the word is exactly this option, long or short.
  func isWritten(_ word: String) -> Bool {
    isOption && (word == label || short.map { word == "-\($0)" } == true)
  }
}
