import Foundation
import KollusSDK
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct DownloadTests {
  let stage: SDKStage

  init() async throws { stage = try await SDKStage() }

  @Test func `a play URL is loaded once, and always means the same content`() async throws {
    try await stage.publish()
    try stage.storage.start()
    let url = stage.origin.playURL(stage.mck, more: "&uservalue0=course-9")
    #expect(code { _ = try stage.storage.checkContentURL(url) } == -8638)
    #expect(try stage.storage.loadContentURL(url) == stage.mck)
    #expect(try stage.storage.loadContentURL(url) == stage.mck)
    #expect(code { _ = try stage.storage.checkContentURL(url) } == -8638, "loaded, not downloaded")
    let content = try stage.content()
    #expect(!content.downloaded && content.downloadSize == 0 && content.downloadProgress == 0)
    #expect(content.title == "Title of \(stage.mck)" && content.contentType == .downloading)
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { !$0.ended.isEmpty }
    #expect(try stage.storage.checkContentURL(url) == stage.mck)
  }

  @Test func `a download tells its progress and its end, one call at a time`() async throws {
    let media = try await stage.publish(slowedTo: 1 << 20)
    defer { withExtendedLifetime(media) {} }
    try stage.storage.start()
    _ = try stage.storage.loadContentURL(stage.origin.playURL(stage.mck))
    let asked = stage.receiver.exchanges.count
    let begin = ContinuousClock.now
    try stage.storage.downloadContent(stage.mck)
    #expect(code { try stage.storage.downloadContent(stage.mck) } == -8631)
    await stage.listener.waits { $0.downloads.contains { $0.size > 0 } }
    // A list that is had anew is never behind what was told.
    let told = stage.listener.heard.withLock { $0.downloads.map(\.size).max() ?? 0 }
    #expect(try stage.content().downloadSize >= told && stage.storage.storageSize >= told)
    await stage.listener.waits { !$0.ended.isEmpty }
    let heard = stage.listener.heard.withLock { $0 }
    let most = Int((ContinuousClock.now - begin) / .milliseconds(250)) + 2
    #expect(heard.downloads.count <= most, "a few times a second, and the end")
    #expect(heard.downloads.count > 2, "some progress, then the end")
    #expect(heard.ended.count == 1 && heard.ended[0].isDownloaded && heard.ended[0].progress == 100)
    #expect(heard.downloads.map(\.size) == heard.downloads.map(\.size).sorted())
    #expect(heard.downloads.last?.isDownloaded == true, "nothing follows the end")
    #expect(!heard.isAtOnce)
    #expect(stage.receiver.exchanges.count == asked)
    let content = try stage.content()
    #expect(content.downloaded && content.downloadSize == content.fileSize && content.downloadStopSize == 0)
    #expect(stage.storage.storageSize == content.fileSize)
    #expect(abs(Double(content.downloadedTime) - Date().timeIntervalSince1970) < 60)
  }

  @Test func `a cancelled download keeps what it has and goes on from there`() async throws {
    let media = try await stage.publish(slowedTo: 300_000)
    try stage.storage.start()
    _ = try stage.storage.loadContentURL(stage.origin.playURL(stage.mck))
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { $0.downloads.contains { $0.size > 100_000 } }
    try stage.storage.downloadCancelContent(stage.mck)
    await stage.listener.waits { $0.ended.last?.code == -8615 }
    let held = try stage.content().downloadStopSize
    #expect(try held > 100_000 && !stage.content().downloaded)
    let bytes = Array(try Data(contentsOf: URL(filePath: SDKStage.lecture)))
    let before = media.exchanges.count
    media.answer(with: ScriptedServer.object(bytes))
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { $0.ended.last?.isDownloaded == true }
    let fetched = media.exchanges.dropFirst(before).reduce(0) { $0 + $1.bodyBytes }
    #expect(fetched <= bytes.count - Int(held) + (4 << 16), "what was here is not fetched again")
    try stage.storage.downloadCancelContent(stage.mck)
    #expect(code { try stage.storage.downloadCancelContent("none") } == -8638)
  }

  @Test func `what was not loaded is not downloaded`() throws {
    try stage.storage.start()
    #expect(code { try stage.storage.downloadContent("none") } == -8614)
    #expect(code { _ = try stage.storage.loadContentURL("no URL") } == -8637)
  }

  @Test func `a complete content is told as complete`() async throws {
    try await stage.download()
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { $0.ended.count == 2 }
    #expect(stage.listener.heard.withLock { $0.ended.allSatisfy(\.isDownloaded) })
  }

  @Test func `a refusal comes with the customer's own words`() async throws {
    try await stage.download(under: .init(["result": "0", "message": "\"Course has ended.\""]))
    let last = try #require(stage.listener.heard.withLock { $0.ended.last })
    #expect(last.code == -8655 && last.text == "Course has ended.")
    await stage.listener.waits {
      $0.exchanges.contains { $0.kind == 1 && $0.result == 0 && $0.code == -8655 }
    }
    #expect(try !stage.content().downloaded)
  }

  @Test func `a removed content is gone, even in mid-download`() async throws {
    let media = try await stage.publish(slowedTo: 100_000)
    defer { withExtendedLifetime(media) {} }
    try stage.storage.start()
    _ = try stage.storage.loadContentURL(stage.origin.playURL(stage.mck))
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { !$0.downloads.isEmpty }
    try stage.storage.removeContent(stage.mck)
    #expect(stage.storage.contents()?.isEmpty == true)
    #expect(code { try stage.storage.removeContent(stage.mck) } == -8638)
    #expect(stage.storage.storageSize == 0)
  }

  @Test func `a file that is gone is tidied away`() async throws {
    try await stage.download()
    try FileManager.default.removeItem(atPath: try stage.mediaFile())
    #expect(stage.storage.contents()?.isEmpty == true)
  }

  @Test func `a delegate may be called on a queue of the application's`() async throws {
    let queue = DispatchQueue(label: "app", attributes: .concurrent)
    let mark = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: mark, value: true)
    let storage = KollusStorage(configuration: stage.storage.configuration)
    let seen = Protected<[Bool]>([])
    let delegate = ClosureDelegate {
      seen.withLock { $0.append(DispatchQueue.getSpecific(key: mark) ?? false) }
    }
    storage.delegateQueue = queue
    storage.delegate = delegate
    try await stage.publish()
    try storage.start()
    _ = try storage.loadContentURL(stage.origin.playURL(stage.mck))
    try storage.downloadContent(stage.mck)
    #expect(await eventually(within: .seconds(20)) { seen.withLock { !$0.isEmpty } })
    #expect(seen.withLock { $0.allSatisfy { $0 } })
    #expect(storage.delegate === delegate)
  }
}

/// Implements one method only; the others are left out.
private final class ClosureDelegate: KollusStorageDelegate, Sendable {
  private let heard: @Sendable () -> Void
  init(_ heard: @escaping @Sendable () -> Void) { self.heard = heard }

  func kollusStorage(_ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?) {
    // The storage may be called from here.
    _ = storage.contents()
    heard()
  }
}
