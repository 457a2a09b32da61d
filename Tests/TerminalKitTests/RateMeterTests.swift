import TerminalKit
import Testing

@Suite struct RateMeterTests {
  static let start = ContinuousClock.now

  private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.start + .seconds(seconds) }

  private func meter(_ samples: [(Double, Int64)]) -> RateMeter<ContinuousClock.Instant> {
    var meter = RateMeter<ContinuousClock.Instant>()
    for (seconds, total) in samples { meter.record(total, at: at(seconds)) }
    return meter
  }

  @Test func `nothing is claimed without enough to tell`() {
    #expect(meter([]).bytesPerSecond(at: at(1)) == nil)
    #expect(meter([(0, 0), (0.1, 5000)]).bytesPerSecond(at: at(0.1)) == nil)
  }

  @Test func `a steady flow is measured exactly`() {
    let steady = meter((0...1000).map { (Double($0) / 100, Int64($0) * 10) })
    #expect(steady.bytesPerSecond(at: at(10)) == 1000)
  }

  @Test func `what is older than the window is forgotten`() {
    let burst = meter([(0, 0), (1, 1_000_000)] + (2...20).map { (Double($0), 1_000_000 + Int64($0) * 100) })
    #expect(burst.bytesPerSecond(at: at(20)) == 100)
  }

  @Test func `a stalled flow falls to zero`() {
    let stalled = meter([(0, 0), (1, 1000), (2, 2000)])
    #expect(stalled.bytesPerSecond(at: at(2)) == 1000)
    #expect(stalled.bytesPerSecond(at: at(4)) == 500)
    #expect(stalled.bytesPerSecond(at: at(8)) == 0)
  }

  @Test func `a count that falls begins anew`() {
    let restarted = meter([(0, 0), (1, 10_000), (2, 0), (3, 500)])
    #expect(restarted.bytesPerSecond(at: at(3)) == 500)
    let extreme = meter([(0, .min), (1, .max)])
    #expect(extreme.bytesPerSecond(at: at(1)).map { $0 > 1e19 } == true)
  }
}
