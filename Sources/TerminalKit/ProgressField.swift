/// One detail of a progress line, in the order they are drawn.
enum ProgressField: CaseIterable {
  case bar, percent, sizes, rate, left, note

  /// What a narrow window goes without, first things first; the percentage stays.
  static let dropped: [Self] = [.rate, .left, .sizes, .bar, .note]

  struct Column {
    let cells: [String]
    let width: Int
  }

  /// The cells of each field, padded, with what room is left given to the bars; a field nobody has is left out.
  static func columns(_ fields: [Self], of bars: [ProgressBar], room: Int) -> [Column] {
    let texts = fields.filter { $0 != .bar }.map { field in (field, bars.map { field.text(of: $0) }) }
      .filter { _, cells in cells.contains { !$0.isEmpty } }
    var columns = texts.map { field, cells in
      let width = max(cells.map(\.displayWidth).max() ?? 0, field.reserved)
      return Column(
        cells: cells.map { $0.padded(toWidth: width, field == .note ? .left : .right) }, width: width)
    }
    if fields.contains(.bar), bars.contains(where: { $0.share != nil }) {
      let taken = columns.reduce(0) { $0 + $1.width + 2 }
      let width = min(max(room - taken - 2, 12), 42)
      columns.insert(Column(cells: bars.map { drawn($0, width) }, width: width), at: 0)
    }
    return columns
  }

  /// Columns kept free, so that a number that grows a digit does not move the rest.
  private var reserved: Int {
    switch self {
    case .percent: 4
    case .sizes: 21
    case .rate: 11
    case .left: 10
    case .bar, .note: 0
    }
  }

  private func text(of bar: ProgressBar) -> String {
    switch self {
    case .bar: ""
    case .percent: bar.share.map { PercentText($0).description } ?? ""
    case .sizes: bar.sizes
    case .rate: bar.rate
    case .left: bar.left
    case .note: bar.note?.terminalSafe ?? ""
    }
  }

  /// Plain ASCII: block characters are two columns wide on many Korean terminals.
  private static func drawn(_ bar: ProgressBar, _ width: Int) -> String {
    guard let share = bar.share else { return String(repeating: " ", count: width) }
    let inner = width - 2
    let filled = PercentText(share).percent * inner / 100
    let head = filled > 0 && filled < inner ? ">" : ""
    let body = String(repeating: "=", count: filled - head.count) + head
    return "[\(body.padded(toWidth: inner))]"
  }
}

extension ProgressBar {
  fileprivate var sizes: String {
    guard doneBytes > 0 || totalBytes != nil else { return "" }
    return totalBytes.map { "\(ByteCountText(doneBytes)) / \(ByteCountText($0))" }
      ?? "\(ByteCountText(doneBytes))"
  }

  private var isDone: Bool { share.map { $0 >= 1 } ?? false }

  /// The rate while there is still something to come, unless it is no number of bytes anybody could send.
  private var liveRate: Double? {
    isDone ? nil : bytesPerSecond.flatMap { (0..<1e18).contains($0) ? $0 : nil }
  }

  fileprivate var rate: String {
    liveRate.map { "\(ByteCountText(UInt64($0 + 0.5)))/s" } ?? ""
  }

  /// Rounded up, and shown up to a hundred days; what would take longer has stalled.
  fileprivate var left: String {
    guard let liveRate, let totalBytes, totalBytes > 0 else { return "" }
    let seconds = Double(totalBytes - max(doneBytes, 0)) / liveRate
    guard seconds >= 0, seconds < 8_640_000 else { return "" }
    let whole = Int64(seconds)
    return "\(DurationText(seconds: Double(whole) < seconds ? whole + 1 : whole)) left"
  }
}
