import KollusTestSupport
import Testing

@testable import KollusCore

@Suite struct SegmentPlanTests {
  @Test func `what is done is not asked for`() {
    var plan = SegmentPlan(done: [true, false, false, true, false])
    #expect((plan.count, plan.missing, plan.done, plan.lastDone) == (5, 3, 2, 3))
    let runs = (0..<4).map { _ in plan.take(lanes: 1) }
    #expect(runs == [1..<2, 2..<3, 4..<5, nil])
    #expect(!plan.isComplete)
  }

  @Test(arguments: [(100, 4, 12), (100, 1, 16), (8, 4, 1), (1, 4, 1), (1_000, 4, 16), (100, 0, 16)])
  func `runs are long first and fair at the end`(_ count: Int, _ lanes: Int, _ first: Int) {
    var plan = SegmentPlan(done: Array(repeating: false, count: count))
    let run = plan.take(lanes: lanes)
    #expect(run == 0..<first)
  }

  @Test func `a preferred segment comes first when it is missing`() {
    var plan = SegmentPlan(done: Array(repeating: false, count: 10))
    let runs = [
      plan.take(lanes: 9, preferring: 5), plan.take(lanes: 9, preferring: 5),
      plan.take(lanes: 1, preferring: 1, atMost: 2),
    ]
    #expect(runs == [5..<6, 0..<1, 1..<3])
  }

  @Test func `a claimed segment goes to the end by steps`() {
    var plan = SegmentPlan(done: [false])
    plan.finish(0)
    let claims = [plan.claim(0), plan.claim(0)]
    plan.finish(0)
    #expect(claims == [true, false])
    #expect(plan.done == 0)
    let arrivals = [plan.arrive(0), plan.arrive(0)]
    let late = plan.claim(0)
    plan.giveBack(0..<1)
    #expect(arrivals == [true, false])
    #expect(!late)
    #expect(plan.missing == 0)
    plan.finish(0)
    plan.finish(0)
    #expect((plan.done, plan.isComplete, plan.isDone(0)) == (1, true, true))
    plan.reopen(0)
    plan.reopen(0)
    #expect((plan.done, plan.missing, plan.lastDone) == (0, 1, nil))
    let after = (plan.arrive(0), plan.isMissing(0), plan.claim(0))
    #expect(after == (false, true, true))
  }

  /// A model that does the same with plain sets.
  private struct Model {
    var missing: Set<Int>
    var claimed: Set<Int> = []
    var arrived: Set<Int> = []
    var done: Set<Int>
  }

  @Test(arguments: 1...20) func `any walk agrees with a plain model`(_ seed: UInt64) {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    func random(_ bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(bound))
    }
    let count = 1 + random(40)
    let start = (0..<count).map { _ in random(3) == 0 }
    var plan = SegmentPlan(done: start)
    var model = Model(
      missing: Set((0..<count).filter { !start[$0] }), done: Set((0..<count).filter { start[$0] }))
    for _ in 0..<500 {
      let index = random(count)
      switch random(7) {
      case 0, 1:
        let preferred = random(2) == 0 ? index : nil
        let run = plan.take(lanes: random(5), preferring: preferred)
        #expect((run == nil) == model.missing.isEmpty)
        guard let run else { continue }
        let first = preferred.flatMap { model.missing.contains($0) ? $0 : nil } ?? model.missing.min()
        #expect(run.lowerBound == first)
        #expect(!run.isEmpty && model.missing.isSuperset(of: run))
        model.missing.subtract(run)
        model.claimed.formUnion(run)
      case 2:
        let isClaimed = plan.claim(index)
        #expect(isClaimed == (model.missing.remove(index) != nil))
        if isClaimed { model.claimed.insert(index) }
      case 3:
        let isArrived = plan.arrive(index)
        #expect(isArrived == (model.claimed.remove(index) != nil))
        if isArrived { model.arrived.insert(index) }
      case 4:
        plan.finish(index)
        if model.arrived.remove(index) != nil { model.done.insert(index) }
      case 5:
        let range = index..<min(count, index + 1 + random(5))
        plan.giveBack(range)
        let back = model.claimed.intersection(range)
        model.claimed.subtract(back)
        model.missing.formUnion(back)
      default:
        plan.reopen(index)
        model.claimed.remove(index)
        model.arrived.remove(index)
        model.done.remove(index)
        model.missing.insert(index)
      }
      #expect(plan.missing == model.missing.count)
      #expect(plan.done == model.done.count)
      #expect(plan.lastDone == model.done.max())
      #expect(plan.isComplete == (model.done.count == count))
    }
  }
}
