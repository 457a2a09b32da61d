package import SystemKit

/// What a player tells while it runs, in order; ``exited(_:)`` is always the last.
package enum PlayerEvent: Sendable, Equatable {
  /// Why a file ended.
  package enum End: Sendable, Equatable {
    /// The bytes ran out, which an early end looks like as well.
    case eof
    /// Somebody stopped it, or opened another file.
    case stop
    /// The player was told to quit.
    case quit
    /// It could not be played, and the player's word for why.
    case error(String)
  }

  /// A file is opened: ours, or another that the viewer gave the player.
  case opening(isOurs: Bool)
  case loaded
  /// Seconds of the media.
  case duration(Double?)
  /// Media seconds: where the picture is, or after ``seeking`` the aim, until ``settled``.
  case position(Double?)
  case speed(Double)
  case pause(Bool)
  /// Whether nothing moves, for whatever reason: paused, seeking, waiting for bytes, not begun.
  case idle(Bool)
  /// Whether it waits for bytes.
  case buffering(Bool)
  case seeking
  /// Playing goes on where it was begun or sought.
  case settled
  /// Our file ended.
  case ended(End)
  /// The program ended; without ``ended(_:)`` before it, it was killed or did not come up.
  case exited(Program.Ending)

  /// Whether it comes many times a second and says nothing that has to be acted upon.
  package var isFrequent: Bool {
    if case .position = self { true } else { false }
  }
}
