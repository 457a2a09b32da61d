import KollusCore

/// Finds the folders of a tree among contents that come folder by folder.
struct FolderTrail {
  /// One folder, for the line or object that stands for it.
  struct Node: Equatable {
    let name: String
    /// Path of the folder it is in, empty at the root.
    let parent: String
    /// How many folders it is in.
    let depth: Int
  }

  private var names: [String] = []

  /// How many folders the contents that come now are in.
  var depth: Int { names.count }

  /// Goes to another folder; returns those that were not met before on the way, the outermost first.
  mutating func enter(_ folder: String) -> [Node] {
    // By bytes, as the library compares paths.
    let path = folder.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    let shared = zip(names, path).prefix { $0.isExactly($1) }.count
    names = path
    return (shared..<path.count).map { depth in
      Node(name: path[depth], parent: path[..<depth].joined(separator: "/"), depth: depth)
    }
  }

  /// What is drawn before each line of a tree, given how deep the lines stand.
  ///
  /// ASCII: lines for drawing boxes are two columns wide on many Korean terminals.
  static func branches(_ depths: [Int]) -> [String] {
    // Whether something follows at a depth, seen from below.
    var follows = [Bool](repeating: false, count: (depths.max() ?? 0) + 1)
    return depths.reversed().map { depth in
      defer {
        follows[depth] = true
        for deeper in (depth + 1)..<max(follows.count, depth + 1) { follows[deeper] = false }
      }
      guard depth > 0 else { return "" }
      let stems = (1..<depth).map { follows[$0] ? "|   " : "    " }.joined()
      return stems + (follows[depth] ? "|-- " : "`-- ")
    }.reversed()
  }
}
