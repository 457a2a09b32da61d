/// The date form of HTTP headers.
package enum HTTPDate {
  /// Writes Unix seconds as, say, `Thu, 01 Jan 1970 00:00:00 GMT`; times outside 1970 to 9999 become the
  /// nearest.
  package static func text(seconds: Int64) -> String {
    let time = Int(min(max(seconds, 0), 253_402_300_799))
    let (day, second) = time.quotientAndRemainder(dividingBy: 86_400)
    let clock = [second / 3_600, second / 60 % 60, second % 60].map(twoDigits).joined(separator: ":")
    let date = civil(day)
    return
      "\(weekdays[(day + 4) % 7]), \(twoDigits(date.day)) \(months[date.month]) \(date.year) \(clock) GMT"
  }

  /// The Gregorian date of a day since 1970; `month` counts from 0.
  ///
  /// Years are taken to begin in March, so that the leap day comes last.
  private static func civil(_ day: Int) -> (year: Int, month: Int, day: Int) {
    let (era, inEra) = (day + 719_468).quotientAndRemainder(dividingBy: 146_097)
    let year = (inEra - inEra / 1_460 + inEra / 36_524 - inEra / 146_096) / 365
    let inYear = inEra - (365 * year + year / 4 - year / 100)
    let month = (5 * inYear + 2) / 153
    return (
      era * 400 + year + (month < 10 ? 0 : 1), (month + 2) % 12, inYear - (153 * month + 2) / 5 + 1
    )
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
