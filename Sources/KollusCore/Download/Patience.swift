/// How long to wait before each further try: doubling from half a second, with jitter, at most a minute.
struct Patience: Sendable {
  /// A server's `Retry-After` is waited for up to this long, in seconds; a longer one ends the run.
  static let longestWait = 120.0

  let retries: Int
  private(set) var failures = 0

  init(retries: Int) { self.retries = retries }

  /// Progress earns all tries back.
  mutating func reset() { failures = 0 }

  /// The delay before the next try, or `nil` when there is none left or the server asks for too much.
  ///
  /// `notBefore` is the server's own word in Unix seconds, never undercut.
  mutating func next(
    notBefore: Double?, now: Double, jitter: Double = Double.random(in: 0.75...1.25)
  ) -> Duration? {
    guard failures < retries else { return nil }
    let own = min(60, 0.5 * Double(1 << min(failures, 10))) * jitter
    failures += 1
    let asked = notBefore.map { $0 - now } ?? 0
    guard asked <= Self.longestWait else { return nil }
    return .milliseconds(Int64((max(own, asked) * 1_000).rounded(.up)))
  }
}

extension Duration {
  /// `1.5 s`, for messages.
  var secondsText: String {
    let tenths = Int64((self / .milliseconds(100)).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
