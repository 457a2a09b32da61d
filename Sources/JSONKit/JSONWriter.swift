/// Appends compact JSON to a byte buffer and sets the commas.
///
/// The caller keeps the order: `name` before each value inside an object, and every `begin` with its `end`.
/// The output is valid UTF-8 and holds no character that a terminal would obey.
package struct JSONWriter: Sendable {
  /// What was written so far.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init(reserving capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package mutating func beginObject() { begin(UInt8(ascii: "{")) }

  package mutating func endObject() { end(UInt8(ascii: "}")) }

  package mutating func beginArray() { begin(UInt8(ascii: "[")) }

  package mutating func endArray() { end(UInt8(ascii: "]")) }

  /// The name of the member whose value is written next.
  package mutating func name(_ name: String) {
    beginValue()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  package mutating func value(_ string: String) {
    beginValue()
    quote(string)
  }

  package mutating func value(_ integer: Int64) {
    beginValue()
    if integer < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = integer.magnitude
    var low = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    // The last digit came first.
    var high = bytes.count - 1
    while low < high {
      bytes.swapAt(low, high)
      (low, high) = (low + 1, high - 1)
    }
  }

  package mutating func value(_ integer: Int) { value(Int64(integer)) }

  package mutating func value(_ bool: Bool) { raw(bool ? "true" : "false") }

  /// The shortest digits that read back as the same number, `600.0` for a whole one; `null` unless it is
  /// finite.
  package mutating func value(_ double: Double) { raw(double.isFinite ? "\(double)" : "null") }

  package mutating func null() { raw("null") }

  /// One value that is JSON already; nothing checks it.
  package mutating func raw(_ json: String) {
    beginValue()
    bytes.append(contentsOf: json.utf8)
  }

  /// Makes the writer ready for another document.
  package mutating func removeAll(keepingCapacity: Bool) {
    bytes.removeAll(keepingCapacity: keepingCapacity)
    needsComma = false
  }

  private mutating func begin(_ bracket: UInt8) {
    beginValue()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func beginValue() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func quote(_ string: String) {
    bytes.append(UInt8(ascii: "\""))
    if mayNeedEscape(string.utf8Span.span) {
      for scalar in string.unicodeScalars { append(scalar) }
    } else {
      bytes.append(contentsOf: string.utf8)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func append(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0x22, 0x5C:
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(UInt8(truncatingIfNeeded: scalar.value))
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
      bytes.append(contentsOf: "\\u".utf8)
      for shift in [12, 8, 4, 0] {
        let digit = UInt8(truncatingIfNeeded: scalar.value >> shift & 15)
        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
  }
}

/// Whether any byte is, or begins, a scalar that may have to be escaped; most texts have none and are copied
/// whole.
///
/// The whole text is looked at without a way out, since many bytes at once take less time than a choice at each.
private func mayNeedEscape(_ text: Span<UInt8>) -> Bool {
  var isSuspect = false
  for index in text.indices {
    let byte = text[index]
    let isOne =
      byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || byte == 0xC2 || byte == 0xD8
      || byte == 0xE2
    isSuspect = isOne || isSuspect
  }
  return isSuspect
}

/// A name and its value at once; `nil` writes `null`.
extension JSONWriter {
  package mutating func member(_ name: String, _ value: String?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  package mutating func member(_ name: String, _ value: Int?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  package mutating func member(_ name: String, _ value: Int64?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  package mutating func member(_ name: String, _ value: Double?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  package mutating func member(_ name: String, _ value: Bool?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }
}

extension String {
  /// This text as a JSON string, quotes included.
  package var jsonQuoted: String {
    var writer = JSONWriter(reserving: utf8.count + 2)
    writer.value(self)
    return writer.text
  }
}
