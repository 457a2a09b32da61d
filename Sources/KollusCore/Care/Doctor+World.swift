import CurlKit
import JSONKit
import SystemKit

/// The clock, the disk, the configuration, servers and the player.
extension Doctor {
  private static let endpointLimit = 20
  private static let patience = Duration.seconds(10)

  func checkClock(_ library: Library) async {
    do {
      let device = Int64(now())
      guard let ledger = try await library.ledger() else {
        if try await library.hasDatedLicences() {
          var finding = Finding(
            .clock, .problem,
            "the record of the time last seen is gone or was changed: licences with a date are refused",
            hint: Licence.renewHint)
          finding.kind = .licence
          await problem(finding)
        }
        return
      }
      guard case .setBack(let seconds) = ledger.read(device) else {
        return fine(.clock, WallClock.text(device))
      }
      let reason = Verdict.Reason(setBackBy: seconds)
      var finding = Finding(.clock, .problem, reason.message, hint: reason.hint)
      finding.kind = .licence
      await problem(finding)
    } catch {
      await problem(Finding(.clock, KollusError(any: error)))
    }
  }

  func checkReports(_ library: Library) async {
    do {
      let strays = try await library.strayReports()
      if strays > 0 {
        var finding = Finding(.reports, .problem, "\(strays) reports are damaged: in no list, and never sent")
        finding.kind = .badData
        await problem(finding, fix: "put them among those that wait") {
          try await library.restoreStrayReports()
        }
      }
      let backlog = try await library.backlog()
      if backlog.aside > 0 {
        notice(
          .reports, "\(backlog.aside) reports were refused and set aside", hint: "'kollus lms list' says why")
      }
      if let oldest = backlog.oldest, Int64(now()) - oldest > 7 * 86_400 {
        notice(
          .reports, "\(backlog.pending) reports wait, the oldest since \(WallClock.text(oldest))",
          hint: "run 'kollus lms-flush' while the network is there")
      } else {
        fine(.reports, "\(backlog.pending) wait")
      }
    } catch {
      await problem(Finding(.reports, KollusError(any: error)))
    }
  }

  func checkSpace() {
    guard let free = try? Files.freeSpace(at: path) else { return }
    let reserve = (try? settings.get())?.reserve.bytes ?? 0
    if free < reserve {
      notice(
        .space, "\(free) bytes are free, less than the reserve of \(reserve)",
        hint: "downloads are refused until some are freed")
    } else {
      fine(.space, "\(free >> 20) MiB are free")
    }
  }

  func checkSettings() {
    let settings: Settings
    switch self.settings {
    case .success(let found): settings = found
    case .failure(let error): return tell(Finding(.config, error))
    }
    let keys = SecurityKeys(settings)
    var isFine = true
    for name in settings.keys.keys.sorted() {
      do throws(KollusError) { _ = try keys.key(name) } catch {
        isFine = false
        tell(Finding(.config, error))
      }
    }
    if settings.origin == nil {
      notice(.config, "no origin is set", hint: "'kollus config origin URL' names where keys are looked up")
    } else if isFine {
      fine(.config, "the configuration can be used")
    }
  }

  func checkPlayer() {
    let command = (try? settings.get())?.player ?? "mpv"
    let program = (try? CommandWords.split(command))?.first ?? command
    let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(String.init)
    let places = program.contains("/") ? [program] : folders.map { "\($0)/\(program)" }
    if let found = places.first(where: Files.isExecutable) { return fine(.player, found) }
    notice(
      .player, "\(program) is not installed",
      hint: "'kollus play' needs it: apt-get install mpv, or set 'player'")
  }

  // MARK: Servers

  func checkEndpoints(_ library: Library?) async {
    guard case .success(let settings) = settings else { return }
    var endpoints: [(what: String, url: String)] = []
    if let origin = settings.origin { endpoints.append(("the origin", origin)) }
    if let library {
      // What cannot be read was told before.
      let callbacks = (try? await library.callbacks(limit: Self.endpointLimit)) ?? []
      endpoints += callbacks.map { ("the DRM callback", $0) }
      endpoints += ((try? await library.receivers(limit: Self.endpointLimit)) ?? []).map {
        ("the LMS callback", $0)
      }
      await checkKeys(library, settings)
    }
    guard !endpoints.isEmpty, let engine = try? TransferEngine.started() else { return }
    defer { engine.stop() }
    for endpoint in endpoints { await check(endpoint.what, endpoint.url, engine, settings) }
  }

  private func check(_ what: String, _ url: String, _ engine: TransferEngine, _ settings: Settings) async {
    guard let address = WebAddress(url) else {
      await problem(Finding(.endpoints, .problem, "\(what) is not a usable http or https URL"))
      return
    }
    let receiver = StatusReceiver()
    do {
      try HTTPPolicy(allowsPlainHTTP: settings.allowPlainHTTP).check(address, for: what)
      var options = OriginClient.options(settings)
      options.timeout = min(options.timeout, Self.patience)
      let head = try await engine.perform(Request(address, options: options), into: receiver)
      fine(.endpoints, "\(what) \(address.display) answers (status \(head.status))")
    } catch let error as CurlError {
      // Whatever became of the body: a status is an answer.
      if let head = receiver.head {
        return fine(.endpoints, "\(what) \(address.display) answers (status \(head.status))")
      }
      await problem(Finding(.endpoints, KollusError(error, address: address)))
    } catch {
      await problem(Finding(.endpoints, KollusError(any: error)))
    }
  }

  /// Whether the security keys are there that the callbacks' answers are signed with.
  private func checkKeys(_ library: Library, _ settings: Settings) async {
    let names = (try? await library.customKeys(limit: Self.endpointLimit)) ?? []
    for name in names where settings.keys[name] == nil {
      await problem(
        Finding(
          .config, .problem, "no security key is configured for the custom key \(name.jsonQuoted)",
          hint: SecurityKeys.hint))
    }
    guard let failure = try? await library.distrustedAnswer() else { return }
    var finding = Finding(
      .endpoints, .problem, "the last answer of a DRM callback could not be trusted: \(failure.message)",
      hint: "compare the security key under 'keys' with the customer's")
    (finding.kind, finding.mediaContentKey) = (.badData, failure.mediaContentKey)
    await problem(finding)
  }
}
