import SystemKit

/// What the customer's server has granted for one content, and what was used of it (PROTO §2.5, §6.1).
package struct Licence: Sendable, Equatable {
  /// Why a licence has expired; the raw value is Kollus's number.
  package enum Cause: Int64, Sendable, CaseIterable {
    /// The completion of the download was refused or not answered.
    case completion = -8656
    /// The server said `content_expired`.
    case forced = -8658
    /// The server said `content_delete`.
    case deletion = -8680
    case checkDate = -8687
    case date = -8643
    case count = -8644
    case playTime = -8683

    /// Whether the server had its hand in it.
    package var isForced: Bool { self == .completion || self == .forced || self == .deletion }
  }

  /// Unix seconds until which it may be played.
  package var expirationDate = Limit.none
  package var plays = Allowance()
  /// Seconds.
  package var playTime = Allowance()
  package var playTimeType = PlayTimeType.media
  /// The hidden deadline for a renewal, Unix seconds.
  package var checkDate = Limit.none
  /// Set when it has expired; only an answer with `content_expire_reset` clears it.
  package var expired: Cause?
  /// Whether the user is to be asked before an expired content is renewed.
  package var asksBeforeRenewal = false
  /// Kept, not enforced: only players on PCs look for virtual machines.
  package var checksVirtualMachine = true
  /// Whether the server must be asked before each play.
  package var checksAbuse = false
  package var offlineBookmark = OfflineBookmark()

  package init() {}

  /// Whether the clock matters to it.
  package var isDated: Bool { expirationDate.value != nil || checkDate.value != nil }

  /// Why it has expired at `now` by its own limits, in the order of PROTO §6.1.
  package func causes(at now: Int64) -> [Cause] {
    var causes: [Cause] = []
    if let date = checkDate.value, now >= date { causes.append(.checkDate) }
    if let date = expirationDate.value, now >= date { causes.append(.date) }
    if plays.isUsedUp { causes.append(.count) }
    if playTime.isUsedUp { causes.append(.playTime) }
    return causes
  }

  /// Whether it has expired at `now`, for whatever cause.
  package func isExpired(at now: Int64) -> Bool { expired != nil || !causes(at: now).isEmpty }

  /// Keeps an expiry that a play or a renewal found: it stays until a reset.
  package mutating func noteExpiry(at now: Int64) { expired = expired ?? causes(at: now).first }
}

extension Licence {
  /// What it allows, for people: `until 2026-01-01T00:00:00Z, 20 of 20 plays, 7200 of 7200 s`.
  package var summary: String {
    var parts: [String] = []
    if let date = expirationDate.value { parts.append("until \(WallClock.text(date))") }
    if plays.limit.value != nil { parts.append("\(plays.left) of \(plays.maximum) plays left") }
    if playTime.limit.value != nil {
      parts.append("\(playTime.left) of \(playTime.maximum) s of play time left")
    }
    if parts.isEmpty { parts.append("no limit") }
    if checksAbuse { parts.append("the server is asked before each play") }
    return parts.joined(separator: ", ")
  }
}
