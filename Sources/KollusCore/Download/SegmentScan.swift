import SealKit
import Synchronization
import SystemKit

/// What a sealed file holds, found by reading it: nothing unverified is trusted.
struct SegmentScan: Sendable {
  /// For each segment whether it is present and sound.
  var done: [Bool]
  /// Segments that are there but not sound.
  var damaged: [Int] = []
  /// The object the sound segments came from, where digests do not tell.
  var source: SegmentSource?
  /// The last sound segment and its digest as first seen.
  var lastDigest: (index: Int, digest: Digest)?

  static func empty(count: Int) -> SegmentScan { SegmentScan(done: Array(repeating: false, count: count)) }

  /// Bytes of the sound segments.
  func size(_ layout: SealedLayout) -> Int64 {
    done.indices.reduce(0) { $0 + (done[$1] ? Int64(layout.plainLength($1)) : 0) }
  }
}

extension SealedFile {
  /// Reads every segment, on three threads, and checks it against its tag and, where given, its digest.
  ///
  /// Without `digests`, only segments of one object with a strong validator are kept when the file is not
  /// known to be complete (`isPartial`): the others cannot be joined with what a server has now.
  func scan(digests: [Digest], isPartial: Bool) async throws -> SegmentScan {
    let work = ScanWork(count: layout.segmentCount)
    let threads = WorkerThreads(min(3, max(1, layout.segmentCount / 4)))
    defer { threads.close() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        let count = min(3, max(1, layout.segmentCount / 4))
        work.begin(threads: count, done)
        for _ in 0..<count { threads.run { self.check(work, digests: digests) } }
      }
    } onCancel: {
      work.stop()
    }
    try Task.checkCancellation()
    return work.result(joining: digests.isEmpty && isPartial)
  }

  private func check(_ work: ScanWork, digests: [Digest]) {
    let buffer = AlignedBuffer(capacity: BufferPool.bufferSize(segmentSize: layout.segmentSize))
    do throws(SystemError) {
      while let index = work.next() {
        guard let record = try read(index, into: buffer) else {
          work.found(index, isSound: false, record: nil)
          continue
        }
        let digest = buffer.withBytes { SHA256.hash($0) }
        let isRight = digests.isEmpty ? record.digest.map { $0 == digest } ?? true : digests[index] == digest
        work.found(index, isSound: isRight, record: Record(digest: digest, source: record.source))
      }
      work.end(nil)
    } catch {
      work.end(error)
    }
  }
}

/// The shared part of a scan.
private final class ScanWork: Sendable {
  private struct State {
    var next = 0
    var isStopped = false
    var scan: SegmentScan
    var sources: [SegmentSource: Int] = [:]
    /// What is known of each sound segment; only kept where sources decide.
    var records: [Int: SealedFile.Record] = [:]
    var threads = 0
    var failure: SystemError?
    var done: CheckedContinuation<Void, any Error>?
  }

  private let count: Int
  private let state: Mutex<State>

  init(count: Int) {
    self.count = count
    state = Mutex(State(scan: .empty(count: count)))
  }

  func begin(threads: Int, _ done: CheckedContinuation<Void, any Error>) {
    state.withLock { ($0.threads, $0.done) = (threads, done) }
  }

  func stop() { state.withLock { $0.isStopped = true } }

  func next() -> Int? {
    state.withLock { state in
      guard state.next < count, !state.isStopped, state.failure == nil else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  func found(_ index: Int, isSound: Bool, record: SealedFile.Record?) {
    state.withLock { state in
      state.scan.done[index] = isSound
      if isSound {
        if let source = record?.source {
          state.sources[source, default: 0] += 1
        }
        state.records[index] = record
        if let digest = record?.digest, index >= state.scan.lastDigest?.index ?? 0 {
          state.scan.lastDigest = (index, digest)
        }
      } else {
        state.scan.damaged.append(index)
      }
    }
  }

  func end(_ failure: SystemError?) {
    let done = state.withLock { state -> (CheckedContinuation<Void, any Error>, SystemError?)? in
      if let failure { state.failure = failure }
      state.threads -= 1
      guard state.threads == 0, let done = state.done else { return nil }
      state.done = nil
      return (done, state.failure)
    }
    guard let (done, failure) = done else { return }
    if let failure {
      done.resume(throwing: KollusError(failure, code: KollusCode.readFile))
    } else {
      done.resume()
    }
  }

  func result(joining: Bool) -> SegmentScan {
    state.withLock { state in
      var scan = state.scan
      scan.damaged.sort()
      guard joining else { return scan }
      let best = state.sources.filter { $0.key.validator != nil }.max { $0.value < $1.value }?.key
      // Segments of several places with one validator were proved to be of one object when they were joined.
      for index in scan.done.indices
      where scan.done[index] && (best == nil || state.records[index]?.source?.validator != best?.validator) {
        scan.done[index] = false
      }
      scan.source = best
      scan.lastDigest = scan.done.lastIndex(of: true).flatMap { index in
        state.records[index]?.digest.map { (index, $0) }
      }
      return scan
    }
  }
}

extension SegmentScan {
  /// `segments 3, 7 and 12 more are damaged`.
  static func text(of damaged: [Int]) -> String {
    let named = damaged.prefix(5).map(String.init).joined(separator: ", ")
    let rest = damaged.count > 5 ? " and \(damaged.count - 5) more" : ""
    return damaged.count == 1 ? "segment \(named) is damaged" : "segments \(named)\(rest) are damaged"
  }
}
