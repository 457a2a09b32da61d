import Foundation
import KollusSDK
import KollusTestSupport
import Testing

/// What applications are told to write for offline playback and renewal: the same calls by the same names.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct GuideTests {
  let stage: SDKStage
  var storage: KollusStorage { stage.storage }

  init() async throws { stage = try await SDKStage() }

  /// The application's own judgment of a licence before a play.
  private func isExpired(_ content: KollusContent) -> Bool {
    if content.DRMExpired { return true }
    if let end = content.DRMExpireDate, end < Date() { return true }
    if content.drmTotalExpirePlayTime > 0 && content.DRMExpirePlayTime <= 0 { return true }
    if content.drmExpireCountMax > 0 && content.drmExpireCount <= 0 { return true }
    return false
  }

  /// The shorter one, before a renewal.
  private func needsRenewal(_ c: KollusContent) -> Bool {
    c.DRMExpired || (c.drmTotalExpirePlayTime > 0 && c.DRMExpirePlayTime <= 0)
      || (c.drmExpireCountMax > 0 && c.drmExpireCount <= 0)
  }

  private func renewDRMContents(isAll: Bool) { storage.updateDownloadDRMInfo(isAll) }

  // MARK: Offline playback

  @Test func `a downloaded content is found and given to a player`() async throws {
    try await stage.download(under: .granted(plays: 5))
    let targetMck = stage.mck
    try StorageManager.$shared.withValue(StorageManager(storage: storage)) {
      let downloaded = StorageManager.shared.contents()
        .first { $0.mediaContentKey == targetMck && $0.downloaded }
      #expect(downloaded?.title == "Title of \(targetMck)")
      let playerView = KollusPlayerView()
      playerView.kollusContent = downloaded
      #expect(playerView.kollusContent === downloaded && playerView.storage === storage)
      let vc = PlayerViewController(content: downloaded)
      #expect(vc.playerView.mediaContentKey == targetMck)
      #expect(isExpired(try #require(downloaded)) == false)
      // The network is gone: the licence in the storage decides.
      stage.callback.override { _, _ in Answer(503) }
      try playerView.prepareToPlay(withMode: .kollus)
      try playerView.stop()
    }
  }

  @Test(.enabled(if: SDKStage.hasMPV, "needs mpv"))
  func `the last play leaves an expired content, until a renewal`() async throws {
    try await stage.download(under: .granted(plays: 1))
    stage.answer(3, .init())
    let (playerView, listener) = (KollusPlayerView(), PlayerListener())
    listener.follow(playerView)
    playerView.kollusContent = try stage.content()
    playerView.currentPlaybackRate = 16
    try playerView.prepareToPlay()
    try playerView.play()
    await listener.waits { $0.steps.last == "stop" }
    let content = try stage.content()
    #expect(content.drmExpireCountMax == 1 && content.drmExpireCount == 0)
    #expect(isExpired(content) && needsRenewal(content))
    #expect(code { try playerView.prepareToPlay() } == -8644)
    await listener.waits { $0.prepareCode == -8644 }
    stage.answer(3, .granted(plays: 2))
    renewDRMContents(isAll: false)
    #expect(try !isExpired(stage.content()))
  }

  @Test func `a date that has passed, and an expiry by force, refuse a play`() async throws {
    try await stage.download(under: .granted(until: LicenceTests.now + 2, plays: 5))
    let (content, playerView) = (try stage.content(), KollusPlayerView())
    stage.callback.override { _, _ in Answer(503) }
    #expect(await eventually { (content.DRMExpireDate ?? .distantFuture) < Date() && content.DRMExpired })
    #expect(isExpired(content))
    playerView.kollusContent = content
    #expect(code { try playerView.prepareToPlay() } == -8643)
    stage.callback.override(nil)
    stage.answer(3, .granted(plays: 5))
    renewDRMContents(isAll: true)
    #expect(try !isExpired(stage.content()))
    stage.answer(3, .init(["result": "1", "content_expired": "1"]))
    renewDRMContents(isAll: true)
    #expect(try isExpired(stage.content()) && needsRenewal(stage.content()))
    stage.callback.override { _, _ in Answer(503) }
    #expect(code { try playerView.prepareToPlay() } == -8658)
  }

  @Test(arguments: [true, false])
  func `whether the user is asked before a renewal is the customer's to say`(_ asks: Bool) async throws {
    var entry = SDKStage.Entry.granted(plays: 1)
    entry.members["expiration_refresh_popup"] = asks ? "1" : "0"
    try await stage.download(under: entry)
    let content = try stage.content()
    var questions = 0
    if content.DRMExpireRefreshPopup { questions += 1 }
    #expect(questions == (asks ? 1 : 0))
  }

  @Test func `a lost file is tidied away, a damaged one is a player's error, a folder has no key`()
    async throws
  {
    try await stage.download("lost")
    try FileManager.default.removeItem(atPath: try stage.mediaFile())
    #expect(storage.contents()?.isEmpty == true)
    try await stage.download("kept")
    let (player, listener) = (KollusPlayerView(content: try stage.content("kept")), PlayerListener())
    listener.follow(player)
    let file = try FileHandle(forUpdating: URL(filePath: try stage.mediaFile()))
    try file.seek(toOffset: try file.seekToEnd() / 2)
    try file.write(contentsOf: Data([1, 2, 3, 4]))
    try file.close()
    #expect(code { try player.prepareToPlay() } == -8646)
    await listener.waits { $0.prepareCode == -8646 }
    let folder = KollusContent(folder: "math/unit 1")
    #expect(folder.mediaContentKey == nil && folder.fileType == 1 && folder.title == "unit 1")
  }

  // MARK: Renewal

  @Test func `once the network is back an expired content is renewed, then played`() async throws {
    try await stage.download(under: .granted(plays: 5))
    stage.answer(3, .init(["result": "1", "content_expired": "1"]))
    renewDRMContents(isAll: true)
    storage.setBackgroundDownload(true)
    let mck = stage.mck
    stage.callback.override { _, _ in Answer(503) }
    storage.updateDownloadDRMInfo(false)
    await stage.listener.waits { $0.renewals.count == 2 && $0.renewals[1].code != nil }
    await stage.listener.waits { $0.exchanges.last.map { $0.key == mck && $0.code != nil } ?? false }
    #expect(try needsRenewal(stage.content()))
    // The path is satisfied again, and the user wants to play.
    stage.callback.override(nil)
    stage.answer(3, .granted(plays: 3))
    if try needsRenewal(stage.content()) { storage.updateDownloadDRMInfo(false) }
    let content = try stage.content()
    #expect(!needsRenewal(content) && content.drmExpireCount == 3)
    let player = KollusPlayerView(content: content)
    stage.answer(3, .init())
    try player.prepareToPlay()
    try player.stop()
  }

  // MARK: Events

  @Test func `one delegate hears of downloads, licences and renewals`() async throws {
    let view = DownloadView()
    storage.delegate = view
    try await stage.publish(under: .granted(plays: 5))
    try storage.start()
    let mck = try storage.loadContentURL(stage.origin.playURL(stage.mck))
    try storage.downloadContent(mck)
    await view.shows("complete \(mck)")
    try storage.removeContent(mck)
    stage.answer(1, .init(["result": "0", "message": "\"Not yours.\""]))
    _ = try storage.loadContentURL(stage.origin.playURL(mck))
    try storage.downloadContent(mck)
    await view.shows("failed -8655 Not yours.")
    stage.answer(1, .granted(plays: 5))
    try storage.downloadContent(mck)
    await view.shows("complete \(mck)", times: 2)
    storage.updateDownloadDRMInfo(true)
    await view.shows("renewed 1 of 1")
    let shown = view.shown.withLock { $0 }
    #expect(
      shown.filter { $0.hasPrefix("exchange") }.map { $0.dropFirst(9) } == [
        "1", "2", "1 -8655", "1", "2", "3",
      ])
    #expect(shown.contains { $0.hasPrefix("progress") })
  }

  @Test(.enabled(if: SDKStage.hasMPV, "needs mpv"))
  func `reports that cannot be sent are stored, and sent when asked for`() async throws {
    let view = DownloadView()
    try await stage.download()
    storage.delegate = view
    stage.receiver.answer { _ in Answer(503) }
    let (player, listener) = (KollusPlayerView(content: try stage.content()), PlayerListener())
    listener.follow(player)
    player.currentPlaybackRate = 16
    try player.prepareToPlay()
    try player.play()
    await listener.waits { $0.steps.last == "stop" && !$0.reports.isEmpty }
    await view.shows("report 503")
    stage.receiver.answer { _ in Answer(200, text: "ok") }
    storage.sendStoredLms()
    await view.shows("report 200")
    // That of the beginning and that of the end.
    await view.shows("sent 2, failed 0")
    storage.sendStoredLms()
    await view.shows("sent 0, failed 0")
  }
}

