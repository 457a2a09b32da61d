import Foundation
import JSONKit
import KollusCore
import Synchronization

/// Tells a storage's delegate what the core tells.
final class StorageSink: EventSink {
  private let storage: WeakSlot

  init(_ storage: KollusStorage) { self.storage = WeakSlot(storage) }

  func emit(_ event: Event) {
    guard let storage = storage.object as? KollusStorage else { return }
    switch event {
    case .downloadContent(let progress, nil) where !progress.isDownloaded: storage.tellProgress(progress)
    // The last word comes with the whole content, from where the download ends.
    case .downloadContent: break
    case .drmRequest(let item, let json, let error):
      let exchange = DRMExchange(item, json: json, error)
      storage.tell { delegate, storage in
        delegate.kollusStorage(
          storage, request: exchange.request, json: exchange.json, error: exchange.error)
      }
    case .drmUpdate(let cur, let count, _, let error):
      let failure = error.map { KollusError($0) }
      storage.tell { delegate, storage in
        delegate.kollusStorage(
          storage, cur: Int32(clamping: cur), count: Int32(clamping: count), error: failure)
      }
    case .lmsData(let data, let result):
      storage.tell { delegate, storage in
        delegate.kollusStorage(storage, lmsData: data, resultJson: result.dictionary)
      }
    case .sendCompleteStoredLms, .note: break
    }
  }
}

extension KollusStorage {
  /// Tells the delegate, and keeps what happens in the log of the home.
  func sink(_ room: StorageRoom) -> any EventSink { room.logging(StorageSink(self)) }

  /// Progress a few times a second: a fast origin gives far more.
  private static let pace = Duration.milliseconds(250)

  fileprivate func tellProgress(_ progress: ContentProgress) {
    let key = ExactText(progress.mediaContentKey)
    let now = ContinuousClock.now
    let found = state.withLock { state -> KollusContent? in
      guard var running = state.running[key] else { return nil }
      defer { state.running[key] = running }
      running.progress = progress
      if let last = running.told, now - last < Self.pace { return nil }
      running.told = now
      return running.content
    }
    guard let content = found?.progressed(to: progress) else { return }
    tell { delegate, storage in delegate.kollusStorage(storage, downloadContent: content, error: nil) }
  }
}

/// An exchange with a DRM callback, as delegates hear of it.
struct DRMExchange: Sendable {
  private let item: DRMItem
  private let answer: String?
  let error: KollusError?

  init(_ item: DRMItem, json: String?, _ error: CoreError?) {
    (self.item, answer) = (item, json)
    self.error = error.map { KollusError($0) }
  }

  /// What was asked, by the callback's names.
  var request: [AnyHashable: Any] {
    var writer = JSONWriter()
    item.write(to: &writer)
    return [AnyHashable: Any](json: writer.text) ?? [:]
  }

  /// The entry of the answer.
  var json: [AnyHashable: Any]? { answer.flatMap { [AnyHashable: Any](json: $0) } }
}

extension LMSResult {
  /// What came of a report, as delegates hear of it.
  var dictionary: [AnyHashable: Any] {
    var members: [AnyHashable: Any] = ["mediaContentKey": mediaContentKey]
    if let status { members["status"] = status }
    if let error { members["error"] = ["code": error.code, "message": error.message] as [AnyHashable: Any] }
    return members
  }
}
