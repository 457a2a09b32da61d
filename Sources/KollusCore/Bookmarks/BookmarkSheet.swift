/// The marks of one content as one user sees them, and what may be done with them.
package struct BookmarkSheet: Sendable, Equatable {
  /// A change that was made here: a mark, or that there is none at a position any more.
  struct Change: Sendable, Equatable {
    var mark: Bookmark
    var isRemoved = false
  }

  /// By position, the provider's before the user's.
  package let marks: [Bookmark]
  /// What the licence lets a download bring along: 0 no marks, 1 the index, 2 the user's as well.
  package let download: Int64
  /// Whether marks may only be looked at.
  package let isReadOnly: Bool

  /// Whether there can be any marks at all.
  package var isUsed: Bool { download > 0 || !isReadOnly }

  /// What came with the download, as far as `policy` lets it, with the changes made here laid over it.
  ///
  /// Without a licence there is no policy, and nothing is held back.
  init(origin: [Bookmark], changes: [Change], policy: OfflineBookmark?) {
    download = policy?.download ?? 2
    isReadOnly = policy?.isReadOnly ?? false
    var index: [Int64: Bookmark] = [:]
    var user: [Int64: Bookmark] = [:]
    for mark in origin {
      if mark.kind == .index, download >= 1 { index[mark.position] = mark }
      if mark.kind == .user, download >= 2 { user[mark.position] = mark }
    }
    for change in changes { user[change.mark.position] = change.isRemoved ? nil : change.mark }
    marks = (Array(index.values) + Array(user.values)).sorted {
      ($0.position, -$0.kind.rawValue) < ($1.position, -$1.kind.rawValue)
    }
  }

  /// The user's mark at a position.
  package func userMark(at position: Int64) -> Bookmark? {
    marks.first { $0.kind == .user && $0.position == position }
  }
}
