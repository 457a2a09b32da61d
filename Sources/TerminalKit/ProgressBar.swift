/// How far one piece of work is, drawn as a single line.
package struct ProgressBar: Sendable, Equatable {
  /// What is worked on; may come from outside.
  package var label: String
  /// From 0 to 1; `nil` when only the bytes, or nothing, are known.
  package var fraction: Double?
  /// Bytes that are there already.
  package var doneBytes: Int64
  /// Bytes there will be, if known.
  package var totalBytes: Int64?
  /// Such as a ``RateMeter`` tells.
  package var bytesPerSecond: Double?
  /// A word on its state, such as `waiting`.
  package var note: String?

  package init(
    label: String, fraction: Double? = nil, doneBytes: Int64 = 0, totalBytes: Int64? = nil,
    bytesPerSecond: Double? = nil, note: String? = nil
  ) {
    self.label = label
    self.fraction = fraction
    self.doneBytes = doneBytes
    self.totalBytes = totalBytes
    self.bytesPerSecond = bytesPerSecond
    self.note = note
  }

  /// From 0 to 1, by the bytes if need be; only what is complete comes to 1.
  var share: Double? {
    if let fraction { return fraction }
    guard let totalBytes, totalBytes > 0 else { return nil }
    if doneBytes >= totalBytes { return 1 }
    // Beyond 2⁵³ bytes the quotient may round up to 1.
    return min(Double(max(doneBytes, 0)) / Double(totalBytes), 1 - 1e-9)
  }

  /// The line for a window; at most `width` − 1 columns, since a full line would wrap on some terminals.
  ///
  /// As the window narrows it loses rate, time left, sizes, bar and note, and at last the end of the label.
  package func line(width: Int) -> String {
    Self.lines([self], width: width).joined()
  }

  /// One line for each bar, all with the same details, so that they stand in columns.
  package static func lines(_ bars: [ProgressBar], width: Int) -> [String] {
    let usable = max(width - 1, 0)
    // A long title does not push the numbers out: half of the window is enough for it at first.
    let labels = bars.map { $0.label.terminalSafe.truncated(toWidth: max(usable / 2, 12)) }
    let labelWidth = labels.map(\.displayWidth).max() ?? 0
    for dropped in 0...ProgressField.dropped.count {
      let fields = ProgressField.allCases.filter { !ProgressField.dropped.prefix(dropped).contains($0) }
      let columns = ProgressField.columns(fields, of: bars, room: usable - labelWidth)
      let taken = labelWidth + columns.reduce(0) { $0 + $1.width + 2 }
      if taken <= usable { return joined(labels, labelWidth, columns, usable) }
    }
    let columns = ProgressField.columns([.percent], of: bars, room: usable)
    let room = max(usable - columns.reduce(0) { $0 + $1.width + 2 }, 0)
    return joined(bars.map { $0.label.terminalSafe.truncated(toWidth: room) }, room, columns, usable)
  }

  private static func joined(
    _ labels: [String], _ labelWidth: Int, _ columns: [ProgressField.Column], _ usable: Int
  ) -> [String] {
    labels.indices.map { index in
      let label = labelWidth > 0 ? [labels[index].padded(toWidth: labelWidth)] : []
      let line = (label + columns.map { $0.cells[index] }).joined(separator: "  ")
      let start = labelWidth > 0 ? line[...] : line.drop { $0 == " " }
      let end = start.lastIndex { $0 != " " }
      return String(end.map { start[...$0] } ?? "").truncated(toWidth: usable)
    }
  }
}
