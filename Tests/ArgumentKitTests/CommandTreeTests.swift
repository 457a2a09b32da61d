import ArgumentKit
import Testing

@Suite struct CommandTreeTests {
  typealias Tool = SampleTool

  @Test(
    arguments: [
      (["list"], "list", nil, false),
      (["--home", "X", "list"], "list", "X", false),
      (["list", "--home=X"], "list", "X", false),
      (["-q", "lms", "--home", "X", "show", "-q"], "lms show", "X", true),
      (["lms", "export", "help"], "lms export", nil, false),
      (["download", "--", "--help"], "download", nil, false),
      (["download", "help"], "download", nil, false),
    ] as [([String], String, String?, Bool)])
  func `common options stand before the name and after it`(
    _ words: [String], path: String, home: String?, quiet: Bool
  ) throws {
    guard case .run(path, let given) = try Tool.tree.parse(words) else {
      Issue.record("not to be run: \(words)")
      return
    }
    #expect(try given(Tool.home) == home)
    #expect(try given(Tool.quiet) == quiet)
  }

  @Test(
    arguments: [
      ([], .help(path: nil)),
      (["help"], .help(path: nil)),
      (["--help"], .help(path: nil)),
      (["-h", "--version"], .help(path: nil)),
      (["--home", "X", "-h"], .help(path: nil)),
      (["--home", "--help"], .help(path: nil)),
      (["--what", "list", "--help"], .help(path: "list")),
      (["help", "list"], .help(path: "list")),
      (["help", "lms"], .help(path: "lms")),
      (["help", "lms", "show"], .help(path: "lms show")),
      (["lms", "help"], .help(path: "lms")),
      (["lms", "help", "show"], .help(path: "lms show")),
      (["lms", "--help"], .help(path: "lms")),
      (["list", "--bad", "--help"], .help(path: "list")),
      (["download", "-fh"], .help(path: "download")),
      (["--version"], .version),
      (["list", "--version"], .version),
    ] as [([String], Invocation)])
  func `help and version are results of their own`(_ words: [String], _ invocation: Invocation) throws {
    #expect(try Tool.tree.parse(words) == invocation)
  }

  @Test(
    arguments: [
      (["lsit"], "unknown command 'lsit'", "did you mean 'list'?"),
      (["down"], "unknown command 'down'", "did you mean 'download'?"),
      (["list lms"], "unknown command 'list lms'", nil),
      (["lms show"], "unknown command 'lms show'", nil),
      (["lms", "shwo"], "unknown command 'lms shwo'", "did you mean 'lms show'?"),
      (["lms", "zz"], "unknown command 'lms zz'", nil),
      (["help", "lisst"], "unknown command 'lisst'", "did you mean 'list'?"),
      (["zz", "--help"], "unknown command 'zz'", nil),
      (["lms"], "'lms' needs a command", "one of: show, export"),
      (["--quiet"], "missing command", nil),
      (["--home"], "'--home' needs a value", nil),
      (["--home", "X", "list", "--home", "Y"], "'--home' was given twice", nil),
      (["--hom", "X", "list"], "unknown option '--hom'", "did you mean '--home'?"),
      (["list", "--quite"], "unknown option '--quite'", "did you mean '--quiet'?"),
      ([""], "unknown command ''", nil),
      (["-"], "unknown command '-'", nil),
    ] as [([String], String, String?)])
  func `a name nobody declared is refused`(_ words: [String], message: String, hint: String?) {
    #expect(throws: UsageError(message, hint: hint)) { try Tool.tree.parse(words) }
  }

  @Test(arguments: [
    (["download", "--bad"], "Usage: kollus download [options] MCK..."),
    (["--bad", "lms", "export"], "Usage: kollus lms export [options] FILE [COUNT]"),
    (["lms", "zz"], "Usage: kollus lms [options] COMMAND ..."),
    (["zz"], "Usage: kollus [options] COMMAND ..."),
  ])
  func `a usage line goes with the error`(_ words: [String], _ usage: String) {
    #expect(Tool.tree.usage(for: words) == usage)
  }

  @Test func `the declarations are sound`() {
    #expect(Tool.tree.problems == [])
  }

  @Test func `every kind of wrong declaration is found`() {
    let a = Input<String?>.positional("A", help: "").declaration
    let b = Input<String>.positional("B", help: "B.").declaration
    let c = Input<[String]>.positionals("C", help: "C.").declaration
    let d = Input<Bool>.flag("d d", "h", help: "D.").declaration
    let e = Input<String>.choice("e", "-", "", of: ["x y"], default: "z", help: "E.").declaration
    let tree = CommandTree(
      tool: "t", "T.",
      commands: [
        CommandSpec("one", "", inputs: [a, b]), CommandSpec("two", "2.", inputs: [c, b, b]),
        CommandSpec("x one", "X.", inputs: [d, e]), CommandSpec("one", "1.", inputs: []),
      ], groups: [CommandGroup("y", "")], common: [b])
    #expect(
      tree.problems == [
        "one: declared twice", "one: no abstract", "one: input 'B' declared twice", "one: 'A' has no help",
        "one: 'B' is required but follows 'A', which is not", "two: input 'B' declared twice",
        "two: input 'B' declared twice", "two: 'C' takes all words, so nothing may follow it",
        "two: 'B' is required but follows 'C', which is not", "x one: '-h' declared twice",
        "x one: bad name 'd d'", "x one: 'e' has no placeholder", "x one: 'e' has a bad short form",
        "x one: 'e' has a bad choice", "x one: 'e' has a default that is not allowed", "y: no abstract",
        "x one: no group 'x'", "y: no commands", "common B: must be an option",
      ])
  }
}
