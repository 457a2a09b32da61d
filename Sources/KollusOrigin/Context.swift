import SystemKit

/// What the origin touches of the world outside its folder.
package struct Context: Sendable {
  /// Writes one line of the result, without its end.
  package var output: @Sendable (String) -> Void
  /// Writes one line for people on the error stream.
  package var error: @Sendable (String) -> Void
  /// Unix seconds.
  package var now: @Sendable () -> Int64
  /// The requests to stop from the call on, each the number of a signal.
  package var stops: @Sendable () -> AsyncStream<Int32>

  package init(
    output: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void,
    now: @escaping @Sendable () -> Int64, stops: @escaping @Sendable () -> AsyncStream<Int32>
  ) {
    (self.output, self.error, self.now, self.stops) = (output, error, now, stops)
  }

  /// The process's own streams, clock and signals; from here on a closed pipe is an error, not the process's
  /// end.
  package static func live() -> Context {
    ProcessContext.ignoreBrokenPipes()
    return Context(
      output: { Console.standardOutput.write($0 + "\n") },
      error: { Console.standardError.write($0 + "\n") },
      now: { Int64(WallClock.now()) },
      stops: {
        AsyncStream { continuation in
          let watch = SignalWatch { continuation.yield($0) }
          continuation.onTermination = { _ in withExtendedLifetime(watch) {} }
        }
      })
  }

  /// Says what went wrong and, when known, the way out.
  func complain(_ message: String, hint: String?) {
    error("kollus-origin: \(message.printable)")
    if let hint { error("hint: \(hint.printable)") }
  }
}
