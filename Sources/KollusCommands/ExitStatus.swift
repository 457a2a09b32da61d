import KollusCore

/// The exit statuses, by `sysexits.h` where it has them; the only table of its kind.
package enum ExitStatus {
  static let done: Int32 = 0
  /// A batch with mixed results.
  static let partly: Int32 = 1
  static let usage: Int32 = 64
  static let inputOutput: Int32 = 74

  static func of(_ kind: KollusError.Kind) -> Int32 {
    switch kind {
    case .usage: usage
    case .badData: 65
    case .unknownContent: 66
    case .refused: 69
    case .internalFailure: 70
    case .noSpace: 73
    case .inputOutput: inputOutput
    case .tryLater: 75
    case .licence: 77
    case .configuration: 78
    case .interrupted: 130
    }
  }

  /// The status of a batch: one cause for all is that cause's status, anything else is 1.
  static func of(batch failures: [KollusError], of count: Int) -> Int32 {
    var tally = BatchTally()
    for failure in failures { tally.add(failure) }
    tally.count = count
    return tally.status
  }

  /// Status and meaning, as the README tells them.
  package static let table: [(status: String, meaning: String)] = [
    ("0", "done"),
    ("1", "partly done: a batch with mixed results (all failed for one cause: that cause's status)"),
    ("64", "usage: the command was not written as it must be"),
    ("65", "bad data from an origin or callback, damaged bytes, or a content that is not downloaded"),
    ("66", "unknown media content key or report"),
    ("69", "refused by the origin or a callback, or its certificate cannot be trusted"),
    ("70", "internal error"),
    ("73", "no space left"),
    ("74", "a file could not be read or written"),
    ("75", "try again later: network, busy server, busy library"),
    ("77", "the licence refuses"),
    ("78", "configuration, home or device key is not as it must be"),
    ("129, 130, 143", "interrupted by SIGHUP, SIGINT, SIGTERM; the same command goes on from there"),
  ]
}

/// Counts how the items of a batch of any size ended.
struct BatchTally: Sendable {
  var count = 0
  private(set) var failures = 0
  private var statuses: Set<Int32> = []

  /// Notes a failure; `count` is the caller's.
  mutating func add(_ failure: KollusError) {
    failures += 1
    statuses.insert(ExitStatus.of(failure.kind))
  }

  /// One cause for all is that cause's status, any other mix 1.
  var status: Int32 {
    guard let first = statuses.first else { return ExitStatus.done }
    return failures == count && statuses.count == 1 ? first : ExitStatus.partly
  }
}
