import CurlKit

/// Which callbacks are worth asking within one run.
final class CallbackHealth: Sendable {
  /// After so many requests in a row that nobody answered, all tries included, nobody is asked any more.
  private static let silences = 3
  /// After so many that came to nothing in one way or another, statuses included.
  private static let misses = 10

  private let answered = Protected<Set<WebAddress>>([])
  private let states = Protected<[WebAddress: (misses: Int, refusal: DRMClient.Unanswered?)]>([:])

  /// Why the callback is not to be asked now.
  func refusal(of address: WebAddress) -> DRMClient.Unanswered? { states.withLock { $0[address]?.refusal } }

  /// Whether this callback answers for the first time in the run.
  func isFirstAnswer(of address: WebAddress) -> Bool { answered.withLock { $0.insert(address).inserted } }

  func noteAnswer(of address: WebAddress) {
    states.withLock { states in
      // Patience that was asked for is not called off by the answer to a request that was already under way.
      if states[address]?.refusal?.notBefore == nil { states[address] = nil }
    }
  }

  func note(_ unanswered: DRMClient.Unanswered, of address: WebAddress) {
    states.withLock { states in
      var state = states[address] ?? (0, nil)
      state.misses += 1
      // A status is an answer of sorts: another request may fare better. Silence is not, and patience was asked for.
      let isSilent = KollusCode.drmCallbackBase - unanswered.error.code < 100
      if unanswered.notBefore != nil || state.misses >= (isSilent ? Self.silences : Self.misses) {
        state.refusal = unanswered
      }
      states[address] = state
    }
  }
}
