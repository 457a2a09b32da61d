import JSONKit
import KollusCore

/// What is done to one content after another: one failure does not keep the rest from being done.
struct KeyBatch {
  private let session: Session
  /// The member that says whether it was done.
  private let done: String
  private var tally = BatchTally()
  private var writer = JSONWriter()

  init(_ session: Session, done: String) {
    (self.session, self.done) = (session, done)
    writer.beginArray()
  }

  /// Whether nothing was noted so far.
  var isEmpty: Bool { tally.count == 0 }

  /// Does something to a content and notes how it went; `true` when the whole command is to end.
  ///
  /// `members` are written before the error. What is only rehearsed is not done.
  mutating func run(
    _ key: String, isRehearsal: Bool = false, members: (inout JSONWriter) -> Void = { _ in },
    work: () async throws -> Void
  ) async -> Bool {
    var failure: KollusError?
    do {
      try Task.checkCancellation()
      try await work()
    } catch {
      failure = Failure.of(error).of(key)
    }
    add(key, failure, isDone: !isRehearsal, members: members)
    return failure?.kind == .interrupted && Task.isCancelled
  }

  /// Notes how it went with a content.
  mutating func add(
    _ key: String, _ failure: KollusError?, isDone: Bool = true,
    members: (inout JSONWriter) -> Void = { _ in }
  ) {
    tally.count += 1
    if let failure {
      tally.add(failure)
      session.tell(failure)
    }
    writer.beginObject()
    // A word that is no key of the library may be a URL put in the wrong place.
    writer.member("mediaContentKey", failure?.kind == .unknownContent ? key.withoutTokens : key)
    writer.member(done, failure == nil && isDone)
    members(&writer)
    writer.member(error: failure)
    writer.endObject()
  }

  /// Prints the document where one is wanted, and returns the exit status.
  mutating func end() -> Int32 {
    writer.endArray()
    if session.common.json { session.write(json: writer.text) }
    return tally.status
  }
}
