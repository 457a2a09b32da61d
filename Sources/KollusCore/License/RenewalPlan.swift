/// Which contents a renewal is about.
package enum RenewalScope: Sendable, Equatable {
  /// Expired, or soon to be.
  case due
  case all
  /// Those whose last renewal failed.
  case failed
  case named([String])

  /// Whether a run that failed in part can be gone on with.
  var isResumable: Bool { self == .due || self == .all }

  /// Its name in the library.
  var name: String {
    switch self {
    case .due: "due"
    case .all: "all"
    case .failed: "failed"
    case .named: "named"
    }
  }
}

/// What a renewal would ask for, and why.
package struct RenewalCandidate: Sendable {
  package let mediaContentKey: String
  package let title: String
  /// What speaks for a renewal, for people.
  package let reason: String
}

extension Licence {
  /// Why it will expire soon: within `seconds` by date, with its last play, or with less play time than one
  /// showing takes (design §6); `nil` when it will not.
  package func soon(_ now: Int64, within seconds: Int64, duration: Double) -> String? {
    for (date, name) in [(expirationDate.value, "date"), (checkDate.value, "check date")] {
      guard let date, date - now <= seconds else { continue }
      return "\(name) in \(max(0, date - now)) s"
    }
    if plays.limit.value != nil, plays.left <= 1 { return "\(plays.left) play left" }
    if playTime.limit.value != nil, Double(playTime.left) < duration {
      return "\(playTime.left) s of play time left"
    }
    return nil
  }
}

extension Library {
  /// The verdict on the licence of a content whose file is there; `fileGeneration` is the number in the file.
  nonisolated func verdict(
    _ content: Content, fileGeneration: Int64?, _ file: Verdict.FileState = .unknown, ledger: TimeLedger?,
    at device: Int64
  ) -> Verdict {
    Verdict(evidence(content, fileGeneration: fileGeneration, file, ledger: ledger), at: device)
  }

  /// What that verdict is judged by.
  nonisolated func evidence(
    _ content: Content, fileGeneration: Int64?, _ file: Verdict.FileState = .unknown, ledger: TimeLedger?
  ) -> Verdict.Evidence {
    var holding = content.holding(by: home.identity)
    // Only a complete file has heard of the last licence: one that is gone or in the making tells nothing.
    if content.isDownloaded, case .held = holding,
      let how = content.licence?.contradiction(by: fileGeneration)
    {
      holding = .altered(how)
    }
    if case .notNeeded = holding, let fileGeneration, fileGeneration > 0 { holding = .absent }
    return Verdict.Evidence(state: content.state, file: file, holding: holding, ledger: ledger)
  }

  /// The number of the last licence in a content's file; `nil` when it cannot be told.
  nonisolated func fileGeneration(of mediaContentKey: String) -> Int64? {
    home.fileGeneration(of: mediaContentKey)
  }

  /// Why `scope` means this subject; `nil` when it does not.
  nonisolated func reason(
    for subject: RenewalSubject, in scope: RenewalScope, within seconds: Int64, ledger: TimeLedger?,
    at device: Int64
  ) -> String? {
    let content = subject.content
    switch scope {
    case .all: return "all were asked for"
    case .named: return "it was asked for"
    case .failed: return subject.failure.map { "the last renewal failed: \($0.message)" }
    case .due:
      let verdict = verdict(
        content, fileGeneration: fileGeneration(of: content.mediaContentKey), ledger: ledger, at: device)
      if let first = verdict.reasons.first { return verdict.canBeRenewed ? first.message : nil }
      return content.licence?.licence.soon(
        ledger?.time(device) ?? device, within: seconds, duration: content.duration)
    }
  }
}
