/// A length of time for people: `0:07`, `1:05`, `2:03:04`, `3 d 4 h`; parts of a second are dropped.
package struct DurationText: CustomStringConvertible, Sendable {
  package let seconds: Int64

  /// A length below zero counts as none.
  package init(seconds: Int64) { self.seconds = max(seconds, 0) }

  package init(_ duration: Duration) { self.init(seconds: duration.components.seconds) }

  package var description: String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60)
    if days > 0 { return hours > 0 ? "\(days) d \(hours) h" : "\(days) d" }
    if hours > 0 { return "\(hours):\(twoDigits(minutes)):\(twoDigits(seconds % 60))" }
    return "\(minutes):\(twoDigits(seconds % 60))"
  }

  private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
