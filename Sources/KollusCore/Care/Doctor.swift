import SystemKit

/// Looks a home over and, when told to, puts right what can be put right by itself.
///
/// Nothing is deleted: what is replaced is kept in `aside` folders. Findings are told as they come, in the order of what
/// depends on what; what cannot be looked at because of a problem before it is left out.
package struct Doctor: Sendable {
  let path: String
  let machineID: String
  let settings: Result<Settings, KollusError>
  let environment: [String: String]
  let now: @Sendable () -> Double
  let fixes: Bool
  let sink: any EventSink
  let tell: @Sendable (Finding) -> Void

  /// `fixes` repairs what it can; `tell` hears of each finding, on whichever thread.
  package init(
    home path: String, machineID: String, settings: Result<Settings, KollusError>,
    environment: [String: String],
    now: @escaping @Sendable () -> Double, fixes: Bool, sink: any EventSink,
    tell: @escaping @Sendable (Finding) -> Void
  ) {
    (self.path, self.machineID, self.settings, self.environment) = (path, machineID, settings, environment)
    (self.now, self.fixes, self.sink, self.tell) = (now, fixes, sink, tell)
  }

  /// Looks at everything; throws only when the task was cancelled.
  package func run() async throws {
    if let home = await openHome(), let library = await openLibrary(home) {
      try Task.checkCancellation()
      await checkMedia(library)
      try Task.checkCancellation()
      await checkClock(library)
      await checkReports(library)
      await checkEndpoints(library)
    } else {
      await checkEndpoints(nil)
    }
    try Task.checkCancellation()
    checkSpace()
    checkSettings()
    checkPlayer()
  }

  // MARK: Telling

  /// Tells events, and keeps them in the log of the home.
  func log(_ home: Home) -> LoggingSink { LoggingSink(sink, EventLog(home, now: now)) }

  func fine(_ check: Finding.Check, _ message: String) { tell(Finding(check, .fine, message)) }

  func notice(_ check: Finding.Check, _ message: String, hint: String? = nil) {
    tell(Finding(check, .notice, message, hint: hint))
  }

  /// Tells a problem, put right first where there is a `fix` and fixing is wanted.
  ///
  /// Returns whether it was put right.
  @discardableResult
  func problem(
    _ finding: Finding, fix: String? = nil, _ repair: (() async throws -> Void)? = nil
  ) async -> Bool {
    var finding = finding
    finding.fix = fix
    guard fixes, let repair else {
      tell(finding)
      return false
    }
    do {
      try await repair()
      finding.isFixed = true
    } catch {
      let error = KollusError(any: error)
      if [.noSpace, .tryLater, .inputOutput].contains(error.kind) { finding.kind = error.kind }
      finding.hint = "it could not be put right: \(error.message)" + (error.hint.map { "; \($0)" } ?? "")
    }
    tell(finding)
    return finding.isFixed
  }

  /// Moves files out of the way, into a new folder `aside/TIME` in `folder`.
  func setAside(_ names: [String], in folder: String) throws(SystemError) {
    let aside = try Home.makeAside(in: folder, at: Int64(now()))
    for name in names { try Files.rename("\(folder)/\(name)", to: "\(aside)/\(name)") }
  }
}
