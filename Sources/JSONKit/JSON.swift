/// A value inside a parsed JSON document.
///
/// All values of a document share its bytes and a flat list of nodes, so a copy costs one reference and the
/// whole document costs its bytes plus a node of 16 bytes per value. Strings, numbers and names are decoded
/// when asked for.
package struct JSON: Sendable {
  /// What a document may cost.
  package struct Limits: Sendable {
    /// The length of the text.
    package var bytes: Int
    /// How many arrays and objects may lie inside each other.
    package var depth: Int
    /// How many values, containers included, the document may hold.
    package var values: Int

    package init(bytes: Int = 8 << 20, depth: Int = 32, values: Int = 1_000_000) {
      self.bytes = bytes
      self.depth = depth
      self.values = values
    }
  }

  /// What a value is, told by its token: `1.0` and `1e3` are numbers but not integers.
  package enum Kind: UInt8, Sendable {
    case null, bool, integer, number, string, array, object
  }

  let document: Document
  let index: Int

  /// Reads one strict RFC 8259 document.
  ///
  /// Refused besides what the grammar refuses: invalid UTF-8, a byte order mark, escapes that leave half a
  /// surrogate pair, and whatever exceeds `limits`. Repeated names are refused when a member is looked up.
  package init(parsing bytes: [UInt8], limits: Limits = Limits()) throws(JSONError) {
    var parser = Parser(bytes, limits: limits)
    document = Document(bytes: bytes, nodes: try parser.parse())
    index = 0
  }

  /// Reads one strict RFC 8259 document, as `init(parsing:limits:)` does for bytes.
  package init(parsing text: String, limits: Limits = Limits()) throws(JSONError) {
    try self.init(parsing: Array(text.utf8), limits: limits)
  }

  init(document: Document, index: Int) {
    self.document = document
    self.index = index
  }

  var node: Node { document.nodes[index] }

  package var kind: Kind { node.kind }

  package var isNull: Bool { kind == .null }

  package var bool: Bool? {
    kind == .bool ? document.bytes[node.start] == UInt8(ascii: "t") : nil
  }

  /// The value of an integer token that fits; `-0` is 0, and a larger one gives `nil`.
  package var integer: Int64? {
    guard kind == .integer else { return nil }
    return Int64(rawText)
  }

  /// The value of any number token; `nil` when it is too large for a finite `Double`.
  package var number: Double? {
    guard kind == .integer || kind == .number, let value = Double(rawText), value.isFinite else { return nil }
    return value
  }

  package var string: String? {
    let node = node
    guard node.kind == .string else { return nil }
    return document.text(of: Token(start: node.start, end: node.end, isEscaped: node.isEscaped))
  }

  /// The number of elements or members; 0 for a value that has none.
  package var count: Int { node.count }

  /// The value's own bytes as they were written.
  package var rawText: String {
    let node = node
    return String(decoding: document.bytes[node.start..<node.end], as: UTF8.self)
  }
}
