import JSONKit

/// A mark in a content (PROTO §3.9).
package struct Bookmark: Sendable, Equatable {
  /// Who made it; the raw value is the vendor's number.
  package enum Kind: Int64, Sendable {
    case user = 0
    /// The provider's table of contents; nobody changes it here.
    case index = 1
  }

  /// Whole seconds of the media.
  package var position: Int64
  /// What a user noted; without `&`, which the vendor's interface does not take.
  package var value: String
  /// The provider's title.
  package var label: String
  package var kind: Kind
  /// Unix seconds when it was made, 0 where nobody says.
  package var localTime: Int64

  /// Most marks of one content, and most changes of one content that wait to be sent.
  package static let countLimit = 1_000
  /// Longest text of a mark, in bytes.
  package static let textLimit = 1_024
  /// Where a mark may be, in seconds.
  package static let positions: ClosedRange<Int64> = 0...1_000_000_000

  package init(
    position: Int64, value: String = "", label: String = "", kind: Kind = .user, localTime: Int64 = 0
  ) {
    (self.position, self.value, self.label) = (position, value, label)
    (self.kind, self.localTime) = (kind, localTime)
  }

  /// Why it cannot be kept; `nil` when it can.
  package var fault: String? {
    if !Self.positions.contains(position) { return "its position is out of range" }
    if value.utf8.count > Self.textLimit || label.utf8.count > Self.textLimit {
      return "its text is longer than \(Self.textLimit) bytes"
    }
    if value.utf8.contains(UInt8(ascii: "&")) { return "its value holds an &" }
    if value.utf8.contains(0) || label.utf8.contains(0) { return "its text holds a NUL" }
    return nil
  }
}

extension Bookmark {
  /// Reads `bookmarks` of a manifest: at most 1000 objects `{"position":…,"value":…,"label":…,"kind":…}`.
  ///
  /// `kind` is index when absent.
  static func read(_ list: JSON) throws(JSONError) -> [Bookmark] {
    guard list.count <= countLimit else { throw list.failure("expected at most \(countLimit) marks") }
    var marks: [Bookmark] = []
    for element in list.elements {
      guard element.kind == .object else { throw element.failure("expected an object") }
      guard let position = try element.integer("position", in: positions) else {
        throw JSONError(path: "\(element.path).position", reason: "expected seconds")
      }
      guard let kind = Kind(rawValue: try element.integer("kind") ?? Kind.index.rawValue) else {
        throw JSONError(path: "\(element.path).kind", reason: "expected 0 or 1")
      }
      let mark = Bookmark(
        position: position, value: try element.string("value") ?? "",
        label: try element.string("label") ?? "",
        kind: kind)
      if let fault = mark.fault { throw element.failure(fault) }
      marks.append(mark)
    }
    return marks
  }
}
