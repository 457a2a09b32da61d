/// Header fields in the order they came or will be sent; names are compared without case.
package struct Headers: Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var fields: [(name: String, value: String)] = []

  package init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0, value: $1) }
  }

  /// The first field of this name; setting it replaces all of them, nil removes them.
  package subscript(name: String) -> String? {
    get { fields.first { Self.isSame($0.name, name) }?.value }
    set {
      fields.removeAll { Self.isSame($0.name, name) }
      if let newValue { fields.append((name, newValue)) }
    }
  }

  /// Every value of this name, in order.
  package func all(_ name: String) -> [String] {
    fields.filter { Self.isSame($0.name, name) }.map(\.value)
  }

  /// Adds a field beside those of the same name.
  mutating func append(_ name: String, _ value: String) { fields.append((name, value)) }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8) { lowercase($0) == lowercase($1) }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
}
