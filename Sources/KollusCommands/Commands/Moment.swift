import ArgumentKit
import KollusCore
import SystemKit

/// A moment as people write it: a date, a date and time of day, or a span of time from now.
struct Moment: Sendable, Equatable, ArgumentValue, CustomStringConvertible {
  private enum Meaning: Sendable, Equatable {
    /// Unix seconds.
    case time(Int64)
    /// A whole day, by its last second.
    case day(Int64)
    case span(Int64)
  }

  private let meaning: Meaning
  /// As it was written.
  let description: String

  /// Unix seconds, counted from `now` where it is a span.
  func seconds(after now: Double) -> Int64 {
    switch meaning {
    case .time(let time), .day(let time): time
    case .span(let seconds): Int64(now) + seconds
    }
  }

  /// Unix seconds of the moment as one in the past: the beginning of a day, or a span ago.
  func seconds(before now: Double) -> Int64 {
    switch meaning {
    case .time(let time): time
    // The last day of summer time is an hour longer or shorter.
    case .day(let end): Self.time("\(description)T00:00") ?? end - 86_399
    case .span(let seconds): Int64(now) - seconds
    }
  }

  init(argument: String) throws(UsageError) {
    description = argument
    if let span = TimeSpan(argument), argument.last.map({ "smhd".contains($0) }) ?? false {
      meaning = .span(span.milliseconds / 1_000)
    } else if let time = Self.time(argument) {
      meaning = argument.contains("T") ? .time(time) : .day(time)
    } else {
      throw UsageError(
        "'\(argument)' is not a date",
        hint: "write 2026-12-24, 2026-12-24T18:00, 2026-12-24T09:00:00Z, or a span such as 7d")
    }
  }

  /// `YYYY-MM-DD`, then `THH:MM` or `THH:MM:SS`, then `Z` or `+HH:MM`; without a time the end of the day.
  private static func time(_ text: String) -> Int64? {
    let halves = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
    let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard date.count == 3, let year = number(date[0], 4), let month = number(date[1], 2),
      let day = number(date[2], 2)
    else { return nil }
    guard halves.count == 2 else {
      return WallClock.seconds(
        year: year, month: month, day: day, hour: 23, minute: 59, second: 59, isLocal: true)
    }
    guard let (clock, offset) = zone(halves[1]) else { return nil }
    let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3, let hour = number(parts[0], 2),
      let minute = number(parts[1], 2),
      let second = parts.count == 3 ? number(parts[2], 2) : 0,
      let seconds = WallClock.seconds(
        year: year, month: month, day: day, hour: hour, minute: minute, second: second, isLocal: offset == nil
      )
    else { return nil }
    return seconds - (offset ?? 0)
  }

  /// The time of day and its distance from UTC in seconds, `nil` for local time.
  private static func zone(_ text: Substring) -> (Substring, Int64?)? {
    if text.hasSuffix("Z") { return (text.dropLast(), 0) }
    guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return (text, nil) }
    let parts = text[text.index(after: sign)...].split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let hours = number(parts[0], 2), let minutes = number(parts[1], 2), hours < 24,
      minutes < 60
    else { return nil }
    let offset = Int64(hours) * 3_600 + Int64(minutes) * 60
    return (text[..<sign], text[sign] == "-" ? -offset : offset)
  }

  private static func number(_ text: Substring, _ digits: Int) -> Int32? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int32(text)
  }
}
