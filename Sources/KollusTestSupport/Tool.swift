import Foundation
package import Testing

/// The built `kollus`, with a home, a configuration and an environment of its own.
package struct Tool: Sendable {
  package let home: String
  package let configuration: String
  package var environment: [String: String]
  private let path: String

  /// Works in `folder`, the test's temporary directory unless given; `name` keeps two tools there apart.
  package init(
    in folder: String = TemporaryDirectory.path, name: String = "kollus", home: String? = nil,
    origin: String? = nil, _ settings: [String: String] = [:]
  ) throws {
    path = try Self.built("kollus")
    self.home = home ?? "\(folder)/\(name)-home"
    configuration = "\(folder)/\(name).json"
    environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "KOLLUS_HOME": self.home, "TZ": "UTC",
    ]
    var settings = settings
    settings["origin"] = settings["origin"] ?? origin.map { "\"\($0)\"" }
    try configure(settings)
  }

  /// The program of this name beside the test runner.
  package static func built(_ name: String) throws -> String {
    let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let path = (runner as NSString).deletingLastPathComponent + "/" + name
    guard FileManager.default.isExecutableFile(atPath: path) else { throw SystemError(number: ENOENT) }
    return path
  }

  /// Writes the configuration: JSON texts by key, over settings fit for tests.
  package func configure(_ settings: [String: String]) throws {
    let defaults = ["timeout": "\"2s\"", "retries": "2", "reserve": "\"0\""]
    let all = defaults.merging(settings) { $1 }.sorted { $0.key < $1.key }
    let text = "{" + all.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    try text.write(toFile: configuration, atomically: true, encoding: .utf8)
  }

  package func start(_ arguments: [String], input: [UInt8] = []) throws -> ChildProcess {
    try ChildProcess(
      path, ["--home", home, "--config", configuration] + arguments, environment: environment, input: input)
  }

  package func start(_ arguments: String...) throws -> ChildProcess { try start(arguments) }

  package func run(_ arguments: String...) async throws -> ChildProcess.Outcome {
    try await start(arguments).wait()
  }

  package func run(
    _ arguments: [String], input: [UInt8] = [], within limit: Duration = .seconds(20)
  ) async throws -> ChildProcess.Outcome {
    try await start(arguments, input: input).wait(within: limit)
  }
}

extension ChildProcess.Outcome {
  /// The exit status, or nil after a signal or the deadline.
  package var status: Int? {
    guard case .exit(let status) = ending else { return nil }
    return status
  }

  /// Fails the test, showing both outputs, unless the program ended with this status.
  package func expect(_ statuses: Int..., at location: SourceLocation = #_sourceLocation) {
    let isExpected = status.map(statuses.contains) ?? false
    #expect(
      isExpected,
      "wanted \(statuses), got \(ending)\n\(standardOutput.suffix(1_500))\n\(standardError.suffix(1_500))",
      sourceLocation: location)
  }
}
