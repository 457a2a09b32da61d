/// A text that equals another only byte for byte.
///
/// Swift takes texts for equal that merely look alike, such as Hangul composed and decomposed; keys that
/// differ in bytes are different contents.
package struct ExactText: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(0xff as UInt8)
  }
}

extension String {
  /// Whether both texts are the same bytes.
  package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
