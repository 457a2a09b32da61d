import KollusCore
import Synchronization

/// Tells a player's delegates, and its storage's, what the core tells of a play.
final class PlayerSink: EventSink {
  private let player: WeakSlot
  private let storage: StorageSink

  init(_ player: KollusPlayerView, _ storage: KollusStorage) {
    self.player = WeakSlot(player)
    self.storage = StorageSink(storage)
  }

  func emit(_ event: Event) {
    storage.emit(event)
    guard let player = player.object as? KollusPlayerView else { return }
    switch event {
    case .drmRequest(let item, let json, let error):
      let exchange = DRMExchange(item, json: json, error)
      player.tell {
        $0.DRMDelegate?.kollusPlayerView(
          $0, request: exchange.request, json: exchange.json, error: exchange.error)
      }
    case .lmsData(let data, let result):
      player.tell { $0.LMSDelegate?.kollusPlayerView($0, lmsData: data, resultJson: result.dictionary) }
    case .downloadContent, .drmUpdate, .sendCompleteStoredLms, .note: break
    }
  }
}

/// Follows what mpv tells of one play, and tells the delegate what has changed.
final class PlayWatch: Sendable {
  private struct State {
    var hasBegun = false
    var isPaused = false
    var isBuffering = false
    var isSeeking = false
    var rate = 1.0
  }

  private let state = Mutex(State())
  private let player: WeakSlot

  init(_ player: KollusPlayerView) { self.player = WeakSlot(player) }

  var isBuffering: Bool { state.withLock { $0.isBuffering } }
  var isSeeking: Bool { state.withLock { $0.isSeeking } }

  /// What the delegate is to hear.
  private enum News: Sendable {
    case play, pause
    case buffering(Bool)
    case position
    case rate(Double)
  }

  func take(_ event: PlayerEvent) {
    let news = state.withLock { Self.news(event, &$0) }
    guard !news.isEmpty, let player = player.object as? KollusPlayerView else { return }
    let position = player.currentPlaybackTime
    for news in news { tell(news, position, of: player) }
  }

  private func tell(_ news: News, _ position: Double, of player: KollusPlayerView) {
    player.tell { player in
      let delegate = player.delegate
      switch news {
      case .play: delegate?.kollusPlayerView(player, play: true, error: nil)
      case .pause: delegate?.kollusPlayerView(player, pause: true, error: nil)
      case .buffering(let isOn):
        delegate?.kollusPlayerView(player, buffering: isOn, prepared: true, error: nil)
      case .position: delegate?.kollusPlayerView(player, position: position, error: nil)
      case .rate(let rate): delegate?.kollusPlayerView(player, playbackRate: Float(rate), error: nil)
      }
    }
  }

  private static func news(_ event: PlayerEvent, _ state: inout State) -> [News] {
    switch event {
    case .settled:
      let wasSeeking = state.isSeeking
      state.isSeeking = false
      if state.hasBegun { return wasSeeking ? [.position] : [] }
      state.hasBegun = true
      return state.isPaused ? [.play, .pause] : [.play]
    // The one that opens a file is no seek of anybody's.
    case .seeking where state.hasBegun: state.isSeeking = true
    case .pause(let isPaused) where isPaused != state.isPaused:
      state.isPaused = isPaused
      return state.hasBegun ? [isPaused ? .pause : .play] : []
    case .buffering(let isOn) where isOn != state.isBuffering:
      state.isBuffering = isOn
      return [.buffering(isOn)]
    case .speed(let rate) where rate != state.rate:
      state.rate = rate
      return [.rate(rate)]
    default: break
    }
    return []
  }
}
