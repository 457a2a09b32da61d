import CurlKit

/// Wants nothing but the head of an answer, and no more of its body than keeps the connection of use.
final class StatusReceiver: BodyReceiver {
  private static let limit = 1 << 20

  private let state = Protected<(head: ResponseHead?, count: Int)>((nil, 0))

  var head: ResponseHead? { state.withLock { $0.head } }
  var canResume: Bool { true }

  func begin(_ head: ResponseHead) -> Bool {
    state.withLock { $0.head = head }
    return true
  }

  func receive(_ bytes: RawSpan) -> Reception {
    state.withLock { state in
      state.count += bytes.byteCount
      return state.count <= Self.limit ? .taken : .refused
    }
  }
}
