import Foundation
import KollusSDK
import KollusTestSupport
import Testing

/// Remembers what a player's delegates are told.
final class PlayerListener: Sendable {
  struct Heard: Sendable {
    /// `prepare`, `play`, `pause`, `stop`, in order.
    var steps: [String] = []
    var prepareCode: Int?
    var stopCode: Int?
    var stopText: String?
    var wasStoppedByUs = false
    var positions: [Double] = []
    var rates: [Float] = []
    var kinds: [Int] = []
    var reports: [String] = []
    var bookmarks: [[KollusBookmark]] = []
    var size = CGSize.zero
  }

  let heard = Protected(Heard())

  func waits(
    at location: SourceLocation = #_sourceLocation, _ isWanted: @escaping @Sendable (Heard) -> Bool
  ) async {
    let isThere = await eventually(within: .seconds(30)) { self.heard.withLock { isWanted($0) } }
    #expect(isThere, "heard: \(heard.withLock { $0 })", sourceLocation: location)
  }

  /// Listens to everything a player tells.
  func follow(_ player: KollusPlayerView) {
    player.delegate = self
    player.DRMDelegate = self
    player.LMSDelegate = self
    player.bookmarkDelegate = self
  }
}

extension PlayerListener: KollusPlayerDelegate {
  func kollusPlayerView(_ kollusPlayerView: KollusPlayerView, prepareToPlayWithError error: (any Error)?) {
    let code = error.map { ($0 as NSError).code }
    heard.withLock { heard in
      heard.steps.append("prepare")
      heard.prepareCode = code
    }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, play userInteraction: Bool, error: (any Error)?
  ) {
    heard.withLock { $0.steps.append("play") }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, pause userInteraction: Bool, error: (any Error)?
  ) {
    heard.withLock { $0.steps.append("pause") }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, stop userInteraction: Bool, error: (any Error)?
  ) {
    let (code, text) = (error.map { ($0 as NSError).code }, error?.localizedDescription)
    heard.withLock { heard in
      heard.steps.append("stop")
      (heard.stopCode, heard.stopText, heard.wasStoppedByUs) = (code, text, userInteraction)
    }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, position: TimeInterval, error: (any Error)?
  ) {
    heard.withLock { $0.positions.append(position) }
  }

  func kollusPlayerView(_ kollusPlayerView: KollusPlayerView, naturalSize: CGSize) {
    heard.withLock { $0.size = naturalSize }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, playbackRate: Float, error: (any Error)?
  ) {
    heard.withLock { $0.rates.append(playbackRate) }
  }
}

extension PlayerListener: KollusPlayerDRMDelegate, KollusPlayerLMSDelegate, KollusPlayerBookmarkDelegate {
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, request: [AnyHashable: Any], json: [AnyHashable: Any]?,
    error: (any Error)?
  ) {
    let kind = request["kind"] as? Int
    heard.withLock { $0.kinds.append(kind ?? 0) }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, lmsData: String, resultJson: [AnyHashable: Any]
  ) {
    heard.withLock { $0.reports.append(lmsData) }
  }

  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, bookmark bookmarks: [KollusBookmark], enabled: Bool,
    error: (any Error)?
  ) {
    heard.withLock { $0.bookmarks.append(bookmarks) }
  }
}
