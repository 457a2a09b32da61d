import KollusCore

/// All a command may touch of the outside world.
///
/// `live()` is the only place that reaches for the real thing.
package struct Context: Sendable {
  package var environment: [String: String]
  /// Writes text as it is; `false` when nobody can read it any more.
  package var standardOutput: @Sendable (String) -> Bool
  package var standardError: @Sendable (String) -> Bool
  /// Lines of standard input; `nil` when there is more than 16 MiB of it.
  package var standardInputLines: @Sendable () async throws -> [String]?
  /// Asks a person at a terminal and returns the line they gave; `nil` when there is no terminal.
  package var ask: @Sendable (_ question: String) async throws -> String?
  /// Columns of the terminal behind standard error, or `nil` when it is none that can be redrawn.
  package var terminalColumns: @Sendable () -> Int?
  /// Columns of the terminal behind standard output, or `nil` when it is none.
  package var outputColumns: @Sendable () -> Int?
  /// Seconds since 1970.
  package var now: @Sendable () -> Double
  /// What names this machine, or "" when nothing does.
  package var machineID: @Sendable () -> String
  /// Calls the handler with the number of each signal that asks to stop, while the returned object lives.
  package var watchSignals: @Sendable (_ handler: @escaping @Sendable (Int32) -> Void) -> AnyObject?

  package init(
    environment: [String: String], standardOutput: @escaping @Sendable (String) -> Bool,
    standardError: @escaping @Sendable (String) -> Bool,
    standardInputLines: @escaping @Sendable () async throws -> [String]?,
    ask: @escaping @Sendable (_ question: String) async throws -> String?,
    terminalColumns: @escaping @Sendable () -> Int?, outputColumns: @escaping @Sendable () -> Int?,
    now: @escaping @Sendable () -> Double,
    machineID: @escaping @Sendable () -> String,
    watchSignals: @escaping @Sendable (_ handler: @escaping @Sendable (Int32) -> Void) -> AnyObject?
  ) {
    (self.environment, self.standardOutput, self.standardError) = (environment, standardOutput, standardError)
    (self.standardInputLines, self.ask, self.terminalColumns) = (standardInputLines, ask, terminalColumns)
    (self.outputColumns, self.now, self.machineID, self.watchSignals) = (
      outputColumns, now, machineID, watchSignals
    )
  }
}
