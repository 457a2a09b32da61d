import Glibc
package import SystemKit

/// Any other player: it counts as playing at speed 1 from soon after its start to its end, whatever it does.
///
/// The URL stands on its command line. It does not end with this process, but then gets no more bytes.
package final class CommandPlayer: Player {
  private let program: Program
  private let socket: SocketPair
  private let said: Protected<Complaints>
  /// How long the program may take to end.
  private static let patience = Duration.seconds(3)
  private static let tick = Duration.milliseconds(500)

  /// Starts `words`, in which `{url}` stands for the address.
  package init(
    _ words: [String], _ playback: Playback, environment: [String: String],
    observer: @escaping PlayerObserver
  ) throws(KollusError) {
    do throws(SystemError) {
      socket = try SocketPair()
      program = try Program(
        CommandWords.filled(words, url: playback.url), environment: environment, passing: socket, as: 2)
    } catch {
      throw Self.failure(error, words.first ?? "")
    }
    let (said, program) = (Protected(Complaints(hiding: playback.url)), program)
    self.said = said
    socket.readLines(
      each: { line in
        let text = String(decoding: line, as: UTF8.self)
        said.withLock { $0.add(text) }
      }, end: {})
    Task(executorPreference: TaskThreads.executor) {
      await Self.follow(program, duration: playback.duration, observer)
    }
  }

  deinit { program.signal(SIGTERM) }

  package var complaints: [String] { said.withLock { $0.lines } }

  package func pause(_ isPaused: Bool) {}

  package func seek(to position: Double) {}

  package func setSpeed(_ speed: Double) {}

  @discardableResult package func stop() async -> Program.Ending {
    await program.stop(within: Self.patience)
  }

  /// Tells what a player would that plays from the beginning without a break.
  ///
  /// It counts as playing when it has not ended within the first moment, as one does that cannot play.
  private static func follow(
    _ program: Program, duration: Double?, _ observer: @escaping PlayerObserver
  ) async {
    for event in [.opening(isOurs: true), .loaded, .duration(duration), .position(0), .settled]
      as [PlayerEvent]
    { observer(event) }
    let playing = Task(executorPreference: TaskThreads.executor) { () -> SuspendingClock.Instant? in
      // The sleep ends early by being cancelled.
      guard (try? await TaskThreads.sleep(for: tick, clock: .suspending)) != nil, !program.hasEnded else {
        return nil
      }
      let start = SuspendingClock.now
      observer(.idle(false))
      while (try? await TaskThreads.sleep(for: tick, clock: .suspending)) != nil, !program.hasEnded {
        observer(.position(start.duration(to: .now) / .seconds(1)))
      }
      return start
    }
    let ending = await program.ending()
    playing.cancel()
    if let start = await playing.value, ending == .exit(0) {
      let elapsed = start.duration(to: .now) / .seconds(1)
      observer(.position(elapsed))
      observer(.ended(elapsed >= duration ?? .infinity ? .eof : .quit))
    }
    observer(.exited(ending))
  }

  /// Names the word as it was given, which has no address in it.
  private static func failure(_ error: SystemError, _ name: String) -> KollusError {
    KollusError(
      .configuration, "the player \(name) cannot be started: \(error.reason)",
      hint: "check the command given with --player or 'player' in the configuration")
  }
}
