extension CommandTree {
  /// What is wrong with the declarations themselves, for a test to find empty.
  package var problems: [String] {
    var found = Self.repeated(commands.map(\.name) + groups.map(\.name)).map { "\($0): declared twice" }
    found += commands.flatMap { spec in spec.problems(sharing: common).map { "\(spec.name): \($0)" } }
    found += groups.filter(\.abstract.isEmpty).map { "\($0.name): no abstract" }
    for spec in commands where spec.path.count > 1 {
      let parent = spec.path.dropLast().joined(separator: " ")
      if group(parent) == nil { found.append("\(spec.name): no group '\(parent)'") }
    }
    for group in groups where names(under: group.path).isEmpty { found.append("\(group.name): no commands") }
    return found + common.filter { !$0.isOption }.map { "common \($0.name): must be an option" }
  }

  static func repeated(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }
  }
}

extension CommandSpec {
  /// What is wrong with the declaration itself, for a test to find empty.
  package func problems(sharing common: [Declaration] = []) -> [String] {
    let all = inputs + common
    var found: [String] = []
    if path.isEmpty || path.joined(separator: " ") != name { found.append("bad name") }
    if abstract.isEmpty { found.append("no abstract") }
    found += CommandTree.repeated(all.map(\.name)).map { "input '\($0)' declared twice" }
    found += CommandTree.repeated(all.compactMap { $0.short.map { "-\($0)" } }).map {
      "'\($0)' declared twice"
    }
    found += inputs.flatMap(\.problems)
    let positionals = inputs.filter { !$0.isOption }
    for (before, after) in zip(positionals, positionals.dropFirst()) {
      if before.isRepeatable { found.append("'\(before.name)' takes all words, so nothing may follow it") }
      if after.isRequired, !before.isRequired {
        found.append("'\(after.name)' is required but follows '\(before.name)', which is not")
      }
    }
    return found
  }
}

extension Declaration {
  fileprivate var problems: [String] {
    var found: [String] = []
    if name.isEmpty || name.hasPrefix("-") || name.contains(where: { $0 == "=" || $0.isWhitespace }) {
      found.append("bad name '\(name)'")
    }
    if help.isEmpty { found.append("'\(name)' has no help") }
    if kind != .flag, placeholder.isEmpty { found.append("'\(name)' has no placeholder") }
    if short.map({ !$0.isLetter && !$0.isNumber }) == true { found.append("'\(name)' has a bad short form") }
    if choices.contains(where: { $0.isEmpty || $0.contains(where: \.isWhitespace) }) {
      found.append("'\(name)' has a bad choice")
    }
    if let defaultText, !choices.isEmpty, !choices.contains(defaultText) {
      found.append("'\(name)' has a default that is not allowed")
    }
    return found
  }
}
