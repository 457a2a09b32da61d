import ArgumentKit
import Testing

@Suite struct HelpPageTests {
  typealias Tool = SampleTool

  static let common = """
    Options of every command:
          --home DIR  Folder of the library.
      -q, --quiet     Print only what needs an answer.
      -h, --help      Show help and exit.
          --version   Show the version and exit.
    """

  static let overview = """
    Keep contents for playing without a network.

    Usage: kollus [options] COMMAND ...

    Commands:
      download    Download contents so that they play without a network.
      list        List what is stored.
      lms show    Show one report.
      lms export  Write the reports to a file.

    \(common)

    'kollus help COMMAND' tells more about one of them.
    """

  static let download = """
    Usage: kollus download [options] MCK...

    Download contents so that they play without a network.

    What is there already is kept, and what is half done goes on where it stopped,
    unless --force says otherwise.

    Exit status:
      75  try again later

    Arguments:
      MCK  Media content keys.

    Options:
      -j, --jobs N        Downloads at a time. (default: 2)
          --start SECOND  Where to begin, counted from the end if negative.
      -t, --tag TAG       Mark it. (repeatable)
      -f, --force         Start over.

    \(common)

    Examples:
      kollus download -j4 abc def
    """

  static let list = """
    Usage: kollus list [options]

    List what is stored.

    Options:
          --format FORMAT  How to print. (one of: table, json; default: table)
          --order ORDER    What to sort by. (one of: name, size)
          --until DAY      Last day.

    \(common)
    """

  static let lms = """
    Usage: kollus lms COMMAND ...

    Look after the reports that wait to be sent.

    Commands:
      lms show    Show one report.
      lms export  Write the reports to a file.

    \(common)
    """

  static let lmsExport = """
    Usage: kollus lms export [options] FILE [COUNT]

    Write the reports to a file.

    Arguments:
      FILE   Where to write.
      COUNT  How many at most.

    \(common)
    """

  @Test(arguments: [
    (nil, overview), ("no such", overview), ("download", download), ("list", list), ("lms", lms),
    ("lms export", lmsExport),
  ])
  func `a page is drawn from the declarations`(_ path: String?, _ page: String) {
    #expect(Tool.tree.help(for: path) == page)
  }

  @Test func `a narrow page wraps and moves long terms to lines of their own`() {
    let page = HelpPage.command(Tool.download, tool: "kollus", width: 44)
    #expect(
      page == """
        Usage: kollus download [options] MCK...

        Download contents so that they play without
        a network.

        What is there already is kept, and what is
        half done goes on where it stopped, unless
        --force says otherwise.

        Exit status:
          75  try again later

        Arguments:
          MCK  Media content keys.

        Options:
          -j, --jobs N    Downloads at a time.
                          (default: 2)
              --start SECOND
                          Where to begin, counted
                          from the end if negative.
          -t, --tag TAG   Mark it. (repeatable)
          -f, --force     Start over.

        Examples:
          kollus download -j4 abc def
        """)
  }

  @Test(arguments: [-1, 0, 1, 40, 41, 60, 79, 80, 120, 500])
  func `no line is wider than the page or ends in a space`(_ width: Int) {
    for path in [nil, "download", "list", "lms", "lms show"] {
      for line in Tool.tree.help(for: path, width: width).split(separator: "\n") {
        #expect(line.count <= max(width, 40))
        #expect(!line.hasSuffix(" "))
      }
    }
  }

  @Test func `a tool that is one command needs no tree`() {
    let folder = Input<String>.positional("DIR", help: "Folder to serve.")
    let spec = CommandSpec("origin", "Serve a folder.", inputs: [folder.declaration])
    #expect(
      HelpPage.command(spec) == """
        Usage: origin DIR

        Serve a folder.

        Arguments:
          DIR  Folder to serve.
        """)
  }

  @Test func `the table for the README lists every command`() {
    #expect(
      Tool.tree.markdownTable == """
        | Command | What it does |
        |---|---|
        | `kollus download MCK...` | Download contents so that they play without a network. |
        | `kollus list` | List what is stored. |
        | `kollus lms show [COUNT]` | Show one report. |
        | `kollus lms export FILE [COUNT]` | Write the reports to a file. |
        """)
  }
}
