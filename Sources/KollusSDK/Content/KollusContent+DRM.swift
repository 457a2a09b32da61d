public import Foundation
import KollusCore

/// The licence of a content, in remaining terms: counts and times are what is left, a maximum of 0 is no limit (PROTO §6.1).
///
/// The vendor's guide spells these members in two ways, as the headers have them and as Swift imports them; both are here.
extension KollusContent {
  /// Whether the licence itself refuses a play, for whatever reason: forced, by a limit, past its hidden check date, or
  /// because what is stored of it was changed by hand.
  ///
  /// Judged anew with each reading, by the latest time known.
  public var DRMExpired: Bool { isExpired }
  /// When it ends; `nil` for never.
  public var DRMExpireDate: Date? { Self.date(licence.expirationDate) }
  /// The hidden date by which it must have been renewed; `nil` for none.
  public var DRMCheckDate: Date? { Self.date(licence.checkDate) }
  /// Seconds of play time in all; 0 for no limit.
  public var DRMTotalExpirePlayTime: Int { Int(clamping: licence.playTime.maximum) }
  /// Seconds of play time left; 0 as well where nothing limits.
  public var DRMExpirePlayTime: Int { Int(clamping: licence.playTime.left) }
  /// Plays in all; 0 for no limit.
  public var DRMExpireCountMax: Int { Int(clamping: licence.plays.maximum) }
  /// Plays left; 0 as well where nothing limits.
  public var DRMExpireCount: Int { Int(clamping: licence.plays.left) }
  /// Whether the user is to be asked before an expired licence is renewed.
  public var DRMExpireRefreshPopup: Bool { licence.asksBeforeRenewal }

  private static func date(_ limit: Limit) -> Date? {
    limit.value.map { Date(timeIntervalSince1970: TimeInterval($0)) }
  }
}

extension KollusContent {
  /// The same as ``DRMExpired``.
  public var drmExpired: Bool { DRMExpired }
  /// The same as ``DRMExpireDate``.
  public var drmExpireDate: Date? { DRMExpireDate }
  /// The same as ``DRMCheckDate``.
  public var drmCheckDate: Date? { DRMCheckDate }
  /// The same as ``DRMTotalExpirePlayTime``.
  public var drmTotalExpirePlayTime: Int { DRMTotalExpirePlayTime }
  /// The same as ``DRMExpirePlayTime``.
  public var drmExpirePlayTime: Int { DRMExpirePlayTime }
  /// The same as ``DRMExpireCountMax``.
  public var drmExpireCountMax: Int { DRMExpireCountMax }
  /// The same as ``DRMExpireCount``.
  public var drmExpireCount: Int { DRMExpireCount }
  /// The same as ``DRMExpireRefreshPopup``.
  public var drmExpireRefreshPopup: Bool { DRMExpireRefreshPopup }
}
