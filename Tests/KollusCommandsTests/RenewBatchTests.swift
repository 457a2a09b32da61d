import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// Renewals of many contents: what fails alone, what is asked again, who asks when several run.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct RenewBatchTests {
  typealias Entry = DRMCallback.Entry

  /// An answer that fails one content, and the code it fails with.
  struct Fault: Sendable {
    let code: Int
    let entry: Entry
    let message: String

    static let all = [
      Fault(
        code: -8657, entry: Entry(["result": "0", "message": "\"Course has \\u001b[31mended.\""]),
        message: "Course has \u{1b}[31mended."),
      Fault(code: -8682, entry: .missing, message: "has no entry for this content"),
      Fault(
        code: -8636, entry: Entry(["result": "1", "expiration_count": "\"5\""]), message: "expiration_count"),
      Fault(code: -8658, entry: Entry(["result": "1", "content_expired": "1"]), message: "expired"),
      Fault(
        code: -8681,
        entry: Entry(["result": "1", "content_expire_reset": "1", "session_key": "\"another\""]),
        message: "another session key"),
    ]
  }

  /// Two of 50 contents for each fault.
  private static func faults(_ keys: [String]) -> [String: Fault] {
    let pairs = Fault.all.enumerated().flatMap { number, fault in
      [(keys[number * 4 + 3], fault), (keys[number * 6 + 20], fault)]
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  @Test(arguments: ["--all", "--only-failed"])
  func `fifty licences of which some fail in five ways`(_ again: String) async throws {
    let stage = try await RenewStage.downloaded(50)
    let faults = Self.faults(stage.keys)
    #expect(faults.count == 10)
    stage.callback.answer { faults[$0.mck]?.entry ?? .granted(plays: 7) }
    let first = try await stage.renew("--all").expect(1)
    try expect(first, faults, of: stage.keys)
    let plays = try await stage.plays()
    for key in stage.keys { #expect(plays[key] == (faults[key] == nil ? 7 : 3), "\(key)") }
    let expired = try await stage.listed().filter { try $0.value.bool("DRMExpired") == true }.keys.sorted()
    #expect(expired == faults.filter { $0.value.code == -8658 }.keys.sorted())

    // Half of them fail again; then none does, and the next renewal is one of all.
    let still = faults.filter { Int($0.key.suffix(1))?.isMultiple(of: 2) ?? false }
    stage.callback.answer { still[$0.mck]?.entry ?? .granted(plays: 8) }
    var count = stage.asked.count
    let second = try await stage.renew(again)
    try expect(second.expect(1), still, of: faults.keys.sorted())
    #expect(stage.asked(since: count) == faults.keys.sorted())
    stage.callback.answer { _ in .granted(plays: 9) }
    count = stage.asked.count
    let third = try await stage.renew(again).expect(0)
    try expect(third, [:], of: still.keys.sorted())
    #expect(stage.asked(since: count) == still.keys.sorted())
    count = stage.asked.count
    try await stage.renew("--only-failed").expect(0)
    #expect(stage.asked.count == count)
    try await stage.renew("--all").expect(0)
    #expect(stage.asked(since: count) == stage.keys)
    try await stage.expectRenewed(plays: 9)
  }

  /// One result and one of each event for every key, with just these faults.
  private func expect(
    _ run: RenewRun, _ faults: [String: Fault], of keys: [String],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(run.keys == keys, sourceLocation: location)
    for item in run.items {
      let fault = faults[item.key]
      #expect(item.code == fault?.code ?? 0, "\(item)", sourceLocation: location)
      #expect(item.isRenewed == (fault == nil), "\(item)", sourceLocation: location)
      let isTold = fault.map { item.message.contains($0.message) } ?? item.message.isEmpty
      #expect(isTold, "\(item)", sourceLocation: location)
    }
    let updates = try run.named("drmUpdate")
    #expect(try updates.map { try $0.integer("cur") } == (0..<keys.count).map { Int64($0 + 1) })
    #expect(try updates.allSatisfy { try $0.integer("count") == Int64(keys.count) }, sourceLocation: location)
    #expect(try updates.map { try $0.string("mediaContentKey") } == run.items.map(\.key))
    let requests = try run.named("drmRequest")
    let asked = try requests.map { try $0.object("request")?.string("media_content_key") ?? "" }
    #expect(asked.sorted() == keys, sourceLocation: location)
    for (key, request) in zip(asked, requests) {
      let code = Int(try request.object("error")?.integer("code") ?? 0)
      #expect(code == faults[key]?.code ?? 0, "\(request.rawText)", sourceLocation: location)
      // What was no usable entry is not shown as one.
      let hasEntry = try request.object("json") != nil
      #expect(hasEntry == ![-8682, -8636].contains(code), "\(request.rawText)", sourceLocation: location)
    }
    let told = try run.failures.map { try $0.string("mediaContentKey") ?? "" }
    #expect(told.sorted() == faults.keys.sorted(), sourceLocation: location)
  }

  @Test func `people read of each failure, and nothing of it reaches a terminal raw`() async throws {
    let stage = try await RenewStage.downloaded(5)
    let entries = Dictionary(uniqueKeysWithValues: zip(stage.keys, Fault.all.map(\.entry)))
    stage.callback.answer { entries[$0.mck] ?? Entry() }
    let run = await stage.run("renew", "--all").expect(1)
    for (key, fault) in zip(stage.keys, Fault.all) {
      #expect(run.errors.contains("error: \(key): ") && run.errors.contains("(\(fault.code))"))
    }
    #expect(run.output.contains("0 of 5 renewed"))
    #expect(!(run.output + run.errors).contains("\u{1b}"))
    // What a person must act on is told with --quiet too, and nothing else.
    let quiet = await stage.run("renew", "--all", "--quiet").expect(1)
    #expect(
      quiet.output.isEmpty && quiet.errors.split(separator: "\n").count { $0.hasPrefix("error: ") } == 5)
  }

  @Test(arguments: [true, false])
  func `what was deleted is no failure that is left`(_ runsFailed: Bool) async throws {
    let stage = try await RenewStage.downloaded(4)
    let keys = stage.keys
    stage.callback.answer { item in
      switch item.mck {
      case keys[1]: Entry(["result": "1", "content_delete": "1"])
      case keys[2]: Entry(["result": "0"])
      default: .granted(plays: 5)
      }
    }
    try await stage.renew("--all").expect(1)
    stage.callback.answer { _ in .granted(plays: 6) }
    var count = stage.asked.count
    try await stage.renew(runsFailed ? "--only-failed" : "--all").expect(0)
    #expect(stage.asked(since: count) == [keys[2]])
    count = stage.asked.count
    try await stage.renew("--all").expect(0)
    #expect(stage.asked(since: count) == [keys[0], keys[2], keys[3]])
  }

  // MARK: Exit statuses

  @Test func `one cause for all is its status, several are 1`() async throws {
    let stage = try await RenewStage.downloaded(12, ["retries": "0"])
    stage.callback.answer { _ in Entry(["result": "0"]) }
    try await stage.renew("--all").expect(77)
    stage.callback.override { _, _ in Answer(503) }
    try await stage.renew("--all").expect(75)
    stage.callback.override { _, _ in Answer(404) }
    try await stage.renew("--all").expect(69)
    stage.callback.override(nil)
    let keys = stage.keys
    stage.callback.answer { $0.mck == keys[5] ? .missing : Entry(["result": "0"]) }
    try await stage.renew("--all").expect(1)
    stage.callback.answer { $0.mck == keys[5] ? Entry(["result": "0"]) : .granted() }
    try await stage.renew("--all").expect(1)
    // Only one is left, and it fails.
    try await stage.renew("--all").expect(77)
    stage.callback.answer { _ in .granted(plays: 5) }
    let last = try await stage.renew("--all").expect(0)
    #expect(last.keys == [keys[5]])
  }

  // MARK: Several renewers

  @Test(arguments: [false, true])
  func `ten renewals at once ask once for each licence`(_ hasFault: Bool) async throws {
    let stage = try await RenewStage.downloaded(30, ["timeout": "\"30s\""])
    let bad = hasFault ? stage.keys[17] : ""
    stage.callback.answer { $0.mck == bad ? Entry(["result": "0"]) : .granted(plays: 5) }
    // Nothing is answered before all of them wait for the first.
    let gate = Gate()
    stage.callback.override { _, answer in gate.passed(answer) }
    let processes = try (0..<10).map { _ in try stage.start("--all") }
    #expect(
      await eventually(within: .seconds(20)) {
        processes.count { $0.text(on: .standardError).contains("\"joined\"") } == 9
      })
    gate.open()
    for process in processes {
      let run = try RenewRun(await process.wait()).expect(hasFault ? 1 : 0)
      #expect(run.keys == stage.keys)
      for item in run.items {
        #expect(item.code == (item.key == bad ? -8657 : 0) && item.isRenewed == (item.key != bad), "\(item)")
      }
      let updates = try run.named("drmUpdate")
      #expect(try updates.map { try $0.integer("cur") } == (1...30).map { Int64($0) })
      #expect(try updates.allSatisfy { try $0.integer("count") == 30 })
    }
    #expect(stage.asked(since: 0) == stage.keys)
    let found = try await stage.plays()
    for key in stage.keys { #expect(found[key] == (key == bad ? 3 : 5)) }
  }

  @Test func `a renewal joined by others that is killed is taken over once`() async throws {
    let stage = try await RenewStage.downloaded(30, ["timeout": "\"30s\""])
    let gate = Gate()
    stage.callback.answer { _ in .granted(plays: 5) }
    stage.callback.override { _, answer in gate.passed(answer) }
    let first = try stage.start("--all")
    #expect(await eventually { stage.asked.count == 30 })
    let others = try (0..<3).map { _ in try stage.start("--all") }
    for other in others { #expect(await other.line(on: .standardError) { $0.contains("\"joined\"") } != nil) }
    first.kill(SIGKILL)
    gate.open()
    #expect(await first.wait().ending == .signal(Int(SIGKILL)))
    for other in others {
      let run = try RenewRun(await other.wait()).expect(0)
      #expect(run.keys == stage.keys)
    }
    // Once by the one that was killed, once by one of the others, with the same session keys.
    for key in stage.keys {
      #expect(stage.sessionKeys(of: key).count == 2 && Set(stage.sessionKeys(of: key)).count == 1)
    }
    try await stage.expectRenewed(plays: 5)
  }

  @Test func `what another renewer did not ask for is not taken for renewed`() async throws {
    let stage = try await RenewStage.downloaded(3)
    stage.callback.answer { _ in .granted(plays: 5) }
    // Another renewer that finds nothing to do holds the lock for a while: before any renewal, and after one.
    let home = try Home(opening: stage.tool.home, machineID: stage.stage.machineID)
    for round in 1...2 {
      var lock = try home.renewalLock()
      #expect(lock != nil)
      let process = try stage.start("--all")
      #expect(await process.line(on: .standardError) { $0.contains("\"joined\"") } != nil)
      withExtendedLifetime(lock) {}
      lock = nil
      let run = try RenewRun(await process.wait()).expect(0)
      #expect(run.keys == stage.keys)
      #expect(stage.asked.count == 3 * round, "told to be renewed and not asked for")
    }
    try await stage.expectRenewed(plays: 5)
  }

  @Test func `a named renewal waits for another one and shares what it did`() async throws {
    let stage = try await RenewStage.downloaded(12, ["timeout": "\"30s\""])
    let gate = Gate()
    stage.callback.answer { _ in .granted(plays: 5) }
    stage.callback.override { _, answer in gate.passed(answer) }
    let first = try stage.start(stage.keys[0], stage.keys[1])
    #expect(await eventually { stage.asked.count == 2 })
    let second = try stage.start(stage.keys[1], stage.keys[2])
    #expect(await second.line(on: .standardError) { $0.contains("\"joined\"") } != nil)
    gate.open()
    try RenewRun(await first.wait()).expect(0)
    #expect(try RenewRun(await second.wait()).expect(0).keys == Array(stage.keys[1...2]))
    #expect(stage.asked(since: 0) == Array(stage.keys[0...2]))
  }
}
