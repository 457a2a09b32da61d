/// Steers one play from outside while it lasts, and tells how it stands; for use from any thread.
///
/// What is asked for before the player is up is done once it is. What the manifest forbids is put right by the player.
package final class PlayControl: Sendable {
  private struct State {
    var player: (any Player)?
    var viewing: Viewing?
    var isPaused = false
    var speed: Double?
    var target: Double?
    var isStopped = false
  }

  private let state = Protected(State())

  package init() {}

  /// Where the media is, in seconds; `nil` before the player is up.
  package var position: Double? {
    state.withLock { $0.viewing }?.withMeter { meter, _ in meter.position }
  }

  /// Whether media is moving.
  package var isPlaying: Bool {
    state.withLock { $0.viewing }?.withMeter { meter, _ in meter.isPlaying } ?? false
  }

  /// Whether somebody asked for the end.
  package var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Holds the picture, or lets it go on.
  package func pause(_ isPaused: Bool) {
    player { $0.isPaused = isPaused }?.pause(isPaused)
  }

  /// Goes to a second of the media.
  package func seek(to position: Double) {
    player { $0.target = position }?.seek(to: position)
  }

  /// Media seconds per second.
  package func setSpeed(_ speed: Double) {
    player { $0.speed = speed }?.setSpeed(speed)
  }

  /// Ends the play, as a viewer does who closes the window: what was watched is charged and reported.
  package func stop() { state.withLock { $0.isStopped = true } }

  /// The player to tell, once it is up.
  private func player(_ note: @Sendable (inout State) -> Void) -> (any Player)? {
    state.withLock { state in
      note(&state)
      return state.player
    }
  }

  /// The player is up: what was asked for until now is done.
  func attach(_ player: any Player, _ viewing: Viewing) {
    let (isPaused, speed, target) = state.withLock { state in
      (state.player, state.viewing) = (player, viewing)
      return (state.isPaused, state.speed, state.target)
    }
    if let speed { player.setSpeed(speed) }
    if let target { player.seek(to: target) }
    if isPaused { player.pause(true) }
  }

  /// The player is gone; what was last known stays to be read.
  func detach() { state.withLock { $0.player = nil } }
}
