import CurlKit
import SealKit
import Synchronization
import SystemKit

/// Why the transfers of a download were ended.
enum FetchVerdict: Sendable {
  /// The manifest must be had again before anything else.
  case resolve(ResolveReason, KollusError)
  /// What is stored cannot be joined with what the server has: begin anew.
  case startOver(String)
  /// Nothing more can be done in this run; with the time before which the server wants no call.
  case fail(KollusError, notBefore: Int64 = 0)
}

/// Why a manifest must be had again.
enum ResolveReason: Sendable {
  /// The object is known by another validator than before.
  case changed
  /// Every URL was refused, showed something else, or another length or other bytes than the manifest says.
  case unusable
}

/// What earlier attempts of a run have taught about an object's servers.
struct FetchCaution: Sendable {
  /// Mirrors that showed other bytes than the manifest's digest stands for.
  var avoided: [WebAddress: KollusError] = [:]
  /// One plain GET of everything: validators change with every answer, so nothing can be joined.
  var isPlain = false
  /// Digests judge every segment, whatever the validators say.
  var ignoresValidators = false
}

/// What the transfers of one download share: plan, mirrors, failures and the verdict.
///
/// A class around one `Mutex`; every method may be called from any thread.
final class FetchState: Sendable {
  /// One of the manifest's URLs.
  struct Mirror: Sendable {
    let address: WebAddress
    /// Where a redirect led, until that fails.
    var target: WebAddress?
    /// Redirects followed since an answer was of use.
    var redirects = 0
    /// What the object is known by here; told with every request.
    var validator: Validator?
    var answersRanges = true
    /// Why it is not used any more in this round.
    var fault: KollusError?
    /// Unix seconds before which it wants no call.
    var notBefore = 0.0
  }

  /// A piece of work for one transfer.
  struct Errand: Sendable {
    let id: Int
    let mirror: Int
    let address: WebAddress
    let validator: Validator?
    /// Segments to ask for, or all that are missing when `isWhole`.
    let segments: Range<Int>
    /// One plain GET of everything.
    let isWhole: Bool
    /// Failures known when it began; older ones are not counted twice.
    let epoch: Int
  }

  struct State {
    var plan: SegmentPlan
    var mirrors: [Mirror]
    var current = 0
    var patience: Patience
    var epoch = 0
    /// Unix seconds before which no transfer begins.
    var resumeAt = 0.0
    var verdict: FetchVerdict?
    var isWholeTaken = false
    /// The object that the stored segments came from; `nil` while there are none or digests tell.
    var joined: SegmentSource?
    /// Digests as first seen, to prove another source by.
    var proof: (index: Int, digest: Digest)?
    var mismatches: [Int: Int] = [:]
    /// Mirrors tried since the last wait.
    var sweep = 0
    var sealing = 0
    /// Errands whose body is being taken.
    var accepted: Set<Int> = []
    var errands = 0
    var settled: CheckedContinuation<Void, Never>?
    /// Bytes of the segments that are done.
    var held: Int64
    /// What was told: never falls.
    var progress: Int64
  }

  let layout: SealedLayout
  let digests: [Digest]
  let connections: Int
  let state: Mutex<State>
  private let ignoresValidators: Bool
  let told: @Sendable (FetchNews) -> Void

  init(
    layout: SealedLayout, media: Manifest.Media, scan: SegmentScan, settings: Settings, progress: Int64,
    preferring preferred: WebAddress? = nil, caution: FetchCaution = FetchCaution(),
    told: @escaping @Sendable (FetchNews) -> Void
  ) {
    self.layout = layout
    digests = media.segments
    connections = settings.connections
    self.told = told
    ignoresValidators = caution.ignoresValidators
    var mirrors = media.addresses.map { Mirror(address: $0, answersRanges: !caution.isPlain) }
    for index in mirrors.indices { mirrors[index].fault = caution.avoided[mirrors[index].address] }
    if let source = scan.source, let validator = source.validator {
      for index in mirrors.indices where SegmentSource.place(of: mirrors[index].address) == source.place {
        mirrors[index].validator = validator
      }
    }
    state = Mutex(
      State(
        plan: SegmentPlan(done: scan.done), mirrors: mirrors, patience: Patience(retries: settings.retries),
        joined: scan.source, proof: scan.lastDigest, held: scan.size(layout), progress: progress))
    let start =
      preferred.flatMap { media.addresses.firstIndex(of: $0) } ?? mirrors.firstIndex { $0.validator != nil }
      ?? mirrors.firstIndex { $0.fault == nil }
    if let start { state.withLock { $0.current = start } }
  }

