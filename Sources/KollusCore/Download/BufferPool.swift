import Synchronization
import SystemKit

/// The segment buffers of one download: their number bounds its memory.
final class BufferPool: Sendable {
  private struct State {
    var free: [AlignedBuffer]
    var isShort = false
  }

  private let state: Mutex<State>
  private let wake: @Sendable () -> Void

  /// Memory of one buffer for segments of this many plain bytes.
  static func bufferSize(segmentSize: Int) -> Int { SealedLayout.padded(segmentSize) + SealedLayout.page }

  /// `wake` is called when a buffer comes back after someone went without.
  init(count: Int, segmentSize: Int, wake: @escaping @Sendable () -> Void) {
    let size = Self.bufferSize(segmentSize: segmentSize)
    state = Mutex(State(free: (0..<count).map { _ in AlignedBuffer(capacity: size) }))
    self.wake = wake
  }

  /// An empty buffer, or `nil` when none is free: then `wake` will be called.
  func take() -> AlignedBuffer? {
    state.withLock { state in
      guard let buffer = state.free.popLast() else {
        state.isShort = true
        return nil
      }
      buffer.count = 0
      return buffer
    }
  }

  func giveBack(_ buffer: AlignedBuffer) {
    let isAwaited = state.withLock { state in
      defer { state.isShort = false }
      state.free.append(buffer)
      return state.isShort
    }
    if isAwaited { wake() }
  }

  /// Whether `take` would succeed; when not, `wake` will be called.
  var isReady: Bool {
    state.withLock { state in
      if state.free.isEmpty { state.isShort = true }
      return !state.free.isEmpty
    }
  }
}
