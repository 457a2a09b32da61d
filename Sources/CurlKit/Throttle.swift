/// Keeps the bytes received by all transfers together under a rate; used on the engine's thread only.
///
/// Invariant behind `@unchecked Sendable`: touched by the engine's thread alone.
final class Throttle: @unchecked Sendable {
  private let bytesPerSecond: Double
  private var allowance: Double
  private var last = ContinuousClock.now

  init(bytesPerSecond: Int64) {
    self.bytesPerSecond = Double(max(1, bytesPerSecond))
    allowance = self.bytesPerSecond / 8
  }

  var mayReceive: Bool {
    refill()
    return allowance > 0
  }

  func count(_ bytes: Int) { allowance -= Double(bytes) }

  /// Milliseconds until bytes may flow again.
  var delay: Int32 {
    refill()
    return allowance > 0 ? 0 : Int32(min(1_000, (-allowance / bytesPerSecond * 1_000).rounded(.up) + 1))
  }

  private func refill() {
    let now = ContinuousClock.now
    let passed = (now - last) / .seconds(1)
    last = now
    // At most an eighth of a second is saved up, so that a pause is not followed by a burst.
    allowance = min(bytesPerSecond / 8, allowance + passed * bytesPerSecond)
  }
}
