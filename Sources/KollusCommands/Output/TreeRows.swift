/// The rows of a list drawn as a tree, held until all are known: what is drawn before a line depends on those below.
struct TreeRows {
  private var rows: [[String]] = []
  private var depths: [Int] = []
  private var trail = FolderTrail()

  /// Appends the row of a content, after those of folders not met before.
  mutating func append(_ row: [String], in folder: String) {
    for node in trail.enter(folder) {
      rows.append(["\(node.name)/"])
      depths.append(node.depth)
    }
    rows.append(row)
    depths.append(trail.depth)
  }

  /// All rows, each with its branch before the first cell.
  func drawn() -> [[String]] {
    zip(rows, FolderTrail.branches(depths)).map { row, branch in
      [branch + row[0]] + row.dropFirst()
    }
  }
}
