/// Equal parts of a whole and how much of each is done, as one line of text: `[####+...]`.
///
/// `#` is done, `+` in part, `.` not at all; several parts share a character where there are more of them than columns.
package struct BlockBar: CustomStringConvertible, Sendable {
  private let parts: [Int]
  private let width: Int

  /// - Parameters:
  ///   - parts: The share of each part that is done, in percent.
  ///   - width: The most characters between the brackets.
  package init(_ parts: [Int], width: Int = 50) { (self.parts, self.width) = (parts, max(1, width)) }

  package var description: String {
    let columns = min(parts.count, width)
    var text = ""
    for column in 0..<columns {
      let share = parts[(column * parts.count / columns)..<((column + 1) * parts.count / columns)]
      if share.allSatisfy({ $0 >= 100 }) {
        text += "#"
      } else {
        text += share.contains { $0 > 0 } ? "+" : "."
      }
    }
    return "[\(text)]"
  }
}
