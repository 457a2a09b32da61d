public import Foundation

/// Hears of a player: what it does, and what went wrong.
///
/// All calls come one after the other on ``KollusPlayerView/delegateQueue``. Every method may be left out.
public protocol KollusPlayerDelegate: AnyObject {
  /// A content was prepared, or may not be played (`error`).
  func kollusPlayerView(_ kollusPlayerView: KollusPlayerView, prepareToPlayWithError error: (any Error)?)

  /// Playing began or went on.
  ///
  /// - Parameters:
  ///   - kollusPlayerView: The player.
  ///   - userInteraction: Always `true`: nothing plays by itself here.
  ///   - error: Why it could not; ``KollusPlayerDelegate/kollusPlayerView(_:stop:error:)`` follows then.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, play userInteraction: Bool, error: (any Error)?)

  /// Playing was paused.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, pause userInteraction: Bool, error: (any Error)?)

  /// The player waits for bytes, or does not any more.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, buffering: Bool, prepared: Bool, error: (any Error)?)

  /// Playing is over, charged and saved.
  ///
  /// - Parameters:
  ///   - kollusPlayerView: The player.
  ///   - userInteraction: Whether ``KollusPlayerView/stop()`` was called; else the media ended, the viewer closed the player, or `error` says why.
  ///   - error: A limit of the licence that was reached (−8643, −8644, −8683, −8687, −8658), damage (−8646), or a player that failed.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, stop userInteraction: Bool, error: (any Error)?)

  /// Playing went on at another place, in seconds, after a seek.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, position: TimeInterval, error: (any Error)?)

  /// The size of the picture is known, in pixels.
  func kollusPlayerView(_ kollusPlayerView: KollusPlayerView, naturalSize: CGSize)

  /// The speed changed, in media seconds per second.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, playbackRate: Float, error: (any Error)?)
}

extension KollusPlayerDelegate {
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, prepareToPlayWithError error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, play userInteraction: Bool, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, pause userInteraction: Bool, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, buffering: Bool, prepared: Bool, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, stop userInteraction: Bool, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, position: TimeInterval, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusPlayerView(_ kollusPlayerView: KollusPlayerView, naturalSize: CGSize) {}
  /// Does nothing.
  public func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, playbackRate: Float, error: (any Error)?
  ) {}
}

/// Hears of a player's exchanges with the customer's DRM callback.
public protocol KollusPlayerDRMDelegate: AnyObject {
  /// One exchange; the parameters are those of ``KollusStorageDelegate/kollusStorage(_:request:json:error:)``.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, request: [AnyHashable: Any], json: [AnyHashable: Any]?,
    error: (any Error)?)
}

/// Hears of the reports of viewing that a player sends.
public protocol KollusPlayerLMSDelegate: AnyObject {
  /// One report; the parameters are those of ``KollusStorageDelegate/kollusStorage(_:lmsData:resultJson:)``.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, lmsData: String, resultJson: [AnyHashable: Any])
}

/// Hears of the bookmarks of what a player plays.
public protocol KollusPlayerBookmarkDelegate: AnyObject {
  /// The bookmarks are known, or have changed.
  ///
  /// - Parameters:
  ///   - kollusPlayerView: The player.
  ///   - bookmarks: All of them, by position.
  ///   - enabled: Whether there are any.
  ///   - error: Why they cannot be had.
  func kollusPlayerView(
    _ kollusPlayerView: KollusPlayerView, bookmark bookmarks: [KollusBookmark], enabled: Bool,
    error: (any Error)?)
}
