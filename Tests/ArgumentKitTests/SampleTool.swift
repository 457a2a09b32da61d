import ArgumentKit

/// A small tool that has one of everything.
enum SampleTool {
  enum Format: String, CaseIterable, Sendable { case table, json }

  static let home = Input<String?>.option("home", nil, "DIR", help: "Folder of the library.")
  static let quiet = Input<Bool>.flag("quiet", "q", help: "Print only what needs an answer.")

  static let jobs = Input<Int>.option("jobs", "j", "N", default: 2, help: "Downloads at a time.")
  static let start = Input<Int?>.option(
    "start", nil, "SECOND", help: "Where to begin, counted from the end if negative.")
  static let tags = Input<[String]>.options("tag", "t", "TAG", help: "Mark it.")
  static let force = Input<Bool>.flag("force", "f", help: "Start over.")
  static let keys = Input<[String]>.positionals("MCK", minimum: 1, help: "Media content keys.")
  static let format = Input<Format>.choice("format", nil, "FORMAT", default: .table, help: "How to print.")
  static let order = Input<String?>.choice(
    "order", nil, "ORDER", of: ["name", "size"], help: "What to sort by.")
  static let until = Input<Day?>.option("until", nil, "DAY", help: "Last day.")
  static let file = Input<String>.positional("FILE", help: "Where to write.")
  static let limit = Input<Int?>.positional("COUNT", help: "How many at most.")

  static let download = CommandSpec(
    "download", "Download contents so that they play without a network.",
    discussion: """
      What is there already is kept, and what is half done goes on where it stopped, unless --force says
      otherwise.

      Exit status:
        75  try again later
      """,
    inputs: [
      keys.declaration, jobs.declaration, start.declaration, tags.declaration, force.declaration,
    ],
    examples: ["kollus download -j4 abc def"])
  static let list = CommandSpec(
    "list", "List what is stored.", inputs: [format.declaration, order.declaration, until.declaration])
  static let lmsShow = CommandSpec("lms show", "Show one report.", inputs: [limit.declaration])
  static let lmsExport = CommandSpec(
    "lms export", "Write the reports to a file.", inputs: [file.declaration, limit.declaration])

  static let tree = CommandTree(
    tool: "kollus", "Keep contents for playing without a network.",
    commands: [download, list, lmsShow, lmsExport],
    groups: [CommandGroup("lms", "Look after the reports that wait to be sent.")],
    common: [home.declaration, quiet.declaration])
}

/// A value with an error of its own.
struct Day: ArgumentValue, Equatable {
  let number: Int
  var description: String { "\(number)" }

  init(argument: String) throws(UsageError) {
    guard let number = Int(argument), (1...31).contains(number) else {
      throw UsageError("'\(argument)' is not a day of the month", hint: "write 1 to 31")
    }
    self.number = number
  }
}
