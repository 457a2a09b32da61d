import ArgumentKit

/// `kollus completions`: the completion script of a shell.
struct CompletionsCommand: Command {
  static let shell = Input<Shell>.positionalChoice("SHELL", help: "The shell to complete in.")
  static let spec = CommandSpec(
    "completions", "Print a completion script for a shell.", inputs: [shell.declaration],
    examples: ["kollus completions bash > ~/.local/share/bash-completion/completions/kollus"])

  var shell: Shell

  init(_ given: ParsedArguments) throws(UsageError) { shell = try given(Self.shell) }

  func run(_ session: Session) async throws -> Int32 {
    session.write(Kollus.tree.completion(for: shell))
    return ExitStatus.done
  }
}
