import Glibc

/// Time of day as the device tells it.
package enum WallClock {
  /// Seconds since 1970, UTC.
  package static func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// `2026-01-01T00:00:00Z` for seconds since 1970; times outside the years 0 to 9999 are clamped.
  package static func text(_ seconds: Int64) -> String {
    var time = time_t(min(max(seconds, -62_167_219_200), 253_402_300_799))
    var parts = unsafe tm()
    unsafe gmtime_r(&time, &parts)
    func digits(_ value: Int32, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let date =
      unsafe "\(digits(parts.tm_year + 1_900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
    return unsafe "\(date)T\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))Z"
  }

  /// `2026-01-01` of a time in seconds since 1970, in the zone of the machine.
  package static func localDate(_ seconds: Int64) -> String {
    var time = time_t(min(max(seconds, 0), 253_402_300_799))
    var parts = unsafe tm()
    unsafe localtime_r(&time, &parts)
    func digits(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return unsafe "\(parts.tm_year + 1_900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
  }

  /// Unix seconds of a date and time of day, in the zone of the machine or in UTC; `nil` for one that the
  /// calendar does not have.
  package static func seconds(
    year: Int32, month: Int32, day: Int32, hour: Int32, minute: Int32, second: Int32, isLocal: Bool
  ) -> Int64? {
    guard (1...9_999).contains(year) else { return nil }
    var parts = unsafe tm()
    unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1_900, month - 1, day)
    unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (hour, minute, second, -1)
    let time = unsafe isLocal ? mktime(&parts) : timegm(&parts)
    // A date that does not exist comes back as another one.
    guard unsafe parts.tm_mday == day, unsafe parts.tm_mon == month - 1, (0..<24).contains(hour),
      (0..<60).contains(minute), (0..<60).contains(second)
    else { return nil }
    return Int64(time)
  }
}
