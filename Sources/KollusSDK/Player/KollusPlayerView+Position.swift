public import Foundation
import KollusCore
import Synchronization

/// Where a player is, and how fast.
extension KollusPlayerView {
  /// Seconds of the media: where the picture is, or where playing will begin.
  ///
  /// Setting it goes there, in a play under way or at the start of the next one; what the content's policy forbids is put
  /// right. To prepare a play from beyond the end fails. What is no number is left out.
  public var currentPlaybackTime: TimeInterval {
    get {
      let (control, known) = state.withLock { state -> (PlayControl?, TimeInterval) in
        switch state.phase {
        case .playing(let control, _): return (control, state.content?.position ?? 0)
        case .prepared(_, let prepared): return (nil, state.wanted ?? prepared.start)
        case .idle, .preparing: return (nil, state.wanted ?? state.last ?? state.content?.position ?? 0)
        }
      }
      return control?.position ?? known
    }
    set {
      guard newValue.isFinite else { return }
      let position = max(0, newValue)
      let control = state.withLock { state -> PlayControl? in
        guard case .playing(let control, _) = state.phase else {
          state.wanted = position
          return nil
        }
        return control
      }
      control?.seek(to: position)
    }
  }

  /// Media seconds per second, from 0.1 to 16; kept for later plays.
  ///
  /// Where the content's policy forbids other speeds (``disablePlayRate``) it is played at 1.
  public var currentPlaybackRate: Float {
    get { state.withLock { $0.rate } }
    set {
      guard newValue.isFinite else { return }
      let rate = min(max(newValue, 0.1), 16)
      let control = state.withLock { state -> PlayControl? in
        state.rate = rate
        guard case .playing(let control, _) = state.phase else { return nil }
        return control
      }
      control?.setSpeed(Double(rate))
    }
  }

  /// Whether a content is prepared or played.
  public var isPreparedToPlay: Bool {
    state.withLock { state in
      switch state.phase {
      case .prepared, .playing: true
      case .idle, .preparing: false
      }
    }
  }

  /// Whether the picture moves.
  public var isPlaying: Bool {
    guard case .playing(let control, _) = state.withLock({ $0.phase }) else { return false }
    return control.isPlaying
  }

  /// Whether the player waits for bytes.
  public var isBuffering: Bool {
    guard case .playing(_, let watch) = state.withLock({ $0.phase }) else { return false }
    return watch.isBuffering
  }

  /// Whether it is on its way to another place.
  public var isSeeking: Bool {
    guard case .playing(_, let watch) = state.withLock({ $0.phase }) else { return false }
    return watch.isSeeking
  }

  /// Pixels of the picture, zero where nobody says.
  public var naturalSize: CGSize { content?.naturalSize ?? .zero }

  /// Whether one may go anywhere in what was prepared.
  public var seekable: Bool { state.withLock { $0.policy.isSeekable } }

  /// Up to which second one may go all the same where not ``seekable``; −1 for nowhere.
  public var nSeekableEnd: Int { state.withLock { $0.policy.seekableEnd.map { Int($0) } ?? -1 } }

  /// Whether other speeds than 1 are forbidden.
  public var disablePlayRate: Bool { state.withLock { !$0.policy.allowsSpeed } }
}
