import JSONKit
import SealKit
import Synchronization
import SystemKit

/// The policy in force: the example, or a file that is read again when it has changed.
final class PolicySource: Sendable {
  /// The key that answers are signed with, and the name it goes by.
  struct Signer: Sendable {
    let customKey: String
    let key: SymmetricKey
  }

  /// What the items of one request get.
  struct Choice: Sendable {
    let signer: Signer
    /// One for each item.
    let entries: [PolicyEntry]
  }

  /// Who shares a list of entries: requests of a kind, or reports, about one content.
  private struct Turn: Hashable {
    /// Nil for all contents.
    let key: [UInt8]?
    /// Nil for reports.
    let kind: Int64?
  }

  private struct State {
    var policy: Policy
    /// Nil without any keys.
    var signer: Signer?
    /// What the file was like when it was last looked at, fit to use or not.
    var seen: File.Information?
    /// How many requests each content has made, where that matters.
    var turns: [Turn: Int] = [:]
  }

  /// Beyond so many contents with turns all begin anew.
  private static let turnLimit = 1_000_000
  private static let sizeLimit = 8 << 20

  private let path: String?
  private let keys: KeyRing
  private let complain: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// Reads the policy, or takes the example; `complain` gets what is wrong with a later change.
  init(path: String?, keys: KeyRing, complain: @escaping @Sendable (String) -> Void) throws {
    (self.path, self.keys, self.complain) = (path, keys, complain)
    // Looked at before it is read, so that a change in between is seen with the next request; what hinders
    // looking hinders reading, which tells it.
    let seen = path.flatMap { try? Files.information($0) }
    let policy = try path.map(Self.read) ?? Policy()
    state = Mutex(State(policy: policy, signer: try Self.signer(policy, keys), seen: seen))
  }

  /// The entry for each item, taking their turns on; nil when there are no keys to sign with.
  func choose(for items: [DRMItem]) -> Choice? {
    withCurrent { state in
      guard let signer = state.signer else { return nil }
      let entries = items.compactMap { item in
        let key = Array(item.mediaContentKey.utf8)
        let entries = state.policy.entries(for: key, kind: item.kind)
        return Self.next(of: entries, Turn(key: key, kind: item.kind), in: &state)
      }
      return Choice(signer: signer, entries: entries)
    }
  }

  /// The entry for a report, taking its turn on.
  func entry(for report: LMSReport) -> LMSEntry {
    withCurrent { state in
      let key = Array(report.mediaContentKey.utf8)
      let (entries, areOwn) = state.policy.lmsEntries(for: key)
      return Self.next(of: entries, Turn(key: areOwn ? key : nil, kind: nil), in: &state) ?? LMSEntry()
    }
  }

  /// Hands over the state with the file as it is now, and tells what is wrong with it outside the lock.
  private func withCurrent<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, complaint) = state.withLock { state in
      let complaint = refresh(&state)
      return (body(&state), complaint)
    }
    if let complaint { complain(complaint) }
    return result
  }

  private static func next<Entry>(of entries: [Entry], _ turn: Turn, in state: inout State) -> Entry? {
    guard entries.count > 1 else { return entries.first }
    if state.turns.count >= turnLimit { state.turns = [:] }
    let index = state.turns[turn, default: 0]
    state.turns[turn] = min(index + 1, entries.count - 1)
    return entries[index]
  }

  /// Reads the file again if it is another than before; says what is wrong with it, once for each change.
  private func refresh(_ state: inout State) -> String? {
    guard let path else { return nil }
    // One that cannot be looked at is as good as gone: reading it tells why.
    let found = try? Files.information(path)
    guard found != state.seen else { return nil }
    state.seen = found
    do {
      let policy = try Self.read(path)
      state.signer = try Self.signer(policy, keys)
      (state.policy, state.turns) = (policy, [:])
      return nil
    } catch {
      return "\(error); the policy before it stays in force"
    }
  }

  private static func read(_ path: String) throws(OriginError) -> Policy {
    do {
      return try Policy(parsing: Files.readRegular(path, limit: sizeLimit))
    } catch {
      throw OriginError(.configuration, "policy file \(path): \(error)")
    }
  }

  private static func signer(_ policy: Policy, _ keys: KeyRing) throws(OriginError) -> Signer? {
    guard !keys.names.isEmpty else { return nil }
    guard let name = policy.customKey ?? (keys.names.count == 1 ? keys.names.first : nil) else {
      throw OriginError(
        .configuration, "--keys holds several custom keys, and no policy says which one signs DRM answers",
        hint: #"name it in a --policy file: {"customKey": "\#(keys.names.sorted()[0])"}"#)
    }
    guard let key = keys[name] else {
      throw OriginError(
        .configuration, "the policy's customKey '\(name)' is not in --keys",
        hint: "--keys holds \(keys.names.sorted().joined(separator: ", "))")
    }
    return Signer(customKey: name, key: key)
  }
}
