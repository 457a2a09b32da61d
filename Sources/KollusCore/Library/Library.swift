import Dispatch
import Glibc
import SQLiteKit
import SystemKit

/// The catalog of contents, kept in one SQLite file that several processes may use at once.
///
/// SQLite blocks, so the actor runs on its own queue and never on the shared thread pool. Writes that
/// arrive while one is being committed share the next commit.
package actor Library {
  typealias Change = @Sendable (borrowing Connection) throws(SQLiteError) -> Void

  private struct Pending {
    let change: Change
    let commit: Commit
    let done: CheckedContinuation<Void, any Error>
  }

  /// Changes for the same commit.
  ///
  /// The first comes at once; those that follow in a rush share one every `interval`, which costs a lone change nothing and a thousand of them little.
  private struct Queue {
    let interval: Duration
    var pending: [Pending] = []
    var isDue = false
    var last: ContinuousClock.Instant?
  }

  /// What a change waits for.
  enum Commit: Int, Comparable, Sendable {
    /// The commit survives the process.
    case ordered
    /// It survives a power cut.
    case durable
    /// So do all files written before it.
    case durableWithFiles

    static func < (one: Commit, other: Commit) -> Bool { one.rawValue < other.rawValue }
  }

  let db: Connection
  package nonisolated let home: Home
  /// The device clock, in seconds since 1970.
  package nonisolated let now: @Sendable () -> Double
  /// What was found again when the library was opened and had been lost; `nil` otherwise.
  package nonisolated let recovery: Recovery?
  private nonisolated let executor: QueueExecutor
  /// Changes that only need to survive the process, and those that wait for the disk.
  private var quick = Queue(interval: .milliseconds(4))
  private var durable = Queue(interval: .milliseconds(20))

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Opens the library of `home`, making or migrating it; one written by a newer version is refused.
  package init(_ home: Home, now: @escaping @Sendable () -> Double = { WallClock.now() }) throws(KollusError)
  {
    (self.home, self.now) = (home, now)
    executor = QueueExecutor(label: "kollus.library")
    var recovery: Recovery?
    db = try Self.open(home, &recovery)
    self.recovery = recovery
  }

  private static func open(_ home: Home, _ recovery: inout Recovery?) throws(KollusError) -> Connection {
    do {
      try Files.makeFolder(home.path)
      let lock = try waitForSetup(home)
      defer { withExtendedLifetime(lock) {} }
      // Made with its mode before SQLite sees it; the log files take theirs from it.
      if try Files.information(home.libraryPath).map({ $0.size == 0 }) ?? true {
        _ = try File(home.libraryPath, O_RDWR | O_CREAT)
        try home.keepStrayLog()
      }
      let db = try connect(home)
      try Schema.migrator.migrate(db)
      recovery = try db.settle(in: home).flatMap { $0.isEmpty ? nil : $0 }
      makeBallast(home)
      return db
    } catch let error as Migrator.NewerSchema {
      throw KollusError(
        .configuration, code: KollusCode.openDatabase,
        "the home \(home.path) was written by a newer version (schema \(error.version), this one knows \(error.known))",
        hint:
          "update kollus, or choose another folder with --home; if no newer version was ever here, run 'kollus doctor'"
      )
    } catch let error as SQLiteError {
      throw KollusError(error, path: home.libraryPath).hinting(Home.doctorHint)
    } catch let error as SystemError {
      throw KollusError(error, code: KollusCode.openDatabase).hinting(Home.doctorHint)
    } catch let error as KollusError {
      throw error
    } catch {
      throw KollusError(.internalFailure, "\(error)")
    }
  }

  /// On a full disk the room kept for last words makes way: whoever wants to free space needs the library.
  private static func connect(_ home: Home) throws(SQLiteError) -> Connection {
    do throws(SQLiteError) {
      return try Connection(path: home.libraryPath)
    } catch {
      guard error.isNoSpace, releaseBallast(home) else { throw error }
      return try Connection(path: home.libraryPath)
    }
  }

  /// Making a database and setting its journal mode is not safe for two processes at once.
  private static func waitForSetup(_ home: Home) throws(KollusError) -> ByteLock {
    for _ in 0..<1_000 {
      if let lock = try home.setupLock() { return lock }
      usleep(10_000)
    }
    throw KollusError(
      .tryLater, "\(home.libraryPath) is being set up by another process", hint: "run the command again")
  }

  // MARK: Writing

  /// Makes `change` part of the next commit and returns its result once that has happened.
  func record<Result: Sendable>(
    _ commit: Commit = .ordered,
    _ change: @escaping @Sendable (borrowing Connection) throws(SQLiteError) -> Result
  ) async throws -> Result {
    let result = Protected<Result?>(nil)
    try await withCheckedThrowingContinuation { done in
      let change: Change = { db throws(SQLiteError) in
        let value = try change(db)
        result.withLock { $0 = value }
      }
      let job = Pending(change: change, commit: commit, done: done)
      if commit == .ordered {
        quick.pending.append(job)
        schedule(&quick) { library in library.take(&library.quick) }
      } else {
        durable.pending.append(job)
        schedule(&durable) { library in library.take(&library.durable) }
      }
    }
    guard let value = result.withLock({ $0 }) else {
      throw KollusError(.internalFailure, "a change was committed without being made")
    }
    return value
  }

  /// Sees to it that the queue is committed, now or when its interval has passed.
  private func schedule(
    _ queue: inout Queue, _ take: @escaping @Sendable (isolated Library) -> [Pending]
  ) {
    guard !queue.isDue else { return }
    queue.isDue = true
    let time = queue.last.map { $0 + queue.interval }
    Task(executorPreference: TaskThreads.executor) {
      // The task is nobody's to cancel, so the sleep only ends with its time.
      if let time, time > .now { try? await TaskThreads.sleep(for: ContinuousClock.now.duration(to: time)) }
      await self.drain(take)
    }
  }

  private func take(_ queue: inout Queue) -> [Pending] {
    defer { queue.pending = [] }
    queue.isDue = false
    queue.last = .now
    return queue.pending
  }

  private func drain(_ take: (isolated Library) -> [Pending]) async {
    let group = take(self)
    if group.contains(where: { $0.commit == .durableWithFiles }) { await synchronizeFiles() }
    let result = Result { () throws(KollusError) in try commit(group) }
    for job in group { job.done.resume(with: result) }
  }

  private func commit(_ group: [Pending]) throws(KollusError) {
    do throws(SQLiteError) {
      try attempt(group)
    } catch {
      // A full disk must not cost the last word on a state: give back the room kept for it.
      guard error.isNoSpace, Self.releaseBallast(home) else {
        throw KollusError(error, path: home.libraryPath)
      }
      do throws(SQLiteError) {
        try attempt(group)
      } catch {
        throw KollusError(error, path: home.libraryPath)
      }
    }
  }

  private func attempt(_ group: [Pending]) throws(SQLiteError) {
    let commit = group.map(\.commit).max() ?? .ordered
    if commit > .ordered { try db.setDurability(.durable) }
    // Should this fail, later commits are more durable than asked, which is harmless.
    defer { if commit > .ordered { try? db.setDurability(.ordered) } }
    try db.transaction { db throws(SQLiteError) in
      for job in group { try job.change(db) }
    }
  }

  /// Waits for the disk on a thread of its own: what others ask of the library goes on meanwhile.
  private func synchronizeFiles() async {
    let path = home.mediaPath
    await withCheckedContinuation { done in
      Thread.start {
        // A failure shows as damage when the file is next read, never as wrong bytes.
        try? File(path, O_RDONLY).synchronizeFileSystem()
        done.resume()
      }
    }
  }

  // MARK: Room for the last write on a full disk

  private static func makeBallast(_ home: Home) {
    let path = "\(home.path)/ballast"
    // Best effort: without it, only a write on a full disk may fail.
    if let found = try? Files.information(path), found.size > 0 { return }
    try? File(path, O_RDWR | O_CREAT).reserve(256 << 10)
  }

  private static func releaseBallast(_ home: Home) -> Bool {
    (try? Files.remove("\(home.path)/ballast")) != nil
  }
}

/// Runs an actor's jobs on a queue of its own.
private final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
