import Synchronization

/// Something of which there is so much and no more, such as memory or places; who finds too little waits.
final class Allotment: Sendable {
  private struct State {
    var free: Int
    var waiting: [(amount: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// What there is to share out.
  let total: Int
  private let state: Mutex<State>

  init(_ total: Int) {
    self.total = total
    state = Mutex(State(free: total))
  }

  /// Waits for `amount`, at most the total, runs `body` and gives them back.
  func with<Result: Sendable>(_ amount: Int, _ body: () async throws -> Result) async rethrows -> Result {
    await take(amount)
    defer { giveBack(amount) }
    return try await body()
  }

  /// Waits for `amount`, at most the total, which is then the caller's to give back; first come, first served.
  func take(_ amount: Int) async {
    let amount = min(amount, total)
    await withCheckedContinuation { continuation in
      let isGiven = state.withLock { state in
        guard state.waiting.isEmpty, state.free >= amount else {
          state.waiting.append((amount, continuation))
          return false
        }
        state.free -= amount
        return true
      }
      if isGiven { continuation.resume() }
    }
  }

  func giveBack(_ amount: Int) {
    let amount = min(amount, total)
    let ready = state.withLock { state in
      state.free += amount
      var ready: [CheckedContinuation<Void, Never>] = []
      while let first = state.waiting.first, first.amount <= state.free {
        state.free -= first.amount
        ready.append(state.waiting.removeFirst().continuation)
      }
      return ready
    }
    for continuation in ready { continuation.resume() }
  }
}

/// Runs `body` over `items`, at most `limit` at once; results come in the order of the items.
///
/// Before an item is begun, `admit` is waited for: they are begun in their order.
func mapConcurrently<Item: Sendable, Result: Sendable>(
  _ items: [Item], limit: Int, admit: (Item) async -> Void = { _ in },
  _ body: @escaping @Sendable (Item) async -> Result
) async -> [Result] {
  await withTaskGroup(of: (Int, Result).self) { group in
    var results = [Result?](repeating: nil, count: items.count)
    var next = 0
    while next < min(limit, items.count) {
      let index = next
      await admit(items[index])
      group.addTask { (index, await body(items[index])) }
      next += 1
    }
    while let (index, result) = await group.next() {
      results[index] = result
      guard next < items.count else { continue }
      let following = next
      await admit(items[following])
      group.addTask { (following, await body(items[following])) }
      next += 1
    }
    return results.compactMap { $0 }
  }
}
