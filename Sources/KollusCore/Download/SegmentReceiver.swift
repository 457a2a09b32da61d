import CurlKit
import Synchronization
import SystemKit

/// Sorts the body of one media request into segment buffers.
///
/// Bytes are kept only where the answer's own range puts them, and only for segments that are wanted.
/// Every call comes from the engine's thread; the lock is for the one look at the end.
final class SegmentReceiver: BodyReceiver {
  /// The beginning of a segment whose end has not come yet.
  struct Piece: Sendable {
    let index: Int
    let buffer: AlignedBuffer
  }

  private struct State {
    var answer: MediaAnswer?
    var source: SegmentSource?
    var isAccepted = false
    /// Where the next byte belongs in the object.
    var position: Int64 = 0
    /// Last byte that the answer says it brings.
    var end: Int64 = 0
    /// Whether only the body's end tells how long the object is: the last segment then waits for it.
    var awaitsEnd = false
    var isOverlong = false
    var piece: Piece?
    /// Bytes of the delivery that comes again which were already used.
    var used = 0
    /// Bytes put into segments that were wanted, and segments made whole.
    var kept: Int64 = 0
    var completed = 0
  }

  let errand: FetchState.Errand
  /// First byte asked for.
  let first: Int64
  private let fetch: FetchState
  private let judge: MediaJudge
  private let pool: BufferPool
  private let submit: @Sendable (Piece, SegmentSource) -> Void
  private let began: @Sendable () -> Void
  private let state: Mutex<State>

  init(
    _ errand: FetchState.Errand, continuing piece: Piece?, fetch: FetchState, judge: MediaJudge,
    pool: BufferPool,
    submit: @escaping @Sendable (Piece, SegmentSource) -> Void, began: @escaping @Sendable () -> Void
  ) {
    (self.errand, self.fetch, self.judge, self.pool) = (errand, fetch, judge, pool)
    (self.submit, self.began) = (submit, began)
    first =
      errand.isWhole
      ? 0 : fetch.layout.plainOffset(errand.segments.lowerBound) + Int64(piece?.buffer.count ?? 0)
    state = Mutex(State(piece: piece))
  }

  /// Whether the request names a range; one for everything, of an object not met before, need not.
  var asksRange: Bool {
    let isAll = first == 0 && errand.segments.count == fetch.layout.segmentCount
    return !errand.isWhole && !(isAll && errand.validator == nil)
  }

  /// Last byte asked for.
  var last: Int64 {
    fetch.layout.plainOffset(errand.segments.upperBound - 1)
      + Int64(fetch.layout.plainLength(errand.segments.upperBound - 1)) - 1
  }

  /// What came of a request.
  struct Outcome {
    let answer: MediaAnswer?
    let isAccepted: Bool
    /// Bytes put into segments that were wanted.
    let kept: Int64
    /// Segments made whole.
    let completed: Int
    /// Whether the body went to the end of what was asked for.
    let isSatisfied: Bool
    /// The beginning of a segment whose end did not come.
    let piece: Piece?
    /// What the object is known by, from this answer or from before.
    let validator: Validator?
    /// Whether a body without a length went on past the object's end.
    let isOverlong: Bool
  }

  /// Hands over the last segment of a body that has ended where it should.
  func bodyEnded() {
    let held = state.withLock { state -> (Piece, SegmentSource)? in
      guard state.awaitsEnd, let piece = state.piece, let source = state.source,
        piece.buffer.count == fetch.layout.plainLength(piece.index)
      else { return nil }
      state.piece = nil
      state.completed += 1
      return (piece, source)
    }
    guard let (piece, source) = held else { return }
    if fetch.arrived(piece.index) { submit(piece, source) } else { pool.giveBack(piece.buffer) }
  }

  func outcome() -> Outcome {
    state.withLock { state in
      Outcome(
        answer: state.answer, isAccepted: state.isAccepted, kept: state.kept, completed: state.completed,
        isSatisfied: state.isAccepted && state.position > last, piece: state.piece,
        validator: state.source?.validator, isOverlong: state.isOverlong)
    }
  }

  var canResume: Bool { pool.isReady }

  func begin(_ head: ResponseHead) -> Bool {
    let answer = judge.judge(
      head, from: errand.address, first: asksRange ? first : nil, validator: errand.validator,
      now: WallClock.now())
    var isAccepted = false
    let validator = Validator(head)
    var end = first - 1
    if case .body(_, let through) = answer {
      end = through
      isAccepted = fetch.accept(errand, validator: validator, isPlain: !asksRange)
    }
    state.withLock { state in
      state.answer = answer
      state.isAccepted = isAccepted
      state.position = first
      state.end = end
      state.awaitsEnd = head.status == 200 && head["content-length"] == nil && !fetch.hasDigests
      state.source = SegmentSource(errand.address, validator: validator ?? errand.validator)
    }
    if isAccepted { began() }
    return isAccepted
  }

  func receive(_ bytes: RawSpan) -> Reception {
    state.withLock { state in
      var offset = min(state.used, bytes.byteCount)
      while offset < bytes.byteCount {
        guard state.position <= min(last, state.end) else {
          state.isOverlong = state.awaitsEnd
          return .refused
        }
        let index = fetch.layout.segment(at: state.position)
        let within = Int(state.position - fetch.layout.plainOffset(index))
        let length = fetch.layout.plainLength(index)
        if state.piece == nil, within == 0, !errand.isWhole || fetch.isWanted(index) {
          guard let buffer = pool.take() else {
            state.used = offset
            return .later
          }
          // Range requests have claimed their segments; a whole body claims as it goes.
          if !errand.isWhole || fetch.claim(index) {
            state.piece = Piece(index: index, buffer: buffer)
          } else {
            pool.giveBack(buffer)
          }
        }
        let count = min(
          length - within, bytes.byteCount - offset, Int(min(last, state.end) - state.position) + 1)
        if let piece = state.piece, piece.index == index {
          piece.buffer.append(bytes.extracting(offset..<offset + count))
          state.kept += Int64(count)
          let waits = state.awaitsEnd && index == fetch.layout.segmentCount - 1
          if within + count == length, !waits, let source = state.source {
            state.piece = nil
            state.completed += 1
            if fetch.arrived(index) { submit(piece, source) } else { pool.giveBack(piece.buffer) }
          }
        }
        offset += count
        state.position += Int64(count)
      }
      state.used -= min(state.used, bytes.byteCount)
      return .taken
    }
  }
}
