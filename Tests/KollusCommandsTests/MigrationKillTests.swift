import Foundation
import JSONKit
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

/// Migrations that are killed, and several at once; `KOLLUS_KILLS` asks for more kills.
@Suite(.serialized, .temporaryDirectory) struct MigrationKillTests {
  static let kills = KillTests.count(20)

  @Test(.timeLimit(.minutes(10)), arguments: 0..<kills)
  func `kill -9 while a home is migrated leaves it sound`(_ trial: Int) async throws {
    let home = EarlierHome.all[trial % EarlierHome.all.count]
    let tool = try Tool()
    try await home.unpack(to: tool.home)
    try EarlierHome.move(tool.home, to: ProcessContext.machineID())
    let process = try tool.start("list", "--json")
    // The lock for it is made when it is about to begin; some kills come before, some in the middle, some after.
    let locks = "\(tool.home)/locks"
    while process.isRunning, !FileManager.default.fileExists(atPath: locks) { await Task.yield() }
    try await Task.sleep(for: .microseconds(Int.random(in: 0...8_000)))
    process.kill(SIGKILL)
    _ = await process.wait()
    if SQLiteProgram.isInstalled {
      #expect(try await SQLiteProgram.rows("PRAGMA integrity_check", of: tool) == ["ok"])
    }
    let again = try await tool.run("list", "--json")
    again.expect(0)
    try await expectSound(home, tool, again.standardOutput)
  }

  @Test(.timeLimit(.minutes(1)), arguments: EarlierHome.all)
  func `several processes migrate a home at once`(_ home: EarlierHome) async throws {
    let tool = try Tool()
    try await home.unpack(to: tool.home)
    try EarlierHome.move(tool.home, to: ProcessContext.machineID())
    let processes = try (0..<4).map { _ in try tool.start("list", "--json") }
    for process in processes {
      let outcome = await process.wait()
      outcome.expect(0)
      try await expectSound(home, tool, outcome.standardOutput)
    }
  }

  /// Fails the test unless the list is that of the home, and the licence still in force on the day it was left.
  private func expectSound(_ home: EarlierHome, _ tool: Tool, _ list: String) async throws {
    // The program itself goes by a clock that may be earlier than those days, which a licence with a date refuses.
    let stage = try CommandStage(name: "kollus").atThatTime
    #expect(stage.tool.home == tool.home)
    #expect(try JSON(parsing: list).elements.map { try $0.string("mediaContentKey") } == home.keys)
    try home.expectList(await stage.run("list", "--json").expect(0).output)
    let playable = home.licensed == nil ? ["unit-1"] : ["unit-1", "강의-2"]
    await stage.run(["play-check", "--deep"] + playable).expect(0)
  }
}
