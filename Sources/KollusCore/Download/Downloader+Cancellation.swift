import SystemKit

/// Downloads that somebody else asks to give up, with `Library.cancel`.
extension Downloader {
  static let cancelled = KollusError(
    .interrupted, code: KollusCode.cancelled, "the download was cancelled, and what it held dropped",
    hint: "'kollus download' begins it anew")

  /// Looks for such wishes until the task is cancelled.
  func watchForCancellations() async {
    while (try? await TaskThreads.sleep(for: .milliseconds(250))) != nil {
      // A look that failed is made up for by the next one.
      guard cancellations.hasWork, let ids = try? await library.cancellations(), !ids.isEmpty else {
        continue
      }
      cancellations.end(ids)
    }
  }

  /// Does the work on a content whose lock is held; when it is asked to end, what is held is dropped.
  func cancellably<Result: Sendable>(
    _ content: Content, _ work: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      return try await cancellations.run(content.id, work)
    } catch let requested as Cancellations.Requested {
      // What became ready in the last moment stays.
      guard try await library.giveUp(content) else { throw requested.error }
      throw Self.cancelled
    }
  }
}
