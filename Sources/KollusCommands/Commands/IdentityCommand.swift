import ArgumentKit
import JSONKit
import KollusCore

/// `kollus identity`: the player id, and a new one for another machine.
struct IdentityCommand: Command {
  enum Action: String, CaseIterable, Sendable { case show, new }

  static let action = Input<String?>.positional(
    "ACTION", help: "show (the default), or new: a new player id for this machine.")
  static let spec = CommandSpec(
    "identity", "Show or renew the player id of this home.",
    discussion: """
      A home that was made on another machine is refused until 'kollus identity new': contents are kept, licences \
      are bound to the player id and need renewing.
      """,
    inputs: [action.declaration], examples: ["kollus identity", "kollus identity new"])

  var action: Action

  init(_ given: ParsedArguments) throws(UsageError) {
    let word = try given(Self.action) ?? "show"
    guard let action = Action(rawValue: word) else {
      throw UsageError("'\(word)' is not an action", hint: "actions are show and new")
    }
    self.action = action
  }

  func run(_ session: Session) async throws -> Int32 {
    let home =
      switch action {
      case .show: try session.openHome()
      case .new: try Home.renewIdentity(at: session.homePath, machineID: session.context.machineID())
      }
    if session.common.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("playerID", home.identity.playerID)
      writer.member("home", home.path)
      writer.endObject()
      session.write(json: writer.text)
    } else {
      session.show("\(home.identity.playerID)\n")
    }
    return ExitStatus.done
  }
}
