import Foundation
import KollusSDK
import KollusTestSupport
import Synchronization
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct DelegateTests {
  let stage: SDKStage

  init() async throws { stage = try await SDKStage() }

  @Test(arguments: [true, false])
  func `calls come one at a time on the queue, whatever asks for them`(_ isChosen: Bool) async throws {
    let storage = KollusStorage(configuration: stage.storage.configuration)
    storage.setNetworkTimeOut(2, retry: 0)
    if isChosen { storage.delegateQueue = DispatchQueue(label: "app", attributes: .concurrent) }
    let witness = Witness(storage.delegateQueue)
    storage.delegate = witness
    let keys = (0..<4).map { "k\($0)" }
    for key in keys { try await stage.publish(key, under: .granted(plays: 9)) }
    try storage.start()
    for key in keys {
      _ = try storage.loadContentURL(stage.origin.playURL(key))
      try storage.downloadContent(key)
    }
    #expect(await eventually(within: .seconds(20)) { witness.seen.withLock { $0.ended == keys.count } })
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { storage.updateDownloadDRMInfo(true) }
        group.addTask { storage.sendStoredLms() }
      }
    }
    #expect(
      await eventually(within: .seconds(20)) {
        witness.seen.withLock { $0.flushes == 4 && $0.renewals >= keys.count }
      })
    let seen = witness.seen.withLock { $0 }
    #expect(seen.calls > 20 && seen.most == 1, "at once: \(seen.most) of \(seen.calls)")
    #expect(seen.elsewhere == 0)
  }

  @Test func `a queue that is set later takes over when the one before is done`() async throws {
    let storage = KollusStorage(configuration: stage.storage.configuration)
    let witness = Witness(storage.delegateQueue)
    storage.delegate = witness
    // Not started: each of these is one call.
    for number in 0..<60 {
      if number % 20 == 10 {
        storage.delegateQueue = DispatchQueue(label: "app \(number)", attributes: .concurrent)
        witness.mark(storage.delegateQueue)
      }
      storage.updateDownloadDRMInfo(true)
    }
    #expect(await eventually { witness.seen.withLock { $0.calls == 60 } })
    #expect(witness.seen.withLock { $0.most == 1 && $0.elsewhere == 0 })
  }

  @Test func `delegates, and the storage of a player, are held weakly`() throws {
    let (storage, player) = (stage.storage, KollusPlayerView())
    do {
      let (listener, other) = (Listener(), PlayerListener())
      storage.delegate = listener
      other.follow(player)
      player.storage = KollusStorage(configuration: storage.configuration)
      #expect(storage.delegate === listener && player.delegate === other)
    }
    #expect(storage.delegate == nil && player.storage == nil)
    #expect(player.delegate == nil && player.DRMDelegate == nil)
    #expect(player.LMSDelegate == nil && player.bookmarkDelegate == nil)
    // Nobody hears, and nothing goes wrong.
    storage.updateDownloadDRMInfo(true)
    #expect(code { try player.prepareToPlay() } == -8661)
  }

  @Test func `a storage that is let go of ends its downloads, and the next one goes on`() async throws {
    let media = try await stage.publish(slowedTo: 200_000)
    let listener = Listener()
    var storage: KollusStorage? = KollusStorage(configuration: stage.storage.configuration)
    storage?.delegate = listener
    try storage?.start()
    _ = try storage?.loadContentURL(stage.origin.playURL(stage.mck))
    try storage?.downloadContent(stage.mck)
    await listener.waits { $0.downloads.contains { $0.size > 70_000 } }
    let trace = Trace(storage)
    storage = nil
    #expect(await eventually { trace.object == nil })
    #expect(listener.heard.withLock { $0.ended.isEmpty }, "nobody is there any more to call")
    let bytes = Array(try Data(contentsOf: URL(filePath: SDKStage.lecture)))
    media.answer(with: ScriptedServer.object(bytes))
    try stage.storage.start()
    // The download notices, and writes down what it has, after the storage is gone.
    let stage = stage
    #expect(await eventually { ((try? stage.content().downloadStopSize) ?? 0) > 0 })
    try stage.storage.downloadContent(stage.mck)
    await stage.listener.waits { $0.ended.last?.isDownloaded == true }
  }

  @Test(.enabled(if: SDKStage.hasMPV, "needs mpv"))
  func `a player that is let go of ends its play, which is charged`() async throws {
    try await stage.download(under: .granted(plays: 5))
    stage.answer(3, .init())
    let listener = PlayerListener()
    var player: KollusPlayerView? = KollusPlayerView(content: try stage.content())
    player?.delegate = listener
    try player?.prepareToPlay()
    try player?.play()
    await listener.waits { $0.steps.last == "play" }
    let trace = Trace(player)
    #expect(
      await eventually { (trace.object?.currentPlaybackTime ?? 0) > 0.5 }, "a play counts once it moves")
    player = nil
    #expect(await eventually { trace.object == nil })
    let (storage, mck) = (stage.storage, stage.mck)
    #expect(await eventually { storage.contents()?.first?.DRMExpireCount == 4 })
    #expect(
      await eventually { code { try storage.removeContent(mck) } == 0 && storage.contents()?.isEmpty == true }
    )
  }

  @Test func `calls from many threads and tasks at once all come to an end`() async throws {
    try await stage.download("done", under: .granted(plays: 9))
    let media = try await stage.publish(slowedTo: 400_000)
    defer { withExtendedLifetime(media) {} }
    let (storage, mck) = (stage.storage, stage.mck)
    let url = stage.origin.playURL(mck)
    _ = try storage.loadContentURL(url)
    let begun = Atomic(0)
    let call: @Sendable (Int) -> Void = { number in
      let player = KollusPlayerView(mediaContentKey: "done", storage: storage)
      switch number % 6 {
      case 0: #expect(storage.contents()?.count == 2)
      case 1: if code({ try storage.downloadContent(mck) }) == 0 { begun.add(1, ordering: .relaxed) }
      case 2: #expect(code { try player.addBookmark(Double(number / 2), value: "n") } == 0)
      case 3: #expect(storage.storageSize > 0 && code { _ = try storage.loadContentURL(url) } == 0)
      case 4: storage.updateDownloadDRMInfo(number % 4 == 0)
      default: storage.setNetworkTimeOut(2, retry: number % 3)
      }
    }
    // More tasks than Swift's pool has threads, and as many threads of Dispatch's.
    await withTaskGroup { group in
      for number in 0..<48 { group.addTask { call(number) } }
    }
    DispatchQueue.concurrentPerform(iterations: 48, execute: call)
    await stage.listener.waits { $0.ended.contains { $0.key == mck && $0.isDownloaded } }
    #expect(begun.load(ordering: .relaxed) >= 1)
    let marks = KollusPlayerView(mediaContentKey: "done", storage: storage).bookmarks
    #expect(marks.map(\.position) == stride(from: 1, to: 24, by: 3).map(Double.init))
    #expect(stage.listener.heard.withLock { !$0.isAtOnce })
  }
}

