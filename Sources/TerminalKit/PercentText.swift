/// A share in whole percent, rounded down: `100%` is never shown before all is done.
package struct PercentText: CustomStringConvertible, Sendable {
  package let percent: Int

  /// Of a fraction from 0 to 1; what lies outside, or is no number, counts as the nearest end or none.
  package init(_ fraction: Double) {
    if fraction >= 1 {
      percent = 100
    } else {
      // 0.29 times 100 is 28.999…: what a binary fraction lacks must not cost a whole percent.
      percent = fraction > 0 ? min(Int(fraction * 100 + 1e-9), 99) : 0
    }
  }

  package var description: String { "\(percent)%" }
}
