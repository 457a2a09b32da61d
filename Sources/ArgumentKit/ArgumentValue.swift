/// A value type that can say better than "not valid" what is wrong with a word.
///
/// Any other `LosslessStringConvertible` type can be the value of an ``Input`` as well.
package protocol ArgumentValue: LosslessStringConvertible {
  /// Reads a word; the error's message is shown behind the name of the input, as in `--until: …`.
  init(argument: String) throws(UsageError)
}

extension ArgumentValue {
  package init?(_ description: String) {
    do { try self.init(argument: description) } catch { return nil }
  }
}

extension Declaration {
  /// Converts one word by the best reader its type offers.
  func value<Value: LosslessStringConvertible>(_ word: String) throws(UsageError) -> Value {
    if let type = Value.self as? any ArgumentValue.Type {
      do {
        if let value = try type.init(argument: word) as? Value { return value }
      } catch {
        throw UsageError("\(label): \(error.message)", hint: error.hint)
      }
    }
    guard let value = Value(word) else { throw invalid(word) }
    return value
  }

  /// Refuses a word that is not among the allowed ones.
  func choice(_ word: String) throws(UsageError) -> String {
    guard choices.contains(word) else { throw invalid(word) }
    return word
  }

  func invalid(_ word: String) -> UsageError {
    let place = kind == .positional ? placeholder : "\(placeholder) for \(label)"
    let allowed = choices.isEmpty ? "" : " (allowed: \(choices.joined(separator: ", ")))"
    return UsageError("'\(word)' is not a valid \(place)\(allowed)")
  }
}
