import JSONKit

/// Reading the values of a policy's control members; an error says what was expected and where.
extension JSON {
  func span(signed: Bool = false) throws(JSONError) -> Span {
    let text = kind == .integer || kind == .number ? rawText : string
    guard let span = text.flatMap({ Span($0, signed: signed) }) else {
      throw failure("expected a time such as \(signed ? "30d or -20m" : "30s")")
    }
    return span
  }

  func flag() throws(JSONError) -> Bool {
    guard let bool else { throw failure("expected true or false") }
    return bool
  }

  func count(in range: ClosedRange<Int64>) throws(JSONError) -> Int {
    guard let integer, range.contains(integer) else {
      throw failure("expected an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return Int(integer)
  }

  /// A number of bytes: an integer, or one with a unit such as `64M`; at most 1 TiB.
  func byteCount() throws(JSONError) -> Int {
    let text = kind == .integer ? rawText : string ?? ""
    let shift = text.last.flatMap { ["K": 10, "M": 20, "G": 30][$0] }
    guard let number = digits(shift == nil ? text[...] : text.dropLast()), number <= (1 << 40) >> (shift ?? 0)
    else { throw failure("expected a number of bytes such as 4096 or 64M") }
    return Int(number << (shift ?? 0))
  }

  func text() throws(JSONError) -> String {
    guard let string else { throw failure("expected a string") }
    return string
  }

  /// A text, or an integer's digits, that a header can hold.
  func headerText() throws(JSONError) -> String {
    guard let text = kind == .integer ? rawText : string,
      !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
    else { throw failure("expected a text that a header can hold") }
    return text
  }

  func choice<Choice: CaseIterable & RawRepresentable>(
    _: Choice.Type = Choice.self
  ) throws(JSONError) -> Choice where Choice.RawValue == String {
    guard let choice = string.flatMap(Choice.init) else {
      throw failure("expected one of: \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }
}
