/// Help as text, drawn from the declarations alone; no line ends in a space, no page in a newline.
package enum HelpPage {
  /// What the tool is and which commands it has.
  package static func overview(of tree: CommandTree, width: Int = 80) -> String {
    let layout = TextLayout(width: width)
    var lines = layout.wrap(tree.abstract) + ["", "Usage: \(tree.tool) [options] COMMAND ..."]
    lines += layout.section("Commands", tree.commands.map { ($0.name, $0.abstract) })
    lines += layout.section("Options of every command", tree.common.map(\.helpRow))
    lines += [""] + layout.wrap("'\(tree.tool) help COMMAND' tells more about one of them.")
    return lines.joined(separator: "\n")
  }

  /// All there is to know of one command.
  ///
  /// A tool that is a single command passes no `tool` and names the command after itself.
  package static func command(
    _ spec: CommandSpec, tool: String? = nil, common: [Declaration] = [], width: Int = 80
  ) -> String {
    let layout = TextLayout(width: width)
    var lines = layout.wrap(usage(of: spec, tool: tool, hasOptions: !common.isEmpty), hanging: 4)
    lines += [""] + layout.wrap(spec.abstract)
    if !spec.discussion.isEmpty { lines += [""] + layout.paragraphs(spec.discussion) }
    lines += layout.section("Arguments", spec.inputs.filter { !$0.isOption }.map(\.helpRow))
    lines += layout.section("Options", spec.inputs.filter(\.isOption).map(\.helpRow))
    lines += layout.section("Options of every command", common.map(\.helpRow))
    if !spec.examples.isEmpty { lines += ["", "Examples:"] + spec.examples.map { "  \($0)" } }
    return lines.joined(separator: "\n")
  }

  /// The commands of a group.
  package static func group(_ group: CommandGroup, in tree: CommandTree, width: Int = 80) -> String {
    let layout = TextLayout(width: width)
    let members = tree.commands.filter { $0.path.starts(with: group.path) }
    var lines = ["Usage: \(tree.tool) \(group.name) COMMAND ...", ""] + layout.wrap(group.abstract)
    lines += layout.section("Commands", members.map { ($0.name, $0.abstract) })
    lines += layout.section("Options of every command", tree.common.map(\.helpRow))
    return lines.joined(separator: "\n")
  }

  /// The line that begins a command's page and goes with an error: `Usage: kollus show [options] MCK`.
  package static func usage(of spec: CommandSpec, tool: String? = nil, hasOptions: Bool = false) -> String {
    var words = ["Usage:"] + (tool.map { [$0] } ?? []) + [spec.name]
    if hasOptions || spec.inputs.contains(where: \.isOption) { words.append("[options]") }
    return (words + spec.inputs.filter { !$0.isOption }.map(\.usage)).joined(separator: " ")
  }
}

extension CommandTree {
  /// The page of a command or group by its path; the overview for none, or for one nobody declared.
  package func help(for path: String? = nil, width: Int = 80) -> String {
    if let spec = path.flatMap(command) {
      return HelpPage.command(spec, tool: tool, common: common, width: width)
    }
    if let group = path.flatMap(group) { return HelpPage.group(group, in: self, width: width) }
    return HelpPage.overview(of: self, width: width)
  }

  /// The line to show below a usage error for the words that caused it.
  package func usage(for words: [String]) -> String {
    let path = path(in: words)
    if let spec = path.flatMap(command) { return HelpPage.usage(of: spec, tool: tool, hasOptions: true) }
    return "Usage: \(([tool] + (path.map { [$0] } ?? [])).joined(separator: " ")) [options] COMMAND ..."
  }

  /// The commands as a Markdown table for the README.
  package var markdownTable: String {
    let rows = commands.map { spec in
      let words = [tool, spec.name] + spec.inputs.filter { !$0.isOption }.map(\.usage)
      return "| `\(words.joined(separator: " "))` | \(spec.abstract) |"
    }
    return (["| Command | What it does |", "|---|---|"] + rows).joined(separator: "\n")
  }
}

extension Declaration {
  /// As in a usage line: `MCK`, `[DIR]`, `MCK...`.
  var usage: String {
    let words = isRepeatable ? "\(placeholder)..." : placeholder
    return isRequired ? words : "[\(words)]"
  }

  var helpRow: (term: String, text: String) {
    var notes: [String] = []
    if !choices.isEmpty { notes.append("one of: \(choices.joined(separator: ", "))") }
    if kind == .option, isRepeatable { notes.append("repeatable") }
    if let defaultText, !defaultText.isEmpty { notes.append("default: \(defaultText)") }
    let text = notes.isEmpty ? help : "\(help) (\(notes.joined(separator: "; ")))"
    guard isOption else { return (placeholder, text) }
    let long = kind == .flag ? label : "\(label) \(placeholder)"
    return ((short.map { "-\($0), " } ?? "    ") + long, text)
  }
}
