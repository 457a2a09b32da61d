import SystemKit

/// The contents that one run works on, with what ends the work on each.
final class Cancellations: Sendable {
  /// Thrown in the place of what a piece of work threw after it was asked to end.
  struct Requested: Error {
    let error: any Error
  }

  private struct Work {
    let cancel: @Sendable () -> Void
    var isAsked = false
  }

  private let works = Protected<[Int64: Work]>([:])

  /// Whether anything is under way that could be ended.
  var hasWork: Bool { works.withLock { !$0.isEmpty } }

  /// Does the work on a content, which `end` cancels as the caller's own cancellation does.
  func run<Result: Sendable>(
    _ id: Int64, _ work: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task(executorPreference: TaskThreads.executor) { try await work() }
    works.withLock { $0[id] = Work { task.cancel() } }
    defer { works.withLock { $0[id] = nil } }
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch {
      throw works.withLock { $0[id]?.isAsked ?? false } ? Requested(error: error) : error
    }
  }

  /// Ends the work on these contents, as far as there is any.
  func end(_ ids: [Int64]) {
    let cancels = works.withLock { works in
      ids.compactMap { id in
        works[id]?.isAsked = true
        return works[id]?.cancel
      }
    }
    for cancel in cancels { cancel() }
  }
}
