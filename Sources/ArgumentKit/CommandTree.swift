/// A word that stands before the names of several commands, such as `lms` in `lms list`.
package struct CommandGroup: Sendable {
  /// The word itself, or a path of several with one space between them.
  package let name: String
  /// One sentence about what its commands have in common.
  package let abstract: String

  package init(_ name: String, _ abstract: String) {
    self.name = name
    self.abstract = abstract
  }

  var path: [String] { name.split(separator: " ").map(String.init) }
}

/// What a command line asks for; a path is the full name of a command or group, such as `lms list`.
package enum Invocation: Sendable, Equatable {
  case run(path: String, ParsedArguments)
  /// Nobody's path in particular means the overview.
  case help(path: String?)
  case version
}

/// All commands of a tool, and the inputs they share.
package struct CommandTree: Sendable {
  /// The name the tool is called by.
  package let tool: String
  /// One sentence that begins the overview.
  package let abstract: String
  /// All commands, those of groups by their full names, in help order.
  package let commands: [CommandSpec]
  /// One for every word that leads to commands without being one.
  package let groups: [CommandGroup]
  /// Inputs of every command, which may stand before its name too; `--help` and `--version` are the last.
  package let common: [Declaration]

  static let help = Input<Bool>.flag("help", "h", help: "Show help and exit.")
  static let version = Input<Bool>.flag("version", help: "Show the version and exit.")

  package init(
    tool: String, _ abstract: String, commands: [CommandSpec], groups: [CommandGroup] = [],
    common: [Declaration] = []
  ) {
    self.tool = tool
    self.abstract = abstract
    self.commands = commands
    self.groups = groups
    self.common = common + [Self.help.declaration, Self.version.declaration]
  }

  /// Finds the command and sorts its words; `help`, `--help` and `--version` win over what else is wrong.
  ///
  /// No word at all asks for the overview.
  package func parse(_ words: [String]) throws(UsageError) -> Invocation {
    if words.isEmpty { return .help(path: nil) }
    let options = words.prefix { $0 != "--" }
    let asksHelp = options.contains("--help") || options.contains("-h")
    if !asksHelp, options.contains("--version") { return .version }
    var parser = WordParser(inputs: common, words: words)
    parser.isLenient = asksHelp
    let place = try locate(&parser)
    if asksHelp || place.asksHelp { return .help(path: place.path) }
    guard let spec = place.command else { throw missingCommand(in: place.path) }
    parser.inputs = spec.inputs + common
    try parser.takeRest()
    // Only bundled letters come this far, as in `-qh`.
    if parser.found[Self.help.declaration.name] != nil { return .help(path: spec.name) }
    try parser.requireAll()
    return .run(path: spec.name, ParsedArguments(parser))
  }

  /// The command or group the words lead to, however wrong the rest is: whose usage line to show.
  package func path(in words: [String]) -> String? {
    var parser = WordParser(inputs: common, words: words)
    parser.isLenient = true
    var path: String?
    // A wrong word only ends the search: what was found before it is the answer.
    _ = try? locate(&parser) { path = $0 }
    return path
  }

  /// The command with this full name.
  package func command(_ path: String) -> CommandSpec? { commands.first { $0.name == path } }

  /// The group with this full name.
  package func group(_ path: String) -> CommandGroup? { groups.first { $0.name == path } }

  private struct Place {
    var path: String?
    var command: CommandSpec?
    var asksHelp = false
  }

  private func locate(
    _ parser: inout WordParser, reached: (String) -> Void = { _ in }
  ) throws(UsageError) -> Place {
    var place = Place()
    var path: [String] = []
    while let word = try parser.nextArgument() {
      let names = self.names(under: path)
      if word == "help", !names.contains(word) {
        place.asksHelp = true
        continue
      }
      guard names.contains(word) else { throw unknown(word, under: path, names) }
      path.append(word)
      let name = path.joined(separator: " ")
      place.path = name
      reached(name)
      place.command = command(name)
      if place.command != nil { break }
    }
    return place
  }

  /// The words that may follow a path, in declared order.
  func names(under path: [String]) -> [String] {
    var seen: Set<String> = []
    return commands.map(\.path)
      .filter { $0.count > path.count && Array($0.prefix(path.count)) == path }
      .map { $0[path.count] }
      .filter { seen.insert($0).inserted }
  }

  private func unknown(_ word: String, under path: [String], _ names: [String]) -> UsageError {
    func full(_ word: String) -> String { (path + [word]).joined(separator: " ") }
    return UsageError(
      "unknown command '\(full(word))'",
      hint: Suggestion.closest(to: word, among: names).map { "did you mean '\(full($0))'?" })
  }

  private func missingCommand(in path: String?) -> UsageError {
    guard let path else { return UsageError("missing command") }
    let names = names(under: path.split(separator: " ").map(String.init))
    return UsageError("'\(path)' needs a command", hint: "one of: \(names.joined(separator: ", "))")
  }
}
