/// Dates of HTTP headers in the three forms that a recipient has to take (RFC 9110 §5.6.7).
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Unix seconds of `Sun, 06 Nov 1994 08:49:37 GMT`, of `Sunday, 06-Nov-94 08:49:37 GMT` and of
  /// `Sun Nov  6 08:49:37 1994`, or `nil`.
  ///
  /// A year of two digits that would lie more than 50 years ahead of 2026 is one of the century before.
  static func seconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    switch words.count {
    case 6 where words[5] == "GMT": return seconds(words[1], words[2], year: number(words[3], 4), words[4])
    case 4 where words[3] == "GMT":
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard date.count == 3, let year = number(date[2], 2) else { return nil }
      return seconds(date[0], date[1], year: year > 76 ? 1_900 + year : 2_000 + year, words[2])
    case 5:
      let day = words[2].utf8.count == 1 ? "0\(words[2])"[...] : words[2]
      return seconds(day, words[1], year: number(words[4], 4), words[3])
    default: return nil
    }
  }

  private static func seconds(
    _ day: Substring, _ month: Substring, year: Int64?, _ clock: Substring
  ) -> Int64? {
    guard let day = number(day, 2), let month = months.firstIndex(of: String(month)), let year,
      year >= 1_601
    else { return nil }
    let time = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(time[0], 2), let minute = number(time[1], 2),
      let second = number(time[2], 2), day >= 1, hour < 24, minute < 60, second <= 60
    else { return nil }
    let first = days(year, Int64(month) + 1, 1)
    // The day after the last of its month is the first of the next.
    let next = month == 11 ? days(year + 1, 1, 1) : days(year, Int64(month) + 2, 1)
    guard day <= next - first else { return nil }
    return (first + day - 1) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  private static func number(_ text: Substring, _ digits: Int) -> Int64? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text)
  }

  /// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
