import SealKit

/// The highest time ever seen, against clocks that are set back (design §6).
///
/// All times are Unix seconds; time zones play no part.
package struct TimeLedger: Sendable, Equatable {
  /// How far the device clock may be below what was seen.
  static let tolerance: Int64 = 5 * 60
  /// How far the device clock may be from a server's for a download to go on (−8664).
  static let serverTolerance: Int64 = 10 * 60

  /// The highest time seen, or what a trusted server said since.
  package private(set) var seen: Int64
  /// How much the device clock was behind a trusted server's; 0 when it was not.
  ///
  /// A clock that is wrong and stays wrong must not lock anyone out after an exchange that told the time.
  package private(set) var lag: Int64

  /// Grows with every change that is stored.
  package internal(set) var change: Int64

  package init(seen: Int64 = 0, lag: Int64 = 0, change: Int64 = 0) {
    (self.seen, self.lag, self.change) = (Self.clamped(seen), Self.clamped(lag), max(0, change))
  }

  /// 2026-01-01 in Unix seconds: no clock that stands before that was ever set.
  static let earliest: Int64 = 1_767_225_600

  /// Clocks and dates come from outside: what lies before 1970 or beyond the year 36,000 counts as the end of that.
  private static func clamped(_ time: Int64) -> Int64 { min(max(time, 0), 1 << 40) }

  package enum Reading: Sendable, Equatable {
    /// The time to judge dates by.
    case time(Int64)
    /// The clock is so many seconds below what was seen.
    case setBack(by: Int64)
  }

  /// What the device clock means.
  ///
  /// It is believed when it is not behind what was seen, else when it is just as far behind as it was at the
  /// last trusted answer.
  package func read(_ device: Int64) -> Reading {
    let device = Self.clamped(device)
    if device >= seen - Self.tolerance { return .time(max(device, seen)) }
    let corrected = Self.clamped(device + lag)
    if lag > 0, corrected >= seen - Self.tolerance { return .time(max(corrected, seen)) }
    return .setBack(by: seen - device)
  }

  /// The best guess at the time now, for what cannot be refused.
  package func time(_ device: Int64) -> Int64 {
    if case .time(let time) = read(device) { time } else { seen }
  }

  /// Notes that time has passed; a clock that was set back changes nothing.
  package mutating func advance(_ device: Int64) {
    guard case .time(let time) = read(device) else { return }
    // A clock that is right again is not behind any more: what it loses later is not to be added.
    if device >= seen - Self.tolerance { lag = 0 }
    seen = max(seen, time)
  }

  /// Takes a trusted server's word for the time, later or earlier than what was seen.
  package mutating func set(to date: Int64, device: Int64) {
    seen = Self.clamped(date)
    let behind = seen - Self.clamped(device)
    lag = behind > Self.tolerance ? behind : 0
  }
}

extension TimeLedger {
  /// The code that shows an edit of the stored ledger.
  func code(by identity: DeviceIdentity) -> [UInt8] { HMAC.sha256(message, key: identity.licenceKey).bytes }

  func isValid(_ code: [UInt8], by identity: DeviceIdentity) -> Bool {
    HMAC.isValid(code, for: message, key: identity.licenceKey)
  }

  /// Number 0 has only a ledger from before there were numbers, and its code does not cover one.
  private var message: [UInt8] { Array("ledger 1 \(change > 0 ? "\(change) " : "")\(seen) \(lag)".utf8) }
}
