import KollusCore
import Synchronization
import TerminalKit

/// Prints one line per change for people: at most one progress line a second and one per percent.
///
/// On a terminal progress is a bar on standard error instead, redrawn in place.
final class LinesSink: EventSink {
  private struct Item {
    var percent = -1
    var printed: ContinuousClock.Instant?
    var bar: ProgressBar?
    var rate = RateMeter<ContinuousClock.Instant>()
  }

  private struct State {
    var items: [String: Item] = [:]
    /// Keys of the bars on show, in the order they began.
    var shown: [String] = []
    var drawnLines = 0
    var drawnAt: ContinuousClock.Instant?
  }

  private let session: Session
  private let columns: Int?
  private let state = Mutex(State())

  init(_ session: Session) {
    self.session = session
    columns = session.context.terminalColumns()
  }

  func emit(_ event: Event) {
    state.withLock { state in
      switch event {
      case .downloadContent(let progress, let error?):
        let key = progress.mediaContentKey
        end(key, &state)
        clear(&state)
        session.tell(error.mediaContentKey == nil && !key.isEmpty ? error.of(key) : error)
        draw(&state)
      case .downloadContent(let progress, nil) where progress.isDownloaded:
        end(progress.mediaContentKey, &state)
        line("\(Self.name(progress)): downloaded, \(ByteCountText(progress.fileSize))", &state)
      case .downloadContent(let progress, nil): advance(progress, &state)
      case .drmRequest: break  // What came of it is told by the event that follows.
      case .drmUpdate(let current, let count, let key, nil):
        line("\(key.terminalSafe): renewed (\(current) of \(count))", &state)
      case .drmUpdate(_, _, _, let error?):
        clear(&state)
        session.tell(error)
        draw(&state)
      case .lmsData(_, let result):
        guard let error = result.error else { break }
        guard error.kind != .tryLater else {
          // Nothing is lost, and nobody has to act.
          line(
            "\(result.mediaContentKey.terminalSafe): a report waits: \(error.message.terminalSafe)", &state)
          break
        }
        clear(&state)
        session.tell(error.of(result.mediaContentKey))
        draw(&state)
      case .sendCompleteStoredLms(let successCount, let failCount):
        line("\(successCount) reports sent, \(failCount) not", &state)
      // Other lines say as much.
      case .note(.resolved, _, _), .note(.planned, _, _), .note(.played, _, _): break
      case .note(let note, let key, let message):
        let item = key.map { "\($0.terminalSafe): " } ?? ""
        line("\(item)\(note.rawValue): \(message.terminalSafe)", &state)
      }
    }
  }

  /// Leaves the terminal as it was found.
  func close() { state.withLock { clear(&$0) } }

  private static func name(_ progress: ContentProgress) -> String {
    let key = progress.mediaContentKey.terminalSafe
    return progress.title.isEmpty ? key : "\(key) (\(progress.title.terminalSafe.truncated(toWidth: 60)))"
  }

  private func advance(_ progress: ContentProgress, _ state: inout State) {
    let key = progress.mediaContentKey
    let now = ContinuousClock.now
    var item = state.items[key] ?? Item()
    defer { state.items[key] = item }
    item.rate.record(progress.downloadSize, at: now)
    guard columns == nil else {
      if item.bar == nil { state.shown.append(key) }
      item.bar = ProgressBar(
        label: progress.title.isEmpty ? key : progress.title,
        fraction: progress.fileSize > 0 ? Double(progress.downloadSize) / Double(progress.fileSize) : nil,
        doneBytes: progress.downloadSize, totalBytes: progress.fileSize,
        bytesPerSecond: item.rate.bytesPerSecond(at: now))
      state.items[key] = item
      guard state.drawnAt.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
      state.drawnAt = now
      draw(&state)
      return
    }
    let percent = progress.percent
    guard percent > item.percent, item.printed.map({ now - $0 >= .seconds(1) }) ?? true else { return }
    (item.percent, item.printed) = (percent, now)
    session.say(
      "\(Self.name(progress)): \(percent)%, \(ByteCountText(progress.downloadSize)) of \(ByteCountText(progress.fileSize))"
    )
  }

  private func end(_ key: String, _ state: inout State) {
    state.items[key] = nil
    state.shown.removeAll { $0 == key }
  }

  private func line(_ text: String, _ state: inout State) {
    clear(&state)
    session.say(text)
    draw(&state)
  }

  private func clear(_ state: inout State) {
    guard columns != nil, state.drawnLines > 0 else { return }
    _ = session.context.standardError(TerminalSequence.clear(state.drawnLines) + TerminalSequence.showCursor)
    state.drawnLines = 0
  }

  private func draw(_ state: inout State) {
    guard let columns, !state.shown.isEmpty else { return }
    let lines = ProgressBoard(bars: state.shown.compactMap { state.items[$0]?.bar }).lines(
      width: columns, height: 16)
    _ = session.context.standardError(
      TerminalSequence.hideCursor + TerminalSequence.redraw(lines, over: state.drawnLines))
    state.drawnLines = lines.count
  }
}

/// Tells failures only.
struct FailuresSink: EventSink {
  let session: Session

  func emit(_ event: Event) {
    switch event {
    case .downloadContent(let progress, let error?):
      session.tell(
        error.mediaContentKey == nil && !progress.mediaContentKey.isEmpty
          ? error.of(progress.mediaContentKey) : error)
    case .drmUpdate(_, _, _, let error?): session.tell(error)
    case .lmsData(_, let result): result.error.map { session.tell($0.of(result.mediaContentKey)) }
    case .downloadContent, .drmRequest, .drmUpdate, .sendCompleteStoredLms, .note: break
    }
  }
}

extension Session {
  /// The display that the common inputs ask for, and what ends it.
  func display() -> (sink: any EventSink, close: @Sendable () -> Void) {
    if common.events != nil {
      let now = context.now
      // One JSON document on standard output leaves the other stream to the events.
      if common.json { return (JSONLinesSink(now: now) { _ = self.context.standardError($0) }, {}) }
      return (JSONLinesSink(now: now) { self.write($0) }, {})
    }
    if common.json { return (SilentSink(), {}) }
    if common.quiet { return (FailuresSink(session: self), {}) }
    let lines = LinesSink(self)
    return (lines, { lines.close() })
  }

  /// The same display for a command that changes or finds something: what it is told is kept in the log as well.
  func display(logging home: Home) -> (sink: any EventSink, close: @Sendable () -> Void) {
    let display = display()
    return (LoggingSink(display.sink, EventLog(home, now: context.now)), display.close)
  }
}
