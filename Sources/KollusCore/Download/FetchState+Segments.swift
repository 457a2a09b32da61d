import CurlKit
import SealKit
import Synchronization

/// What happened to a segment.
extension FetchState {
  /// All bytes of a segment are here; `true` when they are to go to the disk.
  func arrived(_ index: Int) -> Bool {
    state.withLock { state in
      guard state.plan.arrive(index) else { return false }
      state.sealing += 1
      return true
    }
  }

  /// The digest that segment `index` must have, as far as one is known.
  func expected(_ index: Int) -> Digest? {
    if hasDigests { return digests[index] }
    return state.withLock { $0.proof.flatMap { $0.index == index ? $0.digest : nil } }
  }

  func sealed(_ index: Int, digest: Digest) {
    let news = state.withLock { state -> FetchNews? in
      state.plan.finish(index)
      state.held += Int64(layout.plainLength(index))
      state.patience.reset()
      state.mismatches[index] = nil
      // A proof that is asked for stays until its segment came again.
      if !hasDigests, state.proof.map({ state.plan.isDone($0.index) }) ?? true {
        state.proof = (index, digest)
      }
      guard state.held > state.progress else { return nil }
      state.progress = state.held
      return .progress(state.progress)
    }
    if let news { told(news) }
    sealingEnded()
  }

  /// A segment came with wrong bytes.
  func mismatched(_ index: Int, _ errand: Errand) {
    let error = KollusError(
      .badData, code: KollusCode.damaged,
      "the bytes from \(errand.address.display) do not have the digest of the manifest (segment \(index))",
      hint: "tell the people who run the origin")
    let news = state.withLock { state -> FetchNews? in
      state.plan.reopen(index)
      guard state.verdict == nil else { return nil }
      guard hasDigests else {
        state.verdict = .startOver("another server shows other bytes")
        return nil
      }
      // Once may be an accident of the line; twice is the mirror.
      state.mismatches[index, default: 0] += 1
      guard state.mismatches[index, default: 0] > 1 else {
        return .retrying("segment \(index) arrived damaged; fetching it again")
      }
      state.mismatches[index] = nil
      return Self.blame(&state, errand, error)
    }
    if let news { told(news) }
    sealingEnded()
  }

  /// A segment could not be stored.
  func notStored(_ index: Int, _ error: KollusError) {
    state.withLock { state in
      state.plan.reopen(index)
      state.verdict = .fail(error)
    }
    sealingEnded()
  }

  private func sealingEnded() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.sealing -= 1
      guard state.sealing == 0 else { return nil }
      defer { state.settled = nil }
      return state.settled
    }
    waiting?.resume()
  }

  /// Returns once no segment is on its way to the disk.
  func settle() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if state.sealing > 0 { state.settled = continuation }
        return state.sealing == 0
      }
      if isSettled { continuation.resume() }
    }
  }
}
