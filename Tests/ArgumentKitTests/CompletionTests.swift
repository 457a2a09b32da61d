import ArgumentKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
  static let tree = SampleTool.tree

  @Test(arguments: [
    (["kollus", ""], "download list lms help"),
    (["kollus", "l"], "list lms"),
    (["kollus", "--home", "X", "-q", "lms", ""], "show export"),
    (["kollus", "help", "d"], "download"),
    (["kollus", "lms", "help", "s"], "show"),
    (["kollus", "list", "--format", ""], "table json"),
    (["kollus", "list", "--format", "=", "j"], "json"),
    (["kollus", "list", "--format", "="], "table json"),
    (["kollus", "list", "--o"], "--order"),
    (["kollus", "list", "--format", "json", "--order", "n"], "name"),
    (["kollus", "--ho"], "--home"),
    (["kollus", "download", "--st"], "--start"),
    (["kollus", "download", "--jobs", ""], ""),
    (["kollus", "download", ""], ""),
    (["kollus", "lms", "export", "fi"], "file one"),
    (["kollus", "list", "--home", ""], "folder"),
    (["kollus", "list", "--home", "=", "fo"], "folder"),
    (["kollus", "zz", ""], "download list lms help"),
  ])
  func `bash completes the last word`(_ words: [String], _ expected: String) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "completion-\(UUID())")
    try FileManager.default.createDirectory(
      at: folder.appending(path: "folder"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover harms nobody.
    try Data().write(to: folder.appending(path: "file one"))
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    let script =
      Self.tree.completion(for: .bash)
      + "cd '\(folder.path())'; COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1)\n"
      + "_kollus; printf '%s' \"${COMPREPLY[*]}\"\n"
    let result = try run(["bash", "-c", script])
    #expect(result.output == expected)
    #expect(result.status == 0)
  }

  @Test(arguments: Shell.allCases)
  func `every shell accepts its script`(_ shell: Shell) throws {
    guard shell == .bash || isInstalled(shell.rawValue) else { return }
    let odd = CommandTree(
      tool: "two-words", "It's odd.",
      commands: [CommandSpec("one", "Don't `run` $this: \"a\\b\".", inputs: [])])
    for tree in [Self.tree, odd] {
      let result = try run([shell.rawValue, "-n"], input: tree.completion(for: shell))
      #expect(result.output == "")
      #expect(result.status == 0)
    }
  }

  @Test(arguments: [
    ("kollus l", "list lms"), ("kollus --home X lms ", "export show"), ("kollus list --format j", "json"),
    ("kollus list --order=", "--order=name --order=size"), ("kollus download --st", "--start"),
  ])
  func `fish completes the last word`(_ line: String, _ expected: String) throws {
    guard isInstalled("fish") else { return }
    let script = Self.tree.completion(for: .fish) + "complete -C \"\(line)\"\n"
    let result = try run(["fish", "--no-config", "-c", script])
    let words = result.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
    #expect(words.joined(separator: " ") == expected)
  }

  @Test(arguments: [
    ("kollus|l", "describe command download list lms help"),
    ("kollus|--home|X|lms|", "describe command show export"),
    ("kollus|list|--format|j", "add -- table json"),
    ("kollus|list|--order=", "add -- name size"),
    ("kollus|--home|", "files -/"),
    ("kollus|lms|export|", "files"),
    ("kollus|list|--u", "describe option --home --quiet -q --help -h --version --format --order --until"),
    ("kollus|download|-j|", ""),
  ])
  func `zsh asks for the right words`(_ line: String, _ expected: String) throws {
    guard isInstalled("zsh") else { return }
    let words = line.split(separator: "|", omittingEmptySubsequences: false).map { "'\($0)'" }
    // What zsh itself provides inside a completion is replaced by functions that say how they were called.
    let script = """
      compdef() { }; compset() { }; compadd() { print -n add $* }; _files() { print -n files $* }
      _describe() { print -n describe ${${@[-2]}/-o/} ${${(P)@[-1]}%%:*} }
      \(Self.tree.completion(for: .zsh))
      words=(\(words.joined(separator: " "))); CURRENT=\(words.count); PREFIX=$words[CURRENT]; _kollus
      """
    let result = try run(["zsh", "-f", "-c", script])
    #expect(result.output == expected)
  }

  private func isInstalled(_ tool: String) -> Bool {
    // A system without `sh` has no other shell either.
    (try? run(["sh", "-c", "command -v \(tool)"]).status == 0) ?? false
  }

  private func run(_ words: [String], input: String = "") throws -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    let (stdin, output) = (Pipe(), Pipe())
    process.standardInput = stdin
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (String(decoding: text, as: UTF8.self), process.terminationStatus)
  }
}
