/// The bytes of a parsed document and where its values lie.
final class Document: Sendable {
  let bytes: [UInt8]
  /// All values in the order of the text: a container comes right before what it holds.
  let nodes: [Node]

  init(bytes: [UInt8], nodes: [Node]) {
    self.bytes = bytes
    self.nodes = nodes
  }

  /// The name of the first member at or after a byte, which is the one after `{` or after the member before.
  ///
  /// Names have no node: the text is known to be valid, so they are found again by skipping to the next
  /// quote.
  func name(from position: Int) -> Token {
    var start = position
    while bytes[start] != UInt8(ascii: "\"") { start += 1 }
    var end = start + 1
    var isEscaped = false
    while bytes[end] != UInt8(ascii: "\"") {
      if bytes[end] == UInt8(ascii: "\\") {
        isEscaped = true
        end += 1
      }
      end += 1
    }
    return Token(start: start, end: end + 1, isEscaped: isEscaped)
  }

  /// What a string token says.
  func text(of token: Token) -> String {
    let content = bytes[token.start + 1..<token.end - 1]
    return String(decoding: token.isEscaped ? unescaped(content)[...] : content, as: UTF8.self)
  }

  /// Whether a string token says exactly these scalars; unlike `==` on `String`, it does not compare meaning.
  func says(_ token: Token, _ text: String) -> Bool {
    let (start, end) = (token.start + 1, token.end - 1)
    guard token.isEscaped else {
      guard end - start == text.utf8.count else { return false }
      var position = start
      for byte in text.utf8 {
        guard bytes[position] == byte else { return false }
        position += 1
      }
      return true
    }
    return unescaped(bytes[start..<end]).elementsEqual(text.utf8)
  }

  private func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var position = content.startIndex
    while position < content.endIndex {
      let byte = content[position]
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        position += 1
        continue
      }
      let letter = content[position + 1]
      position += 2
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        var unit = hexadecimal(content, at: position)
        position += 4
        if 0xD800..<0xDC00 ~= unit {
          unit = 0x10000 + (unit - 0xD800) << 10 + (hexadecimal(content, at: position + 2) - 0xDC00)
          position += 6
        }
        if let scalar = Unicode.Scalar(unit) { result.append(contentsOf: String(scalar).utf8) }
      default: result.append(letter)
      }
    }
    return result
  }

  private func hexadecimal(_ content: ArraySlice<UInt8>, at position: Int) -> UInt32 {
    content[position..<position + 4].reduce(0) { $0 << 4 | UInt32(hexDigitValue($1) ?? 0) }
  }
}

/// A string as it lies in the text, quotes included.
struct Token {
  let start: Int
  let end: Int
  let isEscaped: Bool
}

/// One value of the tape, in 16 bytes.
struct Node: Sendable {
  /// The largest number of values that `shape` can count.
  static let maximumCount = 1 << 28 - 1

  private let startOffset: UInt32
  private var endOffset: UInt32
  private var nextIndex: UInt32
  /// The kind in 3 bits, whether a string holds escapes in 1, the number of elements or members in 28.
  private var shape: UInt32

  init(_ kind: JSON.Kind, start: Int, end: Int = 0, next: Int = 0, isEscaped: Bool = false) {
    startOffset = UInt32(start)
    endOffset = UInt32(end)
    nextIndex = UInt32(next)
    shape = UInt32(kind.rawValue) | (isEscaped ? 8 : 0)
  }

  var kind: JSON.Kind { JSON.Kind(rawValue: UInt8(truncatingIfNeeded: shape & 7)) ?? .null }
  var isEscaped: Bool { shape & 8 != 0 }
  var count: Int { Int(shape >> 4) }
  var start: Int { Int(startOffset) }
  /// The offset behind the last byte.
  var end: Int { Int(endOffset) }
  /// The index of the first value that does not lie inside this one.
  var next: Int { Int(nextIndex) }

  mutating func addChild() { shape += 16 }

  mutating func close(end: Int, next: Int) {
    endOffset = UInt32(end)
    nextIndex = UInt32(next)
  }
}

/// What a byte is worth as a hexadecimal digit.
func hexDigitValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
