import Glibc
import KollusCore
import SystemKit

extension Context {
  /// The real world; files made from here on are for their owner alone.
  package static func live() -> Context {
    umask(0o077)
    ProcessContext.keepMemoryLean()
    ProcessContext.ignoreBrokenPipes()
    var environment = ProcessContext.environment()
    if environment["HOME"] ?? "" == "" { environment["HOME"] = ProcessContext.accountFolder() }
    let isDumb = environment["TERM"] ?? "dumb" == "dumb"
    return Context(
      environment: environment,
      standardOutput: { Console.standardOutput.write($0) },
      standardError: { Console.standardError.write($0) },
      standardInputLines: {
        try await ProcessContext.standardInput(limit: 16 << 20).map {
          try Lines.split($0, of: "standard input")
        }
      },
      ask: { question in
        guard ProcessContext.canAsk else { return nil }
        Console.standardError.write(question)
        // Whoever ends the input agrees to nothing.
        return try await ProcessContext.line().map { String(decoding: $0, as: UTF8.self) } ?? "no"
      },
      terminalColumns: {
        Console.standardError.isTerminal && !isDumb ? Console.standardError.columns : nil
      },
      outputColumns: { Console.standardOutput.isTerminal ? Console.standardOutput.columns : nil },
      now: { WallClock.now() },
      machineID: { ProcessContext.machineID() },
      watchSignals: { SignalWatch(handler: $0) })
  }
}