/// An application's only storage, which all its views share.
struct StorageManager: Sendable {
  @TaskLocal static var shared = StorageManager(storage: KollusStorage())
  let storage: KollusStorage

  func contents() -> [KollusContent] { storage.contents() ?? [] }
}

/// An application's controller of the view that plays.
private final class PlayerViewController {
  let playerView = KollusPlayerView()

  init(content: KollusContent?) { playerView.kollusContent = content }
}

/// An application's list of downloads, as lines that it would show.
final class DownloadView: KollusStorageDelegate, Sendable {
  let shown = Protected<[String]>([])

  private func show(_ line: String) { shown.withLock { $0.append(line) } }

  func shows(_ line: String, times: Int = 1, at location: SourceLocation = #_sourceLocation) async {
    let isThere = await eventually(within: .seconds(20)) {
      self.shown.withLock { $0.filter { $0 == line }.count >= times }
    }
    #expect(isThere, "'\(line)' in \(shown.withLock { $0 })", sourceLocation: location)
  }

  func kollusStorage(_ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?) {
    if let error {
      let code = (error as NSError).code
      show("failed \(code) \(error.localizedDescription)")
      return
    }
    if content.downloaded {
      show("complete \(content.mediaContentKey ?? "")")
    } else {
      show("progress \(content.downloadProgress) \(content.downloadSize)")
    }
  }

  func kollusStorage(
    _ storage: KollusStorage,
    request: [AnyHashable: Any],
    json: [AnyHashable: Any]?,
    error: (any Error)?
  ) {
    let kind = request["kind"] as? Int ?? 0
    if let error { show("exchange \(kind) \((error as NSError).code)") } else { show("exchange \(kind)") }
  }

  func kollusStorage(
    _ storage: KollusStorage,
    cur: Int32, count: Int32,
    error: (any Error)?
  ) {
    if error == nil { show("renewed \(cur) of \(count)") } else { show("not renewed: \(cur) of \(count)") }
  }

  func kollusStorage(_ storage: KollusStorage, lmsData: String, resultJson: [AnyHashable: Any]) {
    show("report \(resultJson["status"] as? Int ?? 0)")
  }

  func onSendCompleteStoredLms(_ successCount: Int32, failCount: Int32) {
    show("sent \(successCount), failed \(failCount)")
  }
}