/// An object that is watched without being kept.
private struct Trace<Object: AnyObject & Sendable>: Sendable {
  weak let object: Object?
  init(_ object: Object?) { self.object = object }
}

/// Notes where it is called, and how many calls are under way; lingers in each by asking the storage.
private final class Witness: KollusStorageDelegate, Sendable {
  struct Seen: Sendable {
    var (calls, active, most, elsewhere) = (0, 0, 0, 0)
    var (ended, renewals, flushes) = (0, 0, 0)
  }

  let seen = Protected(Seen())
  private let key = DispatchSpecificKey<Bool>()

  init(_ queue: DispatchQueue) { mark(queue) }

  func mark(_ queue: DispatchQueue) { queue.setSpecific(key: key, value: true) }

  private func note(_ storage: KollusStorage? = nil, _ change: @Sendable (inout Seen) -> Void) {
    let isThere = DispatchQueue.getSpecific(key: key) ?? false
    seen.withLock { seen in
      (seen.calls, seen.active) = (seen.calls + 1, seen.active + 1)
      seen.most = max(seen.most, seen.active)
      if !isThere { seen.elsewhere += 1 }
    }
    _ = storage?.contents()
    seen.withLock { seen in
      seen.active -= 1
      change(&seen)
    }
  }

  func kollusStorage(_ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?) {
    let isEnd = content.downloaded || error != nil
    note(storage) { if isEnd { $0.ended += 1 } }
  }

  func kollusStorage(
    _ storage: KollusStorage, request: [AnyHashable: Any], json: [AnyHashable: Any]?, error: (any Error)?
  ) { note(storage) { _ in } }

  func kollusStorage(_ storage: KollusStorage, cur: Int32, count: Int32, error: (any Error)?) {
    note(storage) { $0.renewals += 1 }
  }

  func onSendCompleteStoredLms(_ successCount: Int32, failCount: Int32) { note { $0.flushes += 1 } }
}
