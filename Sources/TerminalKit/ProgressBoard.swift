/// Several pieces of work at once, with a line below that sums them up.
package struct ProgressBoard: Sendable, Equatable {
  /// In the order they are drawn.
  package var bars: [ProgressBar]
  /// The last line, whatever the height; such as ``sum(_:label:note:)`` makes.
  package var summary: ProgressBar?

  package init(bars: [ProgressBar], summary: ProgressBar? = nil) {
    self.bars = bars
    self.summary = summary
  }

  /// The lines for a window; bars beyond its height are counted instead of drawn.
  package func lines(width: Int, height: Int = .max) -> [String] {
    let end = summary.map { [$0] } ?? []
    let room = max(height, 1) - end.count
    let shown = bars.count <= room ? bars.count : max(room - 1, 0)
    var lines = ProgressBar.lines(bars.prefix(shown) + end, width: width)
    if shown < bars.count, room > 0 {
      lines.insert(
        "… and \(bars.count - shown) more".truncated(toWidth: max(width - 1, 0)), at: shown)
    }
    return lines
  }

  /// A bar for all of them: bytes and rates added up; the total is known only if each one's is.
  package static func sum(_ bars: [ProgressBar], label: String, note: String? = nil) -> ProgressBar {
    let totals = bars.compactMap(\.totalBytes)
    let rates = bars.compactMap(\.bytesPerSecond)
    return ProgressBar(
      label: label, doneBytes: bars.reduce(0) { saturated($0, $1.doneBytes) },
      totalBytes: totals.count == bars.count && !bars.isEmpty ? totals.reduce(0, saturated) : nil,
      bytesPerSecond: rates.isEmpty ? nil : rates.reduce(0, +), note: note)
  }

  /// Sizes come from outside: a sum too large stays at the largest number.
  private static func saturated(_ sum: Int64, _ bytes: Int64) -> Int64 {
    let (next, overflow) = sum.addingReportingOverflow(max(bytes, 0))
    return overflow ? .max : next
  }
}
