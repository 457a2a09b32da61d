import Foundation
import KollusSDK
import KollusTestSupport
import Testing

/// Remembers what a storage's delegate is told.
final class Listener: KollusStorageDelegate, Sendable {
  struct Download: Sendable {
    let key: String?
    let isDownloaded: Bool
    let progress: Int
    let size: Int64
    let code: Int?
    let text: String?
  }

  struct Heard: Sendable {
    var downloads: [Download] = []
    /// Kind, code of the failure, and `result` of the answer, of each exchange.
    var exchanges: [(kind: Int?, key: String?, code: Int?, result: Int?)] = []
    var renewals: [(cur: Int32, count: Int32, code: Int?)] = []
    var reports: [(data: String, status: Int?)] = []
    var flushes: [(success: Int32, fail: Int32)] = []
    /// Whether two calls ever ran at the same time.
    var isAtOnce = false
    var isBusy = false

    var ended: [Download] { downloads.filter { $0.isDownloaded || $0.code != nil } }
  }

  let heard = Protected(Heard())

  /// Notes one call; says whether another is under way.
  private func note(_ change: @Sendable (inout Heard) -> Void) {
    heard.withLock { heard in
      heard.isAtOnce = heard.isAtOnce || heard.isBusy
      heard.isBusy = true
    }
    heard.withLock { heard in
      change(&heard)
      heard.isBusy = false
    }
  }

  /// Waits until what was heard is as wanted; fails the test at the deadline.
  func waits(
    at location: SourceLocation = #_sourceLocation, _ isWanted: @escaping @Sendable (Heard) -> Bool
  ) async {
    let isThere = await eventually(within: .seconds(20)) { self.heard.withLock { isWanted($0) } }
    #expect(isThere, "heard: \(heard.withLock { $0 })", sourceLocation: location)
  }

  func kollusStorage(_ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?) {
    let download = Download(
      key: content.mediaContentKey, isDownloaded: content.downloaded, progress: content.downloadProgress,
      size: content.downloadSize, code: error.map { ($0 as NSError).code }, text: error?.localizedDescription)
    note { $0.downloads.append(download) }
  }

  func kollusStorage(
    _ storage: KollusStorage, request: [AnyHashable: Any], json: [AnyHashable: Any]?, error: (any Error)?
  ) {
    let (kind, key) = (request["kind"] as? Int, request["media_content_key"] as? String)
    let (code, result) = (error.map { ($0 as NSError).code }, json?["result"] as? Int)
    note { $0.exchanges.append((kind, key, code, result)) }
  }

  func kollusStorage(_ storage: KollusStorage, cur: Int32, count: Int32, error: (any Error)?) {
    let code = error.map { ($0 as NSError).code }
    note { $0.renewals.append((cur, count, code)) }
  }

  func kollusStorage(_ storage: KollusStorage, lmsData: String, resultJson: [AnyHashable: Any]) {
    let status = resultJson["status"] as? Int
    note { $0.reports.append((lmsData, status)) }
  }

  func onSendCompleteStoredLms(_ successCount: Int32, failCount: Int32) {
    note { $0.flushes.append((successCount, failCount)) }
  }
}
