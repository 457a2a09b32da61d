/// A table that is drawn while its rows are still coming, so that one of any length needs little memory.
///
/// The rows are drawn in blocks, and every block has the widths that all rows so far want: a table of one block
/// looks as ``Table/render(_:width:)`` draws it, a longer one may grow wider on its way down.
package struct TableFlow: Sendable {
  /// Rows in one block.
  package static let blockLength = 1_000

  private let table: Table
  private let width: Int?
  private var widths: [Int]
  private var rows: [[String]] = []
  /// Whether there were no rows at all so far.
  package private(set) var isEmpty = true
  private var hasDrawn = false

  /// `nil` stands for no limit of width.
  package init(_ table: Table, width: Int?) {
    (self.table, self.width) = (table, width)
    widths = table.titleWidths
  }

  /// Takes one more row, and hands over the lines of a block that it fills.
  package mutating func append(_ row: [String], line: (String) -> Void) {
    isEmpty = false
    rows.append(row)
    if rows.count == Self.blockLength { drawBlock(line) }
  }

  /// Hands over the lines that are left; without any rows there are none, not even titles.
  package mutating func end(line: (String) -> Void) {
    if !rows.isEmpty { drawBlock(line) }
  }

  private mutating func drawBlock(_ line: (String) -> Void) {
    table.draw(rows, width: width, isFirst: !hasDrawn, &widths, line: line)
    rows.removeAll(keepingCapacity: true)
    hasDrawn = true
  }
}
