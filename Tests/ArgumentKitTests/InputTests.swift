import ArgumentKit
import Testing

@Suite struct InputTests {
  typealias Tool = SampleTool

  @Test(arguments: ["x", "", "1.5", "99999999999999999999", " 1"])
  func `a word of the wrong type is named with its option`(_ word: String) throws {
    let given = try Tool.download.parse(["abc", "--jobs", word])
    #expect(throws: UsageError("'\(word)' is not a valid N for --jobs")) { try given(Tool.jobs) }
  }

  @Test func `a choice takes the words allowed and no other`() throws {
    #expect(try Tool.list.parse([])(Tool.format) == .table)
    #expect(try Tool.list.parse(["--format", "json"])(Tool.format) == .json)
    #expect(try Tool.list.parse([])(Tool.order) == nil)
    #expect(try Tool.list.parse(["--order=size"])(Tool.order) == "size")
    let wrong = UsageError(
      "'jsno' is not a valid FORMAT for --format (allowed: table, json)")
    #expect(throws: wrong) { try Tool.list.parse(["--format=jsno"])(Tool.format) }
    #expect(throws: UsageError("'date' is not a valid ORDER for --order (allowed: name, size)")) {
      try Tool.list.parse(["--order", "date"])(Tool.order)
    }
  }

  @Test func `choices come with every shape of input`() throws {
    let text = Input<String>.choice("by", nil, "BY", of: ["a", "b"], default: "b", help: "By.")
    let maybe = Input<Tool.Format?>.choice("as", nil, "AS", help: "As.")
    let shell = Input<Shell>.positionalChoice("SHELL", help: "Shell.")
    let spec = CommandSpec("x", "X.", inputs: [text.declaration, maybe.declaration, shell.declaration])
    let given = try spec.parse(["zsh", "--as", "json"])
    #expect(try given(text) == "b")
    #expect(try given(maybe) == .json)
    #expect(try given(shell) == .zsh)
    #expect(throws: UsageError("'tcsh' is not a valid SHELL (allowed: bash, zsh, fish)")) {
      try spec.parse(["tcsh"])(shell)
    }
    #expect(throws: UsageError("missing SHELL")) { try spec.parse([]) }
    #expect(spec.problems().isEmpty)
  }

  @Test func `a value type may word its own error`() throws {
    #expect(try Tool.list.parse(["--until", "7"])(Tool.until)?.number == 7)
    #expect(throws: UsageError("--until: '32' is not a day of the month", hint: "write 1 to 31")) {
      try Tool.list.parse(["--until", "32"])(Tool.until)
    }
  }

  @Test func `a default is told from the same value given`() throws {
    #expect(try Tool.download.parse(["abc"]).isGiven(Tool.jobs) == false)
    #expect(try Tool.download.parse(["abc", "-j2"]).isGiven(Tool.jobs))
  }
}
