import Foundation
import KollusSDK
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct LicenceTests {
  let stage: SDKStage
  static var now: Int { Int(Date().timeIntervalSince1970) }

  init() async throws { stage = try await SDKStage() }

  @Test func `a licence shows what is left, under both spellings`() async throws {
    var entry = SDKStage.Entry.granted(until: Self.now + 3_600, plays: 5, seconds: 7_200)
    entry.members["expiration_refresh_popup"] = "1"
    entry.members["check_expiration_date"] = nil
    try await stage.download(under: entry)
    let content = try stage.content()
    #expect(!content.DRMExpired && content.DRMExpireRefreshPopup)
    #expect(content.DRMExpireDate.map { Int($0.timeIntervalSince1970 - 3_600) - Self.now <= 0 } == true)
    #expect(content.DRMExpireCount == 5 && content.DRMExpireCountMax == 5)
    #expect(content.DRMExpirePlayTime == 7_200 && content.DRMTotalExpirePlayTime == 7_200)
    #expect(content.drmExpired == content.DRMExpired && content.drmExpireDate == content.DRMExpireDate)
    #expect(content.drmExpireCount == 5 && content.drmExpireCountMax == 5)
    #expect(content.drmExpirePlayTime == 7_200 && content.drmTotalExpirePlayTime == 7_200)
    #expect(content.drmExpireRefreshPopup && content.drmCheckDate == content.DRMCheckDate)
    let kinds = stage.listener.heard.withLock { $0.exchanges.map(\.kind) }
    #expect(kinds == [1, 2])
  }

  @Test func `no licence is no limit`() async throws {
    try await stage.download()
    let content = try stage.content()
    #expect(!content.DRMExpired && content.DRMExpireDate == nil && content.DRMCheckDate == nil)
    #expect(content.DRMExpireCountMax == 0 && content.DRMTotalExpirePlayTime == 0)
    #expect(!content.DRMExpireRefreshPopup)
  }

  @Test(arguments: [
    ["expiration_date": "-60"], ["check_expiration_date": "-60"], ["content_expired": "1"],
  ])
  func `an expired licence says so, whatever the reason, until it is renewed`(
    _ members: [String: String]
  ) async throws {
    try await stage.download(under: .granted(plays: 9))
    var entry = SDKStage.Entry()
    for (name, value) in members {
      entry.members[name] = value.hasPrefix("-") ? "\(Self.now - 60)" : value
    }
    stage.answer(3, entry)
    stage.storage.updateDownloadDRMInfo(true)
    #expect(try stage.content().DRMExpired, "\(members)")
    stage.answer(3, .granted(plays: 3))
    stage.storage.updateDownloadDRMInfo(false)
    await stage.listener.waits { $0.renewals.last.map { $0.code == nil } ?? false }
    let content = try stage.content()
    #expect(!content.DRMExpired && content.DRMExpireCount == 3)
  }

  @Test func `a date that passes is noticed by a content that is held`() async throws {
    try await stage.download(under: .granted(until: Self.now + 2))
    let content = try stage.content()
    #expect(!content.DRMExpired)
    #expect(await eventually { content.DRMExpired })
  }

  @Test func `a licence edited by hand counts as expired`() async throws {
    try await stage.download(under: .granted(plays: 1))
    let shell = Process()
    shell.executableURL = URL(filePath: "/usr/bin/sqlite3")
    shell.arguments = ["\(stage.storage.storagePath)/library.db", "UPDATE licence SET expiration_count = 99"]
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
    #expect(try stage.content().DRMExpired)
  }

  @Test func `a renewal tells each content, and returns when all are done`() async throws {
    for key in ["a", "b", "c"] { try await stage.download(key, under: .granted(plays: 9)) }
    stage.callback.answer {
      $0.mck == "b" ? SDKStage.Entry(["result": "0", "message": "\"Ask the office.\""]) : .granted(plays: 4)
    }
    stage.storage.updateDownloadDRMInfo(true)
    let left = try ["a", "b", "c"].map { try stage.content($0).DRMExpireCount }
    #expect(left == [4, 9, 4])
    await stage.listener.waits { $0.renewals.count == 3 && $0.exchanges.count == 9 }
    let heard = stage.listener.heard.withLock { $0 }
    #expect(heard.renewals.map(\.cur) == [1, 2, 3] && heard.renewals.allSatisfy { $0.count == 3 })
    #expect(heard.renewals.compactMap(\.code) == [-8657])
  }

  @Test func `only what is due is renewed when not all are asked for`() async throws {
    try await stage.download("long", under: .granted(until: Self.now + 365 * 86_400))
    try await stage.download("short", under: .granted(until: Self.now + 3_600))
    stage.answer(3, .granted(until: Self.now + 365 * 86_400))
    stage.storage.updateDownloadDRMInfo(false)
    await stage.listener.waits { !$0.renewals.isEmpty }
    #expect(stage.callback.items(of: "long", kind: 3).isEmpty)
    #expect(stage.callback.items(of: "short", kind: 3).count == 1)
    #expect(stage.listener.heard.withLock { $0.renewals.map(\.count) } == [1])
  }

  @Test func `a renewal before the start tells why it came to nothing`() async {
    stage.storage.updateDownloadDRMInfo(true)
    await stage.listener.waits { $0.renewals.map(\.code) == [-8661] }
    stage.storage.sendStoredLms()
    await stage.listener.waits { $0.flushes.count == 1 }
  }
}
