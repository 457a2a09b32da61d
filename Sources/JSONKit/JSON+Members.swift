extension JSON {
  /// The elements of an array in order.
  package struct Elements: Sequence, IteratorProtocol, Sendable {
    private let document: Document
    private var index: Int
    private let end: Int

    init(_ array: JSON) {
      document = array.document
      index = array.index + 1
      end = array.kind == .array ? array.node.next : index
    }

    package mutating func next() -> JSON? {
      guard index < end else { return nil }
      defer { index = document.nodes[index].next }
      return JSON(document: document, index: index)
    }
  }

  /// The members of an object in order, repeated names included.
  package struct Members: Sequence, IteratorProtocol, Sendable {
    private var tokens: MemberTokens

    init(_ object: JSON) { tokens = MemberTokens(object) }

    package mutating func next() -> (name: String, value: JSON)? {
      tokens.next().map { (tokens.document.text(of: $0.name), $0.value) }
    }
  }

  /// What an array holds; nothing for any other value.
  package var elements: Elements { Elements(self) }

  /// What an object holds; nothing for any other value.
  package var members: Members { Members(self) }

  /// The member of an object, `nil` when absent.
  ///
  /// Names are compared scalar by scalar, not by meaning.
  ///
  /// - Throws: When this is no object, or when the name appears twice: readers would disagree on what it
  ///   says.
  package func member(_ name: String) throws(JSONError) -> JSON? {
    guard kind == .object else { throw failure("expected an object") }
    var found: JSON?
    for member in MemberTokens(self) where document.says(member.name, name) {
      guard found == nil else { throw member.value.failure("appears twice") }
      found = member.value
    }
    return found
  }
}

/// The members of an object, names not yet decoded.
struct MemberTokens: Sequence, IteratorProtocol, Sendable {
  let document: Document
  private var index: Int
  private let end: Int
  /// Where the search for the next name begins.
  private var position: Int

  init(_ object: JSON) {
    document = object.document
    index = object.index + 1
    end = object.kind == .object ? object.node.next : index
    position = object.node.start + 1
  }

  mutating func next() -> (name: Token, value: JSON)? {
    guard index < end else { return nil }
    let node = document.nodes[index]
    defer {
      index = node.next
      position = node.end
    }
    return (document.name(from: position), JSON(document: document, index: index))
  }
}
