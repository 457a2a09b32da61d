import Synchronization
import SystemKit

/// The segment buffers of one download: their number bounds its memory.
final class BufferPool: Sendable {
  private struct State {
    var free: [AlignedBuffer]
    var isShort = false
  }

  private let state: Mutex<State>
  private let spare: SpareBuffers
  private let wake: @Sendable () -> Void

  /// Memory of one buffer for segments of this many plain bytes; few sizes, so that buffers can be used again.
  static func bufferSize(segmentSize: Int) -> Int {
    let step = 64 << 10
    return (segmentSize + step - 1) / step * step + SealedLayout.page
  }

  /// `wake` is called when a buffer comes back after someone went without.
  init(count: Int, segmentSize: Int, from spare: SpareBuffers, wake: @escaping @Sendable () -> Void) {
    let size = Self.bufferSize(segmentSize: segmentSize)
    state = Mutex(State(free: (0..<count).map { _ in spare.take(size) }))
    (self.spare, self.wake) = (spare, wake)
  }

  deinit {
    for buffer in state.withLock({ $0.free }) { spare.giveBack(buffer) }
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

/// Buffers of downloads that have ended, kept for the next: fresh memory costs a fault for each page.
final class SpareBuffers: Sendable {
  private static let limit = 8 << 20
  private let state = Mutex<(idle: [Int: [AlignedBuffer]], bytes: Int)>(([:], 0))

  func take(_ capacity: Int) -> AlignedBuffer {
    let found = state.withLock { state -> AlignedBuffer? in
      guard let buffer = state.idle[capacity]?.popLast() else { return nil }
      state.bytes -= capacity
      return buffer
    }
    return found ?? AlignedBuffer(capacity: capacity)
  }

  func giveBack(_ buffer: AlignedBuffer) {
    state.withLock { state in
      guard state.bytes + buffer.capacity <= Self.limit else { return }
      state.bytes += buffer.capacity
      state.idle[buffer.capacity, default: []].append(buffer)
    }
  }
}