  /// The mirror in use, to begin with in the next attempt.
  var currentAddress: WebAddress { state.withLock { $0.mirrors[$0.current].address } }

  var isComplete: Bool { state.withLock { $0.plan.isComplete } }
  var verdict: FetchVerdict? { state.withLock { $0.verdict } }
  var progress: Int64 { state.withLock { $0.progress } }
  /// Whether each segment can be told right or wrong by itself.
  var hasDigests: Bool { !digests.isEmpty }

  /// What is stored by now, for another attempt on the same file.
  var scan: SegmentScan {
    state.withLock { state in
      SegmentScan(
        done: (0..<state.plan.count).map { state.plan.isDone($0) }, source: state.joined,
        lastDigest: state.proof)
    }
  }

  // MARK: What to do next

  enum Next: Sendable {
    case errand(Errand)
    case wait(Duration)
    case end
  }

  /// Work for a transfer that is free; `holding` names the segment whose beginning it still has.
  func next(holding: Int?, now: Double) -> Next {
    state.withLock { state in
      guard state.verdict == nil, state.plan.missing > 0 else { return .end }
      let mirror = state.mirrors[state.current]
      let start = max(state.resumeAt, mirror.notBefore)
      if start > now { return .wait(.milliseconds(Int64(((start - now) * 1_000).rounded(.up)))) }
      let isWhole = !mirror.answersRanges
      if isWhole {
        guard !state.isWholeTaken else { return .end }
        state.isWholeTaken = true
      }
      guard
        let segments = isWhole
          ? 0..<layout.segmentCount : state.plan.take(lanes: connections, preferring: holding)
      else { return .end }
      state.errands += 1
      return .errand(
        Errand(
          id: state.errands, mirror: state.current, address: mirror.target ?? mirror.address,
          validator: ignoresValidators ? nil : mirror.validator,
          segments: segments, isWhole: isWhole, epoch: state.epoch))
    }
  }

  /// Whether a stream that comes by segment `index` has a use for it.
  func isWanted(_ index: Int) -> Bool { state.withLock { $0.plan.isMissing(index) } }

  /// Takes segment `index` for a stream that comes by it; `false` when someone else has it.
  func claim(_ index: Int) -> Bool { state.withLock { $0.plan.claim(index) } }

  // MARK: What happened to a request

  /// Tells whether bytes with this validator from that mirror may join those stored.
  ///
  /// `isPlain` says that the request named no range. After `false` the body is not taken: another request
  /// is needed, or the verdict says that what is stored must go.
  func accept(_ errand: Errand, validator: Validator?, isPlain: Bool) -> Bool {
    state.withLock { state in
      guard state.verdict == nil else { return false }
      state.mirrors[errand.mirror].redirects = 0
      if state.mirrors[errand.mirror].validator == nil { state.mirrors[errand.mirror].validator = validator }
      guard digests.isEmpty else {
        state.accepted.insert(errand.id)
        return true
      }
      // Without any proof, only the bytes of one single answer belong together.
      if state.joined == nil, validator == nil, !isPlain {
        for index in state.mirrors.indices { state.mirrors[index].answersRanges = false }
        return false
      }
      let source = SegmentSource(errand.address, validator: validator)
      guard let joined = state.joined else {
        state.joined = source
        state.accepted.insert(errand.id)
        return true
      }
      // A 206 need not repeat the validator it was asked by.
      let validator = validator ?? errand.validator
      guard let known = joined.validator, known == validator else {
        // As long as nothing of the first object is here or on its way, the second may be the one.
        if state.plan.done == 0, state.sealing == 0, state.accepted.isEmpty, validator != nil || isPlain {
          state.joined = source
          state.mirrors[errand.mirror].validator = validator
          state.accepted.insert(errand.id)
          return true
        }
        state.verdict = .startOver("its server gives no proof that it is still the same object")
        return false
      }
      if joined.place != source.place {
        // The same validator elsewhere is a strong hint only: one stored segment is fetched again as proof.
        state.joined?.place = source.place
        if let proof = state.proof, state.plan.isDone(proof.index) {
          state.plan.reopen(proof.index)
          state.held -= Int64(layout.plainLength(proof.index))
        }
      }
      state.accepted.insert(errand.id)
      return true
    }
  }

  /// A transfer ended; what it claimed and did not bring is missing again.
  ///
  /// `partial` is the segment it was in the middle of.
  func end(_ errand: Errand, partial: Int?) {
    state.withLock { state in
      state.accepted.remove(errand.id)
      if errand.isWhole {
        state.isWholeTaken = false
        if let partial { state.plan.giveBack(partial..<partial + 1) }
      } else {
        state.plan.giveBack(errand.segments)
      }
    }
  }

