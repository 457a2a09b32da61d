import ArgumentKit
import JSONKit
import KollusCore

/// `kollus cancel`: gives up downloads, also those of other processes.
struct CancelCommand: Command {
  static let keys = Input<[String]>.positionals("KEY", minimum: 1, help: "Media content keys.")
  static let spec = CommandSpec(
    "cancel", "Give up downloads, in whatever process they run, and drop what they hold.",
    discussion: """
      The process that downloads ends with the content (130, when it was the only one) and goes on with others. A content that is \
      downloaded is not touched: that is for 'remove'. A later 'download' begins anew.
      """,
    inputs: [keys.declaration], examples: ["kollus cancel AbCd1234"])

  var keys: [String]

  init(_ given: ParsedArguments) throws(UsageError) { keys = try given(Self.keys) }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let display = session.display(logging: library.home)
    defer { display.close() }
    var batch = KeyBatch(session, done: "cancelled")
    for key in keys {
      let isOver = await batch.run(key) {
        try await library.cancel(try await session.content(key, in: library), display.sink)
      }
      if isOver { break }
    }
    return batch.end()
  }
}
