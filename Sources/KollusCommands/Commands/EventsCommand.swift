import ArgumentKit
import JSONKit
import KollusCore
import SystemKit

/// `kollus events`: what happened in the home, told by whatever process.
struct EventsCommand: Command {
  static let since = Input<Since?>.option(
    "since", nil, "N|TIME",
    help:
      "Only events after number N, or from TIME on: a date, or a span such as 2h, which means that long ago.")
  static let follow = Input<Bool>.flag("follow", "f", help: "Go on with what happens, until interrupted.")
  static let spec = CommandSpec(
    "events", "Show what happened in this home, and what happens.",
    discussion: """
      Every command that changes or finds something leaves its events here, but for progress and answers of the licence's server. The last \
      8 to 16 MiB are kept. 'seq' is the number of an event; it only grows, so --since with the last number seen goes on from there. With \
      --follow and without --since only what is still to come is shown. With --events jsonl, or with --json and --follow, each is a JSON line.
      """,
    inputs: [since.declaration, follow.declaration],
    examples: ["kollus events --since 2h", "kollus events --follow --events jsonl --since 48213"])

  /// How often a follower looks, which is all the work it does while nothing happens.
  private static let interval = Duration.milliseconds(200)

  var since: Since?
  var follows: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    since = try given(Self.since)
    follows = try given(Self.follow)
  }

  func run(_ session: Session) async throws -> Int32 {
    let home = try session.homePath
    var time: String?
    var number: Int64 = 0
    switch since {
    case .number(let last): number = last
    case .moment(let moment): time = WallClock.text(moment.seconds(before: session.context.now()))
    case nil: break
    }
    do throws(SystemError) {
      var reader =
        follows && since == nil
        ? try EventLogReader.fromNow(home: home) : EventLogReader(home: home, after: number)
      let printer = EventPrinter(session, from: time, isEndless: follows)
      try reader.read(printer.show)
      printer.end()
      while follows, session.isHeard {
        // Whoever follows ends it by a signal.
        guard (try? await Task.sleep(for: Self.interval)) != nil else { return ExitStatus.of(.interrupted) }
        try reader.read(printer.show)
      }
    } catch {
      throw KollusError(error, code: KollusCode.readFile)
    }
    return ExitStatus.done
  }

  /// Where to begin: behind the event of a number, or at a moment.
  enum Since: Sendable, ArgumentValue {
    case number(Int64)
    case moment(Moment)

    init(argument: String) throws(UsageError) {
      if let number = Int64(argument), number >= 0 {
        self = .number(number)
        return
      }
      do throws(UsageError) {
        self = .moment(try Moment(argument: argument))
      } catch {
        throw UsageError(
          "'\(argument)' is neither the number of an event nor a time",
          hint: "write the last 'seq' seen, a date such as 2026-12-24T18:00, or a span such as 2h")
      }
    }

    var description: String {
      switch self {
      case .number(let number): "\(number)"
      case .moment(let moment): moment.description
      }
    }
  }
}

/// Prints what is kept in the form that was asked for.
private struct EventPrinter {
  private let session: Session
  /// As `at` is written, so that texts can be compared.
  private let first: String?
  private let array: JSONArrayPrinter?
  private let printsLines: Bool

  init(_ session: Session, from first: String?, isEndless: Bool) {
    (self.session, self.first) = (session, first)
    // An array without an end could not be read.
    let printsArray = session.common.json && !isEndless
    array = printsArray ? JSONArrayPrinter(session) : nil
    printsLines = session.common.events != nil || session.common.json
  }

  func show(_ entry: EventLogReader.Entry) {
    let text = EventText(entry.json)
    if let first, text.time < first { return }
    if let array {
      array.append { $0.raw(entry.line) }
    } else if printsLines {
      session.write(entry.line + "\n")
    } else if !session.common.quiet || text.needsAttention {
      session.write("\(text.time)  \(text.line)\n")
    }
  }

  func end() { array?.end() }
}
