public import Foundation
import KollusCore

/// Who made a bookmark (PROTO §4.4).
public enum KollusBookmarkKind: Int, Sendable, CaseIterable {
  /// The user; such marks can be changed where the licence lets them.
  case user = 0
  /// The provider: a table of contents, which nobody changes here.
  case index = 1
}

/// A mark in a content (PROTO §3.9).
public struct KollusBookmark: Sendable, Equatable {
  /// Seconds of the media, whole ones.
  public let position: TimeInterval
  /// When it was made; `nil` for those that came with the download.
  public let time: Date?
  /// The provider's title, empty for the user's marks.
  public let title: String
  /// What the user noted.
  public let value: String
  /// Who made it.
  public let kind: KollusBookmarkKind

  init(_ mark: Bookmark) {
    position = TimeInterval(mark.position)
    time = mark.localTime > 0 ? Date(timeIntervalSince1970: TimeInterval(mark.localTime)) : nil
    (title, value) = (mark.label, mark.value)
    kind = mark.kind == .index ? .index : .user
  }
}
