import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Renewals that end in the middle: killed, interrupted, or out of room; `KOLLUS_KILLS` asks for more kills.
@Suite(.serialized, .temporaryDirectory) struct RenewKillTests {
  /// What a content was granted so far: what it holds is one of these.
  private final class Grants: Sendable {
    private let state = Protected([String: Set<Int>]())
    private let current = Protected(1)

    /// The plays that are granted from now on.
    func begin(_ plays: Int) { current.withLock { $0 = plays } }

    func grant(_ key: String) -> DRMCallback.Entry {
      let plays = current.withLock { $0 }
      _ = state.withLock { $0[key, default: []].insert(plays) }
      return .granted(plays: plays)
    }

    func include(_ plays: Int?, _ key: String) -> Bool {
      guard let plays else { return false }
      return state.withLock { $0[key]?.contains(plays) ?? false }
    }
  }

  @Test(
    .timeLimit(.minutes(10)), .enabled(if: RenewStage.hasShell, "needs the sqlite3 shell"))
  func `kill -9 at any moment leaves each content its old licence or its new one`() async throws {
    let grants = Grants()
    let stage = try RenewStage(500)
    stage.callback.answer { grants.grant($0.mck) }
    await stage.download(stage.keys)
    let start = ContinuousClock.now
    try await (stage.tool.run(["renew", "--all", "--quiet"])).expect(0)
    let whole = Int((ContinuousClock.now - start) / .milliseconds(1))
    var held = try await stage.plays()
    var kills = 0
    for round in 1...KillTests.kills {
      grants.begin(1 + round)
      let process = try stage.tool.start("renew", "--all", "--quiet")
      // From before the first request to about the end of a whole run.
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...whole)))
      process.kill(SIGKILL)
      if await process.wait().ending == .signal(Int(SIGKILL)) { kills += 1 }
      held = try await expectSound(stage, grants, since: held)
      if round.isMultiple(of: 20) || round == 1 {
        (try await stage.tool.run(["play-check", "--quiet"] + stage.keys)).expect(0)
      }
    }
    #expect(kills > 0)
    // What is left of the last batch, then a whole one.
    (try await stage.tool.run(["renew", "--all", "--quiet"])).expect(0)
    held = try await expectSound(stage, grants, since: held)
    grants.begin(900)
    (try await stage.tool.run(["renew", "--all", "--quiet"])).expect(0)
    #expect(try await expectSound(stage, grants, since: held).values.allSatisfy { $0 == 900 })
    try await stage.expectRenewed(plays: 900)
  }

  /// The database is whole, and each content holds a licence that it was granted, none older than before.
  private func expectSound(
    _ stage: RenewStage, _ grants: Grants, since before: [String: Int],
    at location: SourceLocation = #_sourceLocation
  ) async throws -> [String: Int] {
    #expect(try await stage.sql("PRAGMA integrity_check") == "ok\n", sourceLocation: location)
    let listed = try await stage.listed(at: location)
    #expect(listed.count == stage.keys.count, sourceLocation: location)
    var held: [String: Int] = [:]
    for (key, content) in listed {
      let plays = Int(try content.integer("drmExpireCountMax") ?? -1)
      held[key] = plays
      #expect(grants.include(plays, key), "\(key) holds \(plays)", sourceLocation: location)
      #expect(plays >= before[key] ?? 1, "\(key) went back to \(plays)", sourceLocation: location)
      // An expiry would be a seal that does not fit: nothing else expires here.
      #expect(try content.bool("DRMExpired") == false, "\(key)", sourceLocation: location)
    }
    return held
  }

  // MARK: Interrupted

  @Test(.timeLimit(.minutes(1)), arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `a signal keeps what was answered, and the next run asks for the rest`(
    _ signal: Int32, status: Int
  ) async throws {
    let stage = try await RenewStage.downloaded(120, ["timeout": "\"30s\""])
    stage.callback.answer { _ in .granted(plays: 5) }
    let count = Protected(0)
    stage.callback.override { _, answer in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number <= 3 ? answer : answer.stalled(after: 0)
    }
    let process = try stage.start("--all")
    #expect(await process.line(on: .standardError) { $0.contains("\"cur\":30,") } != nil)
    process.kill(signal)
    let outcome = await process.wait()
    outcome.expect(status)
    let run = try RenewRun(outcome)
    #expect(run.items.count == 30 && run.items.allSatisfy(\.isRenewed))
    let held = try await stage.plays()
    for key in stage.keys { #expect(held[key] == (run.codes[key] == nil ? 3 : 5), "\(key)") }
    stage.callback.override(nil)
    let before = stage.asked.count
    let rest = try await stage.renew("--all").expect(0)
    #expect(rest.keys == stage.keys.filter { run.codes[$0] == nil })
    #expect(try rest.notes() == ["resumed"])
    #expect(stage.asked(since: before) == rest.keys)
    // What was on the wire is asked for with the keys it had.
    for key in rest.keys { #expect(Set(stage.sessionKeys(of: key)).count == 1, "\(key)") }
    try await stage.expectRenewed(plays: 5)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `what was interrupted before its first answer never says that there was nothing to do`(
    _ signal: Int32, status: Int
  ) async throws {
    let stage = try await RenewStage.downloaded(3, ["timeout": "\"30s\""])
    stage.callback.override { _, answer in answer.stalled(after: 0) }
    for words in [["renew", "--all"], ["renew"] + stage.keys, ["renew", "--all", "--json"]] {
      let count = stage.asked.count
      let process = try stage.tool.start(words)
      #expect(await eventually { stage.asked.count == count + 3 })
      process.kill(signal)
      let outcome = await process.wait()
      outcome.expect(status)
      #expect(!(outcome.standardOutput + outcome.standardError).contains("nothing to renew"))
      guard words.contains("--json") else { continue }
      expectOneDocument(outcome.standardOutput)
      let failures = JSONLines(outcome.standardError).objects
      #expect(failures.count == 1)
      expectShape(try #require(failures.last), Contract.failure)
      #expect(try failures.last?.integer("status") == Int64(status))
    }
  }

  // MARK: A full disk

  @Test(
    .timeLimit(.minutes(1)),
    .enabled(if: SmallDisk.isPossible, "needs the right to mount a file system in memory"))
  func `what cannot be saved is not asked for`() async throws {
    let disk = try SmallDisk(mebibytes: 8)
    defer { withExtendedLifetime(disk) {} }
    let stage = try await RenewStage.downloaded(40, name: "disk/kollus")
    stage.callback.answer { _ in .granted(plays: 5) }
    // The room that is kept for the last words may still do for one run, and does for whoever wants to free some.
    try disk.fill()
    await stage.run("show", stage.keys[0]).expect(0)
    let first = await stage.run("renew", "--all")
    #expect([0, 73].contains(first.status), "\(first.errors)")
    let held = first.status == 0 ? 5 : 3
    try disk.fill()
    stage.callback.answer { _ in .granted(plays: 9) }
    let count = stage.callback.items.count
    let run = await stage.run("renew", "--all").expect(73)
    #expect(run.errors.contains("(-8623)"))
    #expect(stage.callback.items.count == count, "asked for what cannot be saved")
    try disk.clear()
    #expect(try await stage.plays().values.allSatisfy { $0 == held })
    await stage.run(["play-check"] + stage.keys).expect(0)
    try await stage.renew("--all").expect(0)
    try await stage.expectRenewed(plays: 9)
  }

  @Test(
    .timeLimit(.minutes(1)),
    .enabled(if: SmallDisk.isPossible, "needs the right to mount a file system in memory"))
  func `a disk that fills up in mid-renewal ends it, and the next run asks the same again`() async throws {
    let disk = try SmallDisk(mebibytes: 40)
    defer { withExtendedLifetime(disk) {} }
    let stage = try await RenewStage.downloaded(300, name: "disk/kollus", ["timeout": "\"30s\""])
    stage.callback.answer { _ in .granted(plays: 5) }
    let gate = Gate()
    stage.callback.override { _, answer in gate.passed(answer) }
    async let running = stage.renew("--all")
    #expect(await eventually { gate.arrivals == 8 })
    try FileManager.default.removeItem(atPath: "\(stage.tool.home)/ballast")
    try disk.fill()
    // Those that come after them are held until the run has ended: it does not wait for them.
    gate.open(only: 8)
    defer { gate.open() }
    let run = try await running.expect(73)
    #expect(gate.arrivals <= 16, "asked for more in spite of it")
    gate.open()
    try disk.clear()
    let held = try await stage.plays()
    for key in stage.keys {
      #expect(held[key] == 3 || held[key] == 5, "\(key)")
      if run.codes[key] == 0 { #expect(held[key] == 5, "\(key)") }
    }
    await stage.run(["play-check"] + stage.keys).expect(0)
    let rest = try await stage.renew("--all").expect(0)
    #expect(rest.keys == stage.keys.filter { held[$0] == 3 })
    for key in rest.keys { #expect(Set(stage.sessionKeys(of: key)).count == 1, "\(key)") }
    try await stage.expectRenewed(plays: 5)
  }
}
