/// A limit of a licence: none was ever told, none is set, or up to a value.
///
/// What is not told and what is unlimited permit the same; they are kept apart because an answer that leaves
/// a limit out changes nothing where one that says 0 lifts it (design §6).
package enum Limit: Sendable, Equatable {
  case none
  case unlimited
  /// Unix seconds of a date, a number of plays, or seconds of play time; above 0.
  case value(Int64)

  /// The value, or `nil` where nothing limits.
  package var value: Int64? {
    if case .value(let value) = self { value } else { nil }
  }
}

/// A limit that is used up: plays, or seconds of play time.
package struct Allowance: Sendable, Equatable {
  package var limit = Limit.none
  /// Never negative; kept when the limit changes without a reset.
  package var used: Int64 = 0

  package init(_ limit: Limit = .none, used: Int64 = 0) { (self.limit, self.used) = (limit, used) }

  /// The most there is, 0 for no limit (the vendor's way to say it).
  package var maximum: Int64 { limit.value ?? 0 }
  /// What is left, never negative; 0 where nothing limits.
  package var left: Int64 { max(0, maximum - used) }
  package var isUsedUp: Bool { limit.value.map { used >= $0 } ?? false }
}

/// What play time is counted in (`expiration_playtime_type`).
package enum PlayTimeType: Int64, Sendable {
  /// Seconds of the media, whatever the speed.
  case media = 0
  /// Seconds on the clock while playing.
  case clock = 1
}

/// Whether bookmarks were to be had at the download, and may be changed (`offline_bookmark`).
package struct OfflineBookmark: Sendable, Equatable {
  /// 0 none, 1 index marks, 2 index and user marks.
  package var download: Int64 = 0
  package var isReadOnly = false

  package init(download: Int64 = 0, isReadOnly: Bool = false) {
    (self.download, self.isReadOnly) = (download, isReadOnly)
  }
}
