import Glibc
import Synchronization
package import SystemKit

/// mpv, started for one content and followed over a socket it inherits.
///
/// The URL goes through that socket, so that no process list shows it. mpv quits when the socket closes, which
/// happens whichever way this process ends.
package final class MPVPlayer: Player {
  private struct State {
    var link = MPVLink()
    var watch: PolicyWatch
    var complaints: Complaints
    var isLoaded = false
    /// Where to go once the media is open.
    var target: Double?
  }

  private let program: Program
  private let socket: SocketPair
  private let state: Mutex<State>
  /// How long mpv may take to end.
  private static let patience = Duration.seconds(3)

  /// Starts mpv as found in the environment's `PATH`.
  package init(
    _ playback: Playback, environment: [String: String], observer: @escaping PlayerObserver
  ) throws(KollusError) {
    var first = State(
      watch: PolicyWatch(playback.policy, start: playback.start),
      complaints: Complaints(hiding: playback.url))
    let opening = first.link.opening(playback)
    do throws(SystemError) {
      socket = try SocketPair()
      program = try Program(Self.words(for: environment), environment: environment, passing: socket)
    } catch {
      throw Self.failure(error)
    }
    state = Mutex(first)
    let (program, executor) = (program, TaskThreads.executor)
    socket.readLines(
      each: { [weak self] line in self?.take(line, observer) },
      end: {
        // The thread that reads has no values of the task's.
        TaskThreads.$executor.withValue(executor) {
          _ = Task(executorPreference: executor) {
            observer(.exited(await program.stop(within: Self.patience, asking: { _ in })))
          }
        }
      })
    // A program that is gone by now is told by its end.
    for line in opening { try? socket.write(line) }
  }

  /// The number of the process.
  var pid: Int32 { program.pid }

  package var complaints: [String] { state.withLock { $0.complaints.lines } }

  package func pause(_ isPaused: Bool) { send { $0.set("pause", .flag(isPaused)) } }

  package func seek(to position: Double) {
    let isEarly = state.withLock { state in
      if !state.isLoaded { state.target = position }
      return !state.isLoaded
    }
    // mpv refuses to seek before it has opened the media.
    if !isEarly { send { $0.seek(to: position) } }
  }

  package func setSpeed(_ speed: Double) { send { $0.set("speed", .number(speed)) } }

  @discardableResult package func stop() async -> Program.Ending {
    await program.stop(within: Self.patience) { _ in send { $0.line("quit") } }
  }

  private func take(_ line: ArraySlice<UInt8>, _ observer: PlayerObserver) {
    var early: Double?
    let (event, correction): (PlayerEvent?, PolicyWatch.Correction?) = state.withLock { state in
      switch state.link.read(line) {
      case .event(let event):
        if case .loaded = event {
          state.isLoaded = true
          early = state.target.take()
        }
        return (event, state.watch.take(event))
      case .complaint(let text):
        state.complaints.add(text)
        return (nil, nil)
      case .none: return (nil, nil)
      }
    }
    switch correction {
    case .seek(let position): seek(to: position)
    case .speed(let speed): setSpeed(speed)
    case nil: break
    }
    if let event { observer(event) }
    if let early { seek(to: early) }
  }

  private func send(_ line: (inout MPVLink) -> String) {
    let line = state.withLock { line(&$0.link) }
    // Only a program that has ended, or reads no more, refuses; its end says so.
    try? socket.write(line)
  }

  private static func words(for environment: [String: String]) -> [String] {
    var words = [
      "mpv", "--no-config", "--idle=once", "--no-terminal", "--no-ytdl", "--load-scripts=no",
      "--audio-fallback-to-null=yes", "--cache=yes", "--demuxer-max-bytes=32MiB",
      "--demuxer-max-back-bytes=16MiB", "--input-ipc-client=fd://3",
    ]
    // Without a display mpv would open one on its own, or none, as it happens.
    if environment["DISPLAY", default: ""].isEmpty, environment["WAYLAND_DISPLAY", default: ""].isEmpty {
      words += ["--vo=null", "--ao=null"]
    }
    return words
  }

  private static func failure(_ error: SystemError) -> KollusError {
    error.number == ENOENT
      ? KollusError(
        .configuration, "mpv is not installed",
        hint: "apt-get install mpv, or name another player with --player")
      : KollusError(.configuration, "mpv cannot be started: \(error.reason)")
  }
}
