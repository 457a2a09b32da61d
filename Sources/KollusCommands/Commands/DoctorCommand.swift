import ArgumentKit
import JSONKit
import KollusCore
import Synchronization
import SystemKit
import TerminalKit

/// `kollus doctor`: looks the home over, and with `--fix` puts right what can be.
struct DoctorCommand: Command {
  static let fix = Input<Bool>.flag(
    "fix", help: "Put right what can be; what is replaced is kept in 'aside' folders.")
  static let spec = CommandSpec(
    "doctor", "Check the home, its library, files, clock, configuration and servers.",
    discussion: """
      Says what is wrong and what --fix would do about it. A damaged library is saved row by row as far as it reads, and \
      contents are found again from their sealed files; those under a DRM callback then need a renewal.
      """,
    inputs: [fix.declaration], examples: ["kollus doctor", "kollus doctor --fix", "kollus doctor --json"])

  var fixes: Bool

  init(_ given: ParsedArguments) throws(UsageError) { fixes = try given(Self.fix) }

  func run(_ session: Session) async throws -> Int32 {
    let settings = Result { () throws(KollusError) in try session.settings() }
    let display = session.display()
    defer { display.close() }
    let array = JSONArrayPrinter(session)
    let tally = Mutex(BatchTally())
    let doctor = Doctor(
      home: try session.homePath, machineID: session.context.machineID(), settings: settings,
      environment: session.context.environment, now: session.context.now, fixes: fixes, sink: display.sink
    ) { finding in
      if finding.isOpen {
        tally.withLock { tally in
          tally.count += 1
          tally.add(KollusError(finding.kind, finding.message))
        }
      }
      if session.common.json {
        array.append { Self.write(finding, to: &$0) }
      } else {
        Self.show(finding, session)
      }
    }
    do {
      try await doctor.run()
    } catch {
      if session.common.json { array.end() }
      throw error
    }
    if session.common.json { array.end() }
    let open = tally.withLock { $0 }
    session.say(
      open.count == 0
        ? "all is well" : open.count == 1 ? "1 problem is left" : "\(open.count) problems are left")
    return open.count > 0 ? open.status : ExitStatus.done
  }

  private static func show(_ finding: Finding, _ session: Session) {
    guard finding.isOpen || !session.common.quiet else { return }
    let item = finding.mediaContentKey.map { "\($0.terminalSafe): " } ?? ""
    var text =
      "\(word(finding).padded(toWidth: 9))\(finding.check.rawValue.padded(toWidth: 11))\(item)\(finding.message.withoutTokens.terminalSafe)\n"
    if let fix = finding.fix { text += "         \(finding.isFixed ? "done" : "--fix"): \(fix)\n" }
    if let hint = finding.hint, !finding.isFixed {
      text += "         hint: \(hint.withoutTokens.terminalSafe)\n"
    }
    session.show(text)
  }

  private static func word(_ finding: Finding) -> String {
    switch finding.level {
    case .fine: "ok"
    case .notice: "note"
    case .problem: finding.isFixed ? "fixed" : "PROBLEM"
    }
  }

  private static func write(_ finding: Finding, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("check", finding.check.rawValue)
    writer.member("level", finding.level.rawValue)
    writer.member("message", finding.message.withoutTokens)
    writer.member("mediaContentKey", finding.mediaContentKey)
    writer.member("fix", finding.fix)
    writer.member("fixed", finding.isFixed)
    writer.member("hint", finding.hint?.withoutTokens)
    writer.endObject()
  }
}