  /// The answer, or its absence, was a failure; decides what is done about it.
  func failed(_ errand: Errand, _ failure: TransferFailure, now: Double) {
    let news = state.withLock { state -> FetchNews? in
      guard state.verdict == nil else { return nil }
      switch failure {
      case .redirect(let target):
        state.mirrors[errand.mirror].redirects += 1
        guard state.mirrors[errand.mirror].redirects <= HTTPPolicy.redirectLimit * connections else {
          return Self.blame(
            &state, errand,
            KollusError(
              .refused, code: KollusCode.mediaURL, "\(errand.address.display) redirects too many times"))
        }
        state.mirrors[errand.mirror].target = target
        return nil
      case .noRanges:
        // Once plain, there is nothing simpler to try: an answer that still does not fit is a fault.
        guard errand.isWhole else {
          state.mirrors[errand.mirror].answersRanges = false
          return nil
        }
        return Self.blame(
          &state, errand,
          KollusError(
            .badData, code: KollusCode.mediaURL,
            "\(errand.address.display) does not answer a plain request with the media"))
      case .changed(let error): state.verdict = .resolve(.changed, error)
      case .denied(let error), .foreign(let error): return Self.blame(&state, errand, error)
      case .transient(let error, let retryAfter):
        return postpone(&state, errand, error, retryAfter: retryAfter, now: now)
      case .fatal(let error): state.verdict = .fail(error)
      }
      return nil
    }
    if let news { told(news) }
  }

  /// Leaves a mirror for good; without another, the manifest must be had again.
  static func blame(_ state: inout State, _ errand: Errand, _ error: KollusError) -> FetchNews? {
    state.mirrors[errand.mirror].target = nil
    if state.mirrors[errand.mirror].fault == nil { state.mirrors[errand.mirror].fault = error }
    guard errand.epoch == state.epoch else { return nil }
    state.epoch += 1
    guard let other = state.mirrors.firstIndex(where: { $0.fault == nil }) else {
      state.verdict = .resolve(.unusable, error)
      return nil
    }
    state.current = other
    return .retrying("\(error.message); trying another mirror")
  }

  /// Goes to another mirror, or waits; fails when the tries are used up.
  private func postpone(
    _ state: inout State, _ errand: Errand, _ error: KollusError, retryAfter: Double?, now: Double
  ) -> FetchNews? {
    state.mirrors[errand.mirror].target = nil
    if let retryAfter {
      state.mirrors[errand.mirror].notBefore = max(state.mirrors[errand.mirror].notBefore, retryAfter)
    }
    guard errand.epoch == state.epoch else { return nil }
    state.epoch += 1
    let usable = (1...state.mirrors.count).map { (errand.mirror + $0) % state.mirrors.count }
      .filter { state.mirrors[$0].fault == nil }
    // Without digests, bytes of another mirror cannot join: stay as long as there are tries left.
    let isBound = !hasDigests && state.plan.done > 0
    state.sweep += 1
    if !isBound, state.sweep < usable.count,
      let other = usable.first(where: { state.mirrors[$0].notBefore <= now })
    {
      state.current = other
      return .retrying("\(error.message); trying another mirror")
    }
    state.sweep = 0
    let next =
      isBound ? errand.mirror : usable.min { state.mirrors[$0].notBefore < state.mirrors[$1].notBefore }
    state.current = next ?? errand.mirror
    let notBefore = state.mirrors[state.current].notBefore
    if let delay = state.patience.next(notBefore: notBefore > now ? notBefore : nil, now: now) {
      state.resumeAt = now + delay / .seconds(1)
      let text = "\(error.message); trying again in \(delay.secondsText)"
      return retryAfter == nil ? .retrying(text) : .waiting(text)
    }
    if isBound, let other = usable.first(where: { $0 != errand.mirror }) {
      state.mirrors[errand.mirror].fault = error
      state.patience.reset()
      state.current = other
      return .retrying("\(error.message); trying another mirror")
    }
    state.verdict = .fail(error, notBefore: notBefore > now ? Int64(notBefore.rounded(.up)) : 0)
    return nil
  }

  /// Bytes came that the next request goes on from: all tries are earned back.
  func advanced() { state.withLock { $0.patience.reset() } }
}

/// How a request for media failed.
enum TransferFailure: Sendable {
  case redirect(WebAddress)
  case noRanges
  case changed(KollusError)
  case denied(KollusError)
  case foreign(KollusError)
  case transient(KollusError, retryAfter: Double?)
  case fatal(KollusError)
}

/// What a download tells while it runs.
enum FetchNews: Sendable {
  case progress(Int64)
  case retrying(String)
  case waiting(String)
}
