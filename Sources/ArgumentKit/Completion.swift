/// The shells a completion script can be written for.
package enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

extension CommandTree {
  /// A script that completes commands, options, choices and file names; to be sourced by the shell.
  package func completion(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletion
    case .zsh: zshCompletion
    case .fish: fishCompletion
    }
  }

  /// Every path the cursor can stand behind, the tool's own (an empty one) first.
  var places: [CompletionPlace] {
    let names = names(under: [])
    let head = CompletionPlace(path: "", names: names.contains("help") ? names : names + ["help"])
    let groups = groups.map { CompletionPlace(path: $0.name, names: self.names(under: $0.path)) }
    let commands = commands.map { spec in
      CompletionPlace(
        path: spec.name, options: spec.inputs.filter(\.isOption),
        positionals: spec.inputs.filter { !$0.isOption })
    }
    return [head] + groups + commands
  }

  /// Each option that takes a value, and how `path/option` is written where it may stand.
  ///
  /// A `*` for the path stands outside the quotes, so that it matches any.
  func valued(_ quoted: (String) -> String) -> [(patterns: [String], option: Declaration)] {
    let shared = common.filter { $0.kind == .option }.map { option in
      (option.spellings.map { "*" + quoted("/\($0)") }, option)
    }
    let own = places.flatMap { place in
      place.options.filter { $0.kind == .option }.map { option in
        (option.spellings.map { quoted("\(place.path)/\($0)") }, option)
      }
    }
    return shared + own
  }

  /// What a command or group is, for shells that show it beside the name.
  func abstract(of path: String) -> String {
    command(path)?.abstract ?? group(path)?.abstract ?? "Show help for a command."
  }

  /// The tool's name as part of a shell function's name.
  var functionName: String { "_" + tool.map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined() }
}

/// What may be written at one place of a command line, besides the common options.
struct CompletionPlace {
  let path: String
  var options: [Declaration] = []
  /// Names of commands that may follow.
  var names: [String] = []
  var positionals: [Declaration] = []

  var choices: [String] { positionals.flatMap(\.choices) }

  var disk: DiskCompletion? { positionals.compactMap(\.disk).first }

  /// The names that lead on, with their paths; `help` leads nowhere, so that a name may follow it.
  var steps: [(word: String, path: String)] {
    names.filter { $0 != "help" }.map { ($0, full($0)) }
  }

  func full(_ name: String) -> String { path.isEmpty ? name : "\(path) \(name)" }
}

enum DiskCompletion { case file, directory }

extension Declaration {
  var spellings: [String] { [label] + (short.map { ["-\($0)"] } ?? []) }

  var disk: DiskCompletion? {
    switch placeholder.split(whereSeparator: { $0 == "-" || $0 == "_" }).last {
    case "FILE", "PATH": .file
    case "DIR": .directory
    default: nil
    }
  }
}

extension String {
  /// As one word of sh, bash or zsh.
  var shellQuoted: String {
    "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
