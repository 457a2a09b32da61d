/// Reads a text once, from the first byte to the last, into a flat list of nodes.
///
/// Open containers are kept on a list of our own instead of the call stack, so any depth limit is safe.
struct Parser {
  private let bytes: [UInt8]
  private let limits: JSON.Limits
  private var position = 0
  private var nodes: [Node] = []
  /// The indexes of the containers that are still open, outermost first.
  private var open: [Int] = []

  init(_ bytes: [UInt8], limits: JSON.Limits) {
    self.bytes = bytes
    self.limits = limits
  }

  mutating func parse() throws(JSONError) -> [Node] {
    guard bytes.count <= min(limits.bytes, Int(UInt32.max)) else {
      throw JSONError(path: "", reason: "the JSON text is longer than \(limits.bytes) bytes")
    }
    skipWhitespace()
    var isComplete = try value()
    while let container = open.last {
      skipWhitespace()
      isComplete = isComplete ? try separator(in: container) : try value()
    }
    skipWhitespace()
    guard position == bytes.count else { throw failure("more text after the document") }
    return nodes
  }

  /// The byte to look at, 0 behind the end: no token begins with it.
  private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func skipWhitespace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }

  /// Reads a scalar or an empty container and returns true, or what opens a container and returns false.
  private mutating func value() throws(JSONError) -> Bool {
    guard nodes.count < min(limits.values, Node.maximumCount) else {
      throw failure("more than \(limits.values) values")
    }
    if let container = open.last { nodes[container].addChild() }
    switch current {
    case UInt8(ascii: "{"): return try container(.object, end: UInt8(ascii: "}"))
    case UInt8(ascii: "["): return try container(.array, end: UInt8(ascii: "]"))
    case UInt8(ascii: "\""):
      let start = position
      let isEscaped = try string()
      append(.string, from: start, isEscaped: isEscaped)
    case UInt8(ascii: "t"): try word("true", .bool)
    case UInt8(ascii: "f"): try word("false", .bool)
    case UInt8(ascii: "n"): try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw failure("expected a value")
    }
    return true
  }

  private mutating func container(_ kind: JSON.Kind, end: UInt8) throws(JSONError) -> Bool {
    guard open.count < limits.depth else { throw failure("nested deeper than \(limits.depth) levels") }
    open.append(nodes.count)
    nodes.append(Node(kind, start: position))
    position += 1
    skipWhitespace()
    if current == end {
      close()
      return true
    }
    if kind == .object { try name() }
    return false
  }

  /// Reads what follows a value inside a container; returns whether that completed the container.
  private mutating func separator(in container: Int) throws(JSONError) -> Bool {
    let isObject = nodes[container].kind == .object
    switch current {
    case UInt8(ascii: ","):
      position += 1
      skipWhitespace()
      if isObject { try name() }
      return false
    case isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"):
      close()
      return true
    default: throw failure(isObject ? "expected ',' or '}'" : "expected ',' or ']'")
    }
  }

  private mutating func close() {
    position += 1
    if let container = open.popLast() { nodes[container].close(end: position, next: nodes.count) }
  }

  private mutating func name() throws(JSONError) {
    guard current == UInt8(ascii: "\"") else { throw failure("expected a member name") }
    _ = try string()
    skipWhitespace()
    guard current == UInt8(ascii: ":") else { throw failure("expected ':'") }
    position += 1
    skipWhitespace()
  }

  private mutating func append(_ kind: JSON.Kind, from start: Int, isEscaped: Bool = false) {
    nodes.append(Node(kind, start: start, end: position, next: nodes.count + 1, isEscaped: isEscaped))
  }

  private mutating func word(_ word: String, _ kind: JSON.Kind) throws(JSONError) {
    let start = position
    position += word.utf8.count
    guard position <= bytes.count, bytes[start..<position].elementsEqual(word.utf8) else {
      position = start
      throw failure("expected a value")
    }
    append(kind, from: start)
  }

  private mutating func number() throws(JSONError) {
    let start = position
    var kind = JSON.Kind.integer
    if current == UInt8(ascii: "-") { position += 1 }
    if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      kind = .number
      position += 1
      try digits()
    }
    if current | 0x20 == UInt8(ascii: "e") {
      kind = .number
      position += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
    append(kind, from: start)
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while UInt8(ascii: "0")...UInt8(ascii: "9") ~= current { position += 1 }
    guard position > start else { throw failure("expected a digit") }
  }
}

extension Parser {
  /// Reads a string or a name and returns whether it holds escapes.
  private mutating func string() throws(JSONError) -> Bool {
    var isEscaped = false
    position += 1
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return isEscaped
      case UInt8(ascii: "\\"):
        isEscaped = true
        try escape()
      case 0..<0x20: throw failure("a control character in a string")
      case 0x20..<0x80: position += 1
      default: try multibyteScalar()
      }
    }
    throw failure("the text ends inside a string")
  }

  private mutating func escape() throws(JSONError) {
    let start = position
    position += 1
    switch current {
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      guard unit & 0xF800 == 0xD800 else { return }
      // Half a surrogate pair: the other half has to follow.
      if unit < 0xDC00, current == UInt8(ascii: "\\") {
        position += 1
        if current == UInt8(ascii: "u"), 0xDC00..<0xE000 ~= (try hexadecimal()) { return }
      }
      position = start
      throw failure("half a surrogate pair")
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    default: throw failure("an unknown escape")
    }
  }

  /// Reads the `u` of an escape and its four digits.
  private mutating func hexadecimal() throws(JSONError) -> UInt32 {
    position += 1
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = hexDigitValue(current) else { throw failure("expected a hexadecimal digit") }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }

  /// Reads a scalar of two to four bytes by table 3-7 of the Unicode Standard.
  private mutating func multibyteScalar() throws(JSONError) {
    let shape: (count: Int, second: ClosedRange<UInt8>)? =
      switch bytes[position] {
      case 0xC2...0xDF: (2, 0x80...0xBF)
      case 0xE0: (3, 0xA0...0xBF)
      case 0xED: (3, 0x80...0x9F)
      case 0xE1...0xEF: (3, 0x80...0xBF)
      case 0xF0: (4, 0x90...0xBF)
      case 0xF1...0xF3: (4, 0x80...0xBF)
      case 0xF4: (4, 0x80...0x8F)
      default: nil
      }
    guard let shape, position + shape.count <= bytes.count, shape.second ~= bytes[position + 1],
      bytes[position + 2..<position + shape.count].allSatisfy({ $0 & 0xC0 == 0x80 })
    else { throw failure("not UTF-8") }
    position += shape.count
  }

  private func failure(_ reason: String) -> JSONError {
    JSONError(path: "", reason: "invalid JSON at byte \(position): \(reason)")
  }
}
