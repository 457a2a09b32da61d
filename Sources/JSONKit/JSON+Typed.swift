/// Typed reading of members: absent and `null` are `nil`, a wrong type is an error that names the member.
extension JSON {
  package func string(_ name: String) throws(JSONError) -> String? {
    try member(name, "expected a string", \.string)
  }

  /// An integer token that fits `Int64`: `1.0`, `1e3`, `"1"` and `true` are refused.
  package func integer(_ name: String) throws(JSONError) -> Int64? {
    try integer(name, in: .min ... .max)
  }

  /// An integer token within a range.
  package func integer(_ name: String, in range: ClosedRange<Int64>) throws(JSONError) -> Int64? {
    guard let value = try present(name) else { return nil }
    guard value.kind == .integer else { throw value.failure("expected an integer") }
    guard let integer = value.integer, range.contains(integer) else {
      throw value.failure("expected an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return integer
  }

  package func number(_ name: String) throws(JSONError) -> Double? {
    try member(name, "expected a number", \.number)
  }

  package func bool(_ name: String) throws(JSONError) -> Bool? {
    try member(name, "expected true or false", \.bool)
  }

  package func array(_ name: String) throws(JSONError) -> JSON? {
    try member(name, "expected an array") { $0.kind == .array ? $0 : nil }
  }

  package func object(_ name: String) throws(JSONError) -> JSON? {
    try member(name, "expected an object") { $0.kind == .object ? $0 : nil }
  }

  private func present(_ name: String) throws(JSONError) -> JSON? {
    guard let value = try member(name), !value.isNull else { return nil }
    return value
  }

  private func member<Value>(
    _ name: String, _ expectation: String, _ read: (JSON) -> Value?
  ) throws(JSONError) -> Value? {
    guard let value = try present(name) else { return nil }
    guard let result = read(value) else { throw value.failure(expectation) }
    return result
  }
}
