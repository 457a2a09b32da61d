public import Dispatch
import Foundation
import KollusCore
import Synchronization

/// Plays downloaded contents with mpv, which draws its own window, or nothing where there is no display.
///
/// It is no view; the name is the vendor's. ``prepareToPlay(withMode:)`` passes the licence's gate, ``play()`` starts, ``stop()`` ends; the same object may
/// play again. Plays and play time are charged as they pass, what was watched is reported to the content's LMS callback, and
/// playing stops when a limit is reached. Every member may be used from any thread.
public final class KollusPlayerView: Sendable {
  /// How far it is with a content.
  enum Phase {
    case idle
    case preparing
    case prepared(PlayRoom, PreparedPlay)
    case playing(PlayControl, PlayWatch)
  }

  struct State {
    var phase = Phase.idle
    var content: KollusContent?
    var mediaContentKey: String?
    /// The key of what is prepared or played, which may be another by now than the one wanted next.
    var activeKey: String?
    /// Where the next play is wanted to begin.
    var wanted: TimeInterval?
    /// Where the last one ended.
    var last: TimeInterval?
    var rate: Float = 1
    var policy = PlayPolicy()
    var sendsReports = true
    /// Whether somebody asked for the end while it was being prepared.
    var isStopped = false
    var extraDrmParam: String?
    var proxyPort = 0
  }

  let state: Mutex<State>
  let calls = DelegateCalls(label: "kollus.player.delegate")
  /// Left when a play has ended.
  let ended = DispatchGroup()
  private let storageSlot: WeakSlot
  private let delegateSlot = WeakSlot()
  private let drmSlot = WeakSlot()
  private let lmsSlot = WeakSlot()
  private let bookmarkSlot = WeakSlot()

  /// A player for a content, or for one that is set later.
  ///
  /// - Parameter content: A content of a storage's list, which the player then belongs to.
  public init(content: KollusContent? = nil) {
    state = Mutex(State(content: content, mediaContentKey: content?.mediaContentKey))
    storageSlot = WeakSlot(content?.storage)
  }

  /// A player for a downloaded content, by its key.
  ///
  /// - Parameters:
  ///   - mediaContentKey: The content's key.
  ///   - storage: Where it is; may be set later.
  public init(mediaContentKey: String, storage: KollusStorage? = nil) {
    state = Mutex(State(mediaContentKey: mediaContentKey))
    storageSlot = WeakSlot(storage)
  }

  deinit {
    if case .playing(let control, _) = state.withLock({ $0.phase }) { control.stop() }
  }

  // MARK: What it plays

  /// The storage of what is played; held weakly.
  public var storage: KollusStorage? {
    get { storageSlot.object as? KollusStorage }
    set { storageSlot.object = newValue }
  }

  /// What is to be played; counts from the next ``prepareToPlay(withMode:)`` on.
  ///
  /// Setting it sets the ``storage`` as well.
  public var kollusContent: KollusContent? {
    get { state.withLock { $0.content } }
    set {
      state.withLock { state in
        (state.content, state.mediaContentKey) = (newValue, newValue?.mediaContentKey)
        (state.wanted, state.last) = (nil, nil)
      }
      if let storage = newValue?.storage { self.storage = storage }
    }
  }

  /// The content in use, as it was when it was set or prepared.
  public var content: KollusContent? { kollusContent }

  /// The key of what is to be played; counts from the next ``prepareToPlay(withMode:)`` on.
  public var mediaContentKey: String? {
    get { state.withLock { $0.mediaContentKey } }
    set {
      state.withLock { state in
        (state.content, state.mediaContentKey) = (nil, newValue)
        (state.wanted, state.last) = (nil, nil)
      }
    }
  }

  // MARK: Who hears

  /// Hears of the player; held weakly.
  public var delegate: (any KollusPlayerDelegate)? {
    get { delegateSlot.object as? any KollusPlayerDelegate }
    set { delegateSlot.object = newValue }
  }

  /// Hears of exchanges with the DRM callback, as the storage's delegate does; held weakly.
  public var DRMDelegate: (any KollusPlayerDRMDelegate)? {
    get { drmSlot.object as? any KollusPlayerDRMDelegate }
    set { drmSlot.object = newValue }
  }

  /// Hears of reports of viewing, as the storage's delegate does; held weakly.
  public var LMSDelegate: (any KollusPlayerLMSDelegate)? {
    get { lmsSlot.object as? any KollusPlayerLMSDelegate }
    set { lmsSlot.object = newValue }
  }

  /// Hears of bookmarks; held weakly.
  public var bookmarkDelegate: (any KollusPlayerBookmarkDelegate)? {
    get { bookmarkSlot.object as? any KollusPlayerBookmarkDelegate }
    set { bookmarkSlot.object = newValue }
  }

  /// The queue on which all four delegates are called, one call at a time: one of the player's own unless set.
  ///
  /// This product's own.
  public var delegateQueue: DispatchQueue {
    get { calls.queue }
    set { calls.queue = newValue }
  }

  /// Calls something later, on the delegates' queue.
  func tell(_ call: @escaping @Sendable (KollusPlayerView) -> Void) {
    calls.perform { [weak self] in
      guard let self else { return }
      call(self)
    }
  }

  // MARK: How it plays

  /// Whether plays are kept from being reported to the LMS callback; counts from the next ``prepareToPlay(withMode:)`` on.
  public var lmsOffDownloadContent: Bool {
    get { state.withLock { !$0.sendsReports } }
    set { state.withLock { $0.sendsReports = !newValue } }
  }

  /// Kept, and not sent: where it stands in a request to a callback is not published.
  public var extraDrmParam: String? {
    get { state.withLock { $0.extraDrmParam } }
    set { state.withLock { $0.extraDrmParam = newValue } }
  }

  /// Kept; players are served on a port that the system chooses, so that two of them never meet.
  public var proxyPort: Int {
    get { state.withLock { $0.proxyPort } }
    set { state.withLock { $0.proxyPort = newValue } }
  }

  /// Always ``KollusPlayerType/kollus``.
  public var playerType: KollusPlayerType { .kollus }
}

/// What a play needs of threads, until nobody uses it any more.
final class PlayRoom: Sendable {
  let session: PlaySession

  init(_ session: PlaySession) { self.session = session }

  deinit { session.close() }
}
