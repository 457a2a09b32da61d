/// Rows of text in aligned columns; cells from outside are made safe here.
package struct Table: Sendable {
  /// How one column is drawn.
  package struct Column: Sendable {
    package var title: String
    package var alignment: Alignment
    /// Columns of the screen it keeps however narrow the window is, if it may shrink.
    package var minimumWidth: Int
    /// Whether its cells may be cut to fit the window.
    package var canShrink: Bool

    package init(
      _ title: String, _ alignment: Alignment = .left, minimumWidth: Int = 8, canShrink: Bool = false
    ) {
      self.title = title
      self.alignment = alignment
      self.minimumWidth = minimumWidth
      self.canShrink = canShrink
    }
  }

  package let columns: [Column]
  private static let gap = 2

  package init(_ columns: [Column]) { self.columns = columns }

  /// The title line, unless no column has one, and a line for each row; `nil` stands for no limit of width.
  ///
  /// A row may have fewer cells than there are columns; cells too many are left out.
  package func render(_ rows: [[String]], width: Int?) -> [String] {
    var lines: [String] = []
    lines.reserveCapacity(rows.count + 1)
    draw(rows, width: width) { lines.append($0) }
    return lines
  }

  /// Hands over the lines one by one, going through the rows twice, so that a lazy collection needs no memory.
  package func draw(
    _ rows: some Collection<[String]>, width: Int?, line: (String) -> Void
  ) {
    var widths = titleWidths
    draw(rows, width: width, isFirst: true, &widths, line: line)
  }

  /// What the columns take with their titles alone.
  var titleWidths: [Int] { columns.map(\.title.displayWidth) }

  /// Draws some rows of a table, the titles above the first ones; `widths` are those that the rows before wanted, and
  /// then those that these want too.
  func draw(
    _ rows: some Collection<[String]>, width: Int?, isFirst: Bool, _ widths: inout [Int],
    line: (String) -> Void
  ) {
    for row in rows {
      for (index, cell) in row.prefix(columns.count).enumerated() {
        widths[index] = max(widths[index], cell.terminalSafe.displayWidth)
      }
    }
    var drawn = widths
    if let width { shrink(&drawn, to: width) }
    let titles = columns.map(\.title)
    if isFirst, titles.contains(where: { !$0.isEmpty }) { line(joined(titles, drawn)) }
    for row in rows { line(joined(row, drawn)) }
  }

  /// Takes from the widest column that may give, one screen column at a time, until the rest fits.
  private func shrink(_ widths: inout [Int], to limit: Int) {
    for index in columns.indices where columns[index].canShrink {
      widths[index] = min(widths[index], max(limit, columns[index].minimumWidth))
    }
    var excess = widths.reduce(Self.gap * (widths.count - 1), +) - limit
    while excess > 0 {
      let givers = columns.indices.filter {
        columns[$0].canShrink && widths[$0] > max(columns[$0].minimumWidth, 1)
      }
      guard let widest = givers.max(by: { widths[$0] < widths[$1] }) else { return }
      widths[widest] -= 1
      excess -= 1
    }
  }

  private func joined(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    // Spaces are written when something follows them, so that no line ends in any.
    var owed = 0
    for (index, cell) in cells.prefix(columns.count).enumerated() {
      var text = cell.terminalSafe
      var width = text.displayWidth
      if width > widths[index] {
        text = text.truncated(toWidth: widths[index])
        width = text.displayWidth
      }
      let missing = widths[index] - width
      let isRight = columns[index].alignment == .right
      if isRight { owed += missing }
      if width > 0 {
        line += String(repeating: " ", count: owed)
        line += text
        owed = 0
      }
      owed += Self.gap + (isRight ? 0 : missing)
    }
    return line
  }
}
