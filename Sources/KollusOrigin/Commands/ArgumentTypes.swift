import ArgumentKit

/// A picture size written `1280x720`.
struct PixelSize: ArgumentValue, Equatable, Sendable {
  let width: Int64
  let height: Int64

  init(argument: String) throws(UsageError) {
    let parts = argument.split(separator: "x", omittingEmptySubsequences: false).map { positive($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1] else {
      throw UsageError("'\(argument)' is no size such as 1280x720")
    }
    (self.width, self.height) = (width, height)
  }

  var description: String { "\(width)x\(height)" }
}

/// A preview in seconds written `0:30`.
struct PlaySection: ArgumentValue, Equatable, Sendable {
  let seconds: ClosedRange<Int64>

  init(argument: String) throws(UsageError) {
    let parts = argument.split(separator: ":", omittingEmptySubsequences: false).map { digits($0) }
    guard parts.count == 2, let start = parts[0], let end = parts[1], end > start else {
      throw UsageError("'\(argument)' is no section such as 0:30, whose end comes after its start")
    }
    seconds = start...end
  }

  var description: String { "\(seconds.lowerBound):\(seconds.upperBound)" }
}

/// A segment size in bytes: a power of two from 64 KiB to 8 MiB, written `1048576`, `512K` or `1M`.
struct SegmentSize: ArgumentValue, Equatable, Sendable {
  let bytes: Int

  init(argument: String) throws(UsageError) {
    let unit: Int64 = argument.hasSuffix("K") ? 1 << 10 : argument.hasSuffix("M") ? 1 << 20 : 1
    let number = positive(unit == 1 ? argument[...] : argument.dropLast())
    guard let number, number <= 8 << 20, case let size = number * unit, (65_536...8_388_608).contains(size),
      size & (size - 1) == 0
    else { throw UsageError("'\(argument)' is no power of two from 64K to 8M") }
    bytes = Int(size)
  }

  var description: String { "\(bytes)" }
}

/// A length in seconds, fractions allowed.
struct Seconds: ArgumentValue, Equatable, Sendable {
  let value: Double

  init(argument: String) throws(UsageError) {
    guard let value = Double(argument), value.isFinite, value > 0 else {
      throw UsageError("'\(argument)' is no length in seconds")
    }
    self.value = value
  }

  var description: String { "\(value)" }
}

/// A whole number from 1 on.
struct Count: ArgumentValue, Equatable, Sendable {
  let value: Int64

  init(argument: String) throws(UsageError) {
    guard let value = positive(argument[...]) else {
      throw UsageError("'\(argument)' is no whole number from 1 on")
    }
    self.value = value
  }

  var description: String { "\(value)" }
}

/// An absolute http or https URL.
struct WebAddress: ArgumentValue, Equatable, Sendable {
  let description: String

  init(argument: String) throws(UsageError) {
    let lower = argument.lowercased()
    let rest = ["https://", "http://"].first { lower.hasPrefix($0) }.map { argument.dropFirst($0.count) }
    // A user and password in it would be refused by the client.
    guard let rest, let first = rest.first, first != "/",
      !rest.prefix(while: { !"/?#".contains($0) }).contains("@"),
      !argument.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7f })
    else { throw UsageError("'\(argument)' is no http or https URL") }
    description = argument
  }
}

/// Where a callback is: an absolute http or https URL, or a reference such as `../drm`, which the client
/// resolves against the manifest's own URL.
struct CallbackReference: ArgumentValue, Equatable, Sendable {
  let description: String

  init(argument: String) throws(UsageError) {
    // Without a path before it `example.com` would be a file beside the manifest, which nobody means.
    let isRelative = ["../", "./", "/"].contains { argument.hasPrefix($0) } && !argument.hasPrefix("//")
    guard isRelative else {
      description = try WebAddress(argument: argument).description
      return
    }
    guard !argument.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7f }) else {
      throw UsageError("'\(argument)' is no reference such as ../drm")
    }
    description = argument
  }
}

/// The console's form of an LMS callback, an interval in seconds before the URL: `60:https://…`, or before a
/// reference such as `../lms?json_data={JSON_DATA}`.
struct LMSCallback: ArgumentValue, Equatable, Sendable {
  let description: String

  init(argument: String) throws(UsageError) {
    let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, positive(parts[0]) != nil else {
      throw UsageError("'\(argument)' is no callback such as 60:https://example.com/lms")
    }
    _ = try CallbackReference(argument: String(parts[1]))
    description = argument
  }
}

/// A number of plain digits, which `Int64` alone would not insist on.
func digits(_ text: Substring) -> Int64? {
  text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
}

private func positive(_ text: Substring) -> Int64? { digits(text).flatMap { $0 > 0 ? $0 : nil } }
