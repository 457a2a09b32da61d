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
    let heads = [CompletionPlace(path: "", options: common, names: names(under: []) + ["help"])]
    let groups = groups.map {
      CompletionPlace(path: $0.name, options: common, names: names(under: $0.path))
    }
    let commands = commands.map { spec in
      CompletionPlace(
        path: spec.name, options: spec.inputs.filter(\.isOption) + common, names: [],
        positionals: spec.inputs.filter { !$0.isOption })
    }
    return heads + groups + commands
  }

  /// What a command or group is, for shells that show it beside the name.
  func abstract(of path: String) -> String {
    command(path)?.abstract ?? group(path)?.abstract ?? "Show help for a command."
  }

  /// The tool's name as part of a shell function's name.
  var functionName: String { "_" + tool.map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined() }
}

/// What may be written at one place of a command line.
struct CompletionPlace {
  let path: String
  let options: [Declaration]
  /// Names of commands that may follow.
  let names: [String]
  var positionals: [Declaration] = []

  var choices: [String] { positionals.flatMap(\.choices) }

  var disk: DiskCompletion? { positionals.compactMap(\.disk).first }

  /// `path/--name` and `path/-n` of each option that takes a value, with that option.
  var valued: [(keys: [String], option: Declaration)] {
    options.filter { $0.kind == .option }.map { option in
      (option.spellings.map { "\(path)/\($0)" }, option)
    }
  }

  /// The paths one word further on.
  var steps: [(word: String, path: String)] {
    names.filter { path != "" || $0 != "help" }.map { ($0, path.isEmpty ? $0 : "\(path) \($0)") }
  }
}

enum DiskCompletion { case file, directory }

extension Declaration {
  var spellings: [String] { [label] + (short.map { ["-\($0)"] } ?? []) }

  var disk: DiskCompletion? {
    if placeholder.hasSuffix("FILE") || placeholder.hasSuffix("PATH") { return .file }
    return placeholder.hasSuffix("DIR") ? .directory : nil
  }
}

extension String {
  /// As one word of sh, bash or zsh.
  var shellQuoted: String {
    "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
