import SystemKit

/// Reads what a player tells that has to be acted upon, as it comes.
final class NewsReader: Sendable {
  private struct State {
    var pauses: [Bool] = []
    var isPaused = false
    var isOver = false
    var end: PlayerEvent.End?
    var exit: PlayerEvent?
  }

  private let state = Protected(State())
  private let task: Task<Void, Never>

  init(_ news: AsyncStream<PlayerEvent>) {
    let state = state
    task = Task(executorPreference: TaskThreads.executor) {
      for await event in news {
        state.withLock { state in
          switch event {
          case .pause(let isPaused):
            state.pauses.append(isPaused)
            state.isPaused = isPaused
          case .ended(let end): state.end = end
          case .exited: (state.exit, state.isOver) = (event, true)
          default: break
          }
        }
      }
      state.withLock { $0.isOver = true }
    }
  }

  deinit { task.cancel() }

  /// Whether the player's program has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Whether it was the viewer who stopped the picture.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// Whether playing was paused or went on, since the last call, in order.
  func takePauses() -> [Bool] {
    state.withLock { state in
      defer { state.pauses = [] }
      return state.pauses
    }
  }

  /// Whether our media ran out.
  var hasRunOut: Bool { state.withLock { $0.end == .eof } }

  /// The failure when the player could not do its work.
  func failure(complaints: [String], hasBegun: Bool) -> KollusError? {
    let (end, exit) = state.withLock { ($0.end, $0.exit) }
    var reason: String?
    if case .error(let why) = end { reason = why }
    if end == nil, case .exited(let ending) = exit, ending != .exit(0) {
      reason = hasBegun ? "it ended with \(ending)" : "it ended with \(ending) before anything was played"
    }
    guard let reason else { return nil }
    let last = complaints.last.map { ": \($0)" } ?? ""
    return KollusError(
      .inputOutput, "the player failed: \(reason)\(last)", hint: "try it with another --player")
  }
}

/// Sends stored reports in the background, one round at a time, without holding up a play.
final class SenderLoop: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isWanted = false
  }

  private let sender: ReportSender
  private let state = Protected(State())

  init(_ sender: ReportSender) { self.sender = sender }

  /// Sends what is stored, now or as soon as the round under way is over.
  func kick() {
    state.withLock { state in
      state.isWanted = true
      guard state.task == nil else { return }
      state.task = Task(executorPreference: TaskThreads.executor) { await self.run() }
    }
  }

  private func run() async {
    while wantsMore() {
      // What goes wrong is noted with each report, which then waits.
      _ = try? await sender.flush(obeysBackoff: true)
    }
  }

  private func wantsMore() -> Bool {
    state.withLock { state in
      guard state.isWanted else {
        state.task = nil
        return false
      }
      state.isWanted = false
      return true
    }
  }

  /// Waits for what is under way, but not for long: what is stored is not lost.
  func end(within limit: Duration) async {
    guard let task = state.withLock({ $0.task }) else { return }
    let timer = Task(executorPreference: TaskThreads.executor) {
      // Ends early when the work is done.
      try? await TaskThreads.sleep(for: limit)
      task.cancel()
    }
    await task.value
    timer.cancel()
  }
}
