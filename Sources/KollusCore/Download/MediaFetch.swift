import CurlKit
import SealKit
import Synchronization
import SystemKit

/// Brings the missing segments of one content: several transfers, then hash, compare, seal and write on
/// the worker threads.
struct MediaFetch: Sendable {
  let engine: TransferEngine
  let workers: WorkerThreads
  let options: TransferOptions
  let file: SealedFile
  let fetch: FetchState
  let judge: MediaJudge
  let pool: BufferPool
  /// Bytes that libcurl asks of a socket at once.
  let bufferSize: Int

  /// Runs until every segment is stored or the verdict is set; then nothing is on its way any more.
  ///
  /// Throws `CancellationError` when the task was cancelled.
  func run() async throws {
    while !fetch.isComplete, fetch.verdict == nil {
      try await round()
      await fetch.settle()
      try Task.checkCancellation()
    }
  }

  /// Without digests, the first answer decides what the others are compared with.
  private var opensAtOnce: Bool { fetch.hasDigests }

  private func round() async throws {
    let gate = Gate(isOpen: opensAtOnce)
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for lane in 0..<min(fetch.connections, file.layout.segmentCount) {
          group.addTask {
            if lane > 0 { await gate.wait() }
            defer { gate.open() }
            try await self.lane(gate)
          }
        }
        // A verdict ends the other transfers at once: their bytes could not be used.
        while try await group.next() != nil {
          if fetch.verdict != nil { group.cancelAll() }
        }
      }
    } catch {
      await fetch.settle()
      try Task.checkCancellation()
      guard fetch.verdict != nil, error is CancellationError else { throw error }
    }
  }

  /// One transfer after another, until there is no work left.
  private func lane(_ gate: Gate) async throws {
    var held: SegmentReceiver.Piece?
    var heldFor: (mirror: Int, validator: Validator?)?
    defer { if let held { pool.giveBack(held.buffer) } }
    while true {
      let errand: FetchState.Errand
      switch fetch.next(holding: held?.index, now: WallClock.now()) {
      case .end: return
      case .wait(let delay):
        try await TaskThreads.sleep(for: delay)
        continue
      case .errand(let next): errand = next
      }
      // Half a segment may only be continued by the same object, or where a digest will judge it.
      let isSame =
        heldFor.map { $0.mirror == errand.mirror && $0.validator == errand.validator && $0.validator != nil }
        ?? false
      if let piece = held,
        errand.isWhole || piece.index != errand.segments.lowerBound || !(isSame || fetch.hasDigests)
      {
        pool.giveBack(piece.buffer)
        held = nil
      }
      let receiver = SegmentReceiver(
        errand, continuing: held, fetch: fetch, judge: judge, pool: pool,
        submit: { piece, source in seal(piece, source, errand) }, began: { gate.open() })
      held = nil
      let failure = try await perform(errand, receiver)
      let outcome = receiver.outcome()
      held = outcome.piece
      heldFor = (errand.mirror, outcome.validator)
      fetch.end(errand, partial: held?.index)
      // A whole segment whose body did not end as it should cannot be continued.
      if let piece = held, piece.buffer.count == file.layout.plainLength(piece.index) {
        pool.giveBack(piece.buffer)
        held = nil
      }
      if let failure { fetch.failed(errand, failure, now: WallClock.now()) }
    }
  }

  /// Makes the request; returns how it failed, or `nil` when it brought what it should or part of it.
  private func perform(_ errand: FetchState.Errand, _ receiver: SegmentReceiver) async throws
    -> TransferFailure?
  {
    var request = Request(errand.address, options: options)
    request.headers = ["Accept-Encoding: identity"]
    request.bufferSize = bufferSize
    if receiver.asksRange {
      request.headers.append("Range: bytes=\(receiver.first)-\(receiver.last)")
      if let validator = errand.validator { request.headers.append("If-Range: \(validator.text)") }
    }
    var failure: CurlError?
    do {
      _ = try await engine.perform(request, into: receiver)
      receiver.bodyEnded()
    } catch let error as CurlError {
      failure = error
    } catch {
      let piece = receiver.outcome().piece
      fetch.end(errand, partial: piece?.index)
      if let piece { pool.giveBack(piece.buffer) }
      throw error
    }
    let outcome = receiver.outcome()
    if let answer = outcome.answer, !outcome.isAccepted { return refusal(answer, errand) }
    if outcome.isOverlong {
      return refusal(.resized("it goes on after \(file.layout.size) bytes"), errand)
    }
    if outcome.isSatisfied, outcome.piece == nil { return nil }
    // Much of a segment that can be continued is progress, whatever ended the body.
    let canContinue = !errand.isWhole && (fetch.hasDigests || outcome.validator != nil)
    let hasGrown = canContinue && outcome.kept >= 64 << 10
    if hasGrown { fetch.advanced() }
    if let failure { return .transient(of: failure, errand.address) }
    if outcome.completed > 0 || hasGrown { return nil }
    return .transient(
      of: CurlError(code: CurlError.partialFile, message: "the body ended early"), errand.address)
  }

  private func refusal(_ answer: MediaAnswer, _ errand: FetchState.Errand) -> TransferFailure? {
    let shown = errand.address.display
    switch answer {
    case .body: return nil  // Not accepted: the verdict says why.
    case .noRanges: return .noRanges
    case .redirect(let target): return .redirect(target)
    case .changed(let how):
      return .changed(
        KollusError(.badData, code: KollusCode.damaged, "the object at \(shown) changed: \(how)"))
    case .resized(let how):
      return .foreign(
        KollusError(
          .badData, code: KollusCode.damaged, "media.size does not fit the object at \(shown): \(how)",
          hint: "tell the people who run the origin"))
    case .strayed(let status):
      return .denied(
        KollusError(
          .refused, code: KollusCode.storageBase - status,
          "\(shown) redirects to where it may not be followed",
          hint: "tell the people who run the origin: media go from https to https only"))
    case .denied(let status):
      return .denied(
        KollusError(
          .refused, code: KollusCode.storageBase - status, "\(shown) refuses the media (status \(status))",
          hint: "what is stored is kept; run again with a fresh URL or later"))
    case .foreign(let what):
      return .foreign(
        KollusError(
          .badData, code: KollusCode.mediaURL, "\(shown) answered with \(what) instead of the media",
          hint: "check the network: a sign-in page may stand between"))
    case .busy(let status, let retryAfter):
      return .transient(
        KollusError(
          .tryLater, code: KollusCode.storageBase - status, "\(shown) is busy (status \(status))",
          hint: "run the same command again later"), retryAfter: retryAfter)
    }
  }

  /// Hands a full segment to the workers.
  private func seal(_ piece: SegmentReceiver.Piece, _ source: SegmentSource, _ errand: FetchState.Errand) {
    workers.run {
      defer { pool.giveBack(piece.buffer) }
      let digest = piece.buffer.withBytes { SHA256.hash($0) }
      if let expected = fetch.expected(piece.index), expected != digest {
        fetch.mismatched(piece.index, errand)
        return
      }
      do {
        try file.write(piece.buffer, as: piece.index, digest: digest, source: source)
        fetch.sealed(piece.index, digest: digest)
      } catch let error as SystemError {
        fetch.notStored(piece.index, KollusError(error, code: KollusCode.saveData))
      } catch {
        fetch.notStored(piece.index, KollusError(.internalFailure, "cannot seal a segment: \(error)"))
      }
    }
  }
}

extension TransferFailure {
  /// Trust failures are the mirror's fault; everything else may pass.
  fileprivate static func transient(of error: CurlError, _ address: WebAddress) -> TransferFailure {
    let failure = KollusError(error, address: address)
    switch failure.kind {
    case .refused: return .denied(failure)
    case .configuration: return .fatal(failure)
    default: return .transient(failure, retryAfter: nil)
    }
  }
}

/// Holds tasks back until it is opened, once.
private final class Gate: Sendable {
  private let state: Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>

  init(isOpen: Bool) { state = Mutex((isOpen, [])) }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isOpen = true
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
