import SystemKit

/// Whether a content may be played now, with every reason why not (design §6).
package struct Verdict: Sendable, Equatable {
  /// What is known of the media file.
  package enum FileState: Sendable, Equatable {
    /// Not looked at: the verdict is about the licence alone.
    case unknown
    case sound
    case damaged(String)
  }

  /// What is known of the licence.
  package enum Holding: Sendable, Equatable {
    /// No DRM callback was ever named for the content.
    case notNeeded
    /// One is needed and none is there.
    case absent
    /// What is stored is not what this program wrote last, with how that shows.
    case altered(String)
    case held(Licence)
  }

  /// All that the verdict depends on but the time.
  package struct Evidence: Sendable, Equatable {
    package var state: Content.State
    package var file: FileState
    package var holding: Holding
    /// `nil` when the stored one is gone or was edited.
    package var ledger: TimeLedger?

    package init(state: Content.State, file: FileState, holding: Holding, ledger: TimeLedger?) {
      (self.state, self.file, self.holding, self.ledger) = (state, file, holding, ledger)
    }
  }

  /// In the order of their weight; the first one's code is the verdict's.
  package let reasons: [Reason]

  package var mayPlay: Bool { reasons.isEmpty }
  /// 0 when it may be played.
  package var code: Int { reasons.first?.code ?? 0 }

  private init(_ reasons: [Reason]) { self.reasons = reasons }

  /// The same verdict with one more reason, the least weighty.
  func adding(_ reason: Reason) -> Verdict { Verdict(reasons + [reason]) }

  /// Whether the licence itself speaks against a play: the vendor's `DRMExpired`.
  package var isExpired: Bool {
    reasons.contains { [.tampered, .forced, .checkDate, .date, .count, .playTime].contains($0.name) }
  }

  /// Whether asking the server anew can change it.
  package var canBeRenewed: Bool {
    !reasons.isEmpty && !reasons.contains { $0.name == .notReady || $0.name == .damaged }
  }

  /// `device` is the device clock in Unix seconds.
  package init(_ evidence: Evidence, at device: Int64) {
    var reasons: [Reason] = []
    if evidence.state != .ready { reasons.append(Reason(notReady: evidence.state)) }
    if case .damaged(let what) = evidence.file { reasons.append(Reason(damaged: what)) }
    switch evidence.holding {
    case .notNeeded: break
    // Nothing else was ever granted to a content that is not ready.
    case .absent: if evidence.state == .ready { reasons.append(Reason.noLicence) }
    case .altered(let how): reasons.append(Reason(altered: how))
    case .held(let licence):
      reasons += Self.reasons(licence, evidence.ledger, device)
    }
    self.reasons = reasons
  }

  private static func reasons(_ licence: Licence, _ ledger: TimeLedger?, _ device: Int64) -> [Reason] {
    var reasons: [Reason] = []
    var now = device
    if licence.isDated {
      if let ledger {
        now = ledger.time(device)
        if case .setBack(let seconds) = ledger.read(device) { reasons.append(Reason(setBackBy: seconds)) }
      } else {
        reasons.append(Reason.noLedger)
      }
    }
    let current = licence.causes(at: now)
    var causes = current
    if let cause = licence.expired, !causes.contains(cause) { causes.append(cause) }
    causes.sort { Self.rank($0) < Self.rank($1) }
    let byThisClock = licence.causes(at: device)
    return reasons
      + causes.map { cause in
        let reason = Reason(cause, of: licence, isCurrent: current.contains(cause))
        guard current.contains(cause), !byThisClock.contains(cause) else { return reason }
        return reason.adding(
          "by the latest time told by a server or seen here, \(WallClock.text(now)); this clock says \(WallClock.text(device))"
        )
      }
  }

  private static func rank(_ cause: Licence.Cause) -> Int {
    switch cause {
    case .completion, .forced, .deletion: 0
    case .checkDate: 1
    case .date: 2
    case .count: 3
    case .playTime: 4
    }
  }
}

extension Verdict {
  /// One reason against playing.
  package struct Reason: Sendable, Equatable {
    /// Its name in JSON.
    package enum Name: String, Sendable, CaseIterable {
      case notReady, damaged, tampered, clock, forced, checkDate, date, count, playTime, network
    }

    package let name: Name
    /// Kollus's number.
    package let code: Int
    package let message: String
    /// The way out.
    package let hint: String

    private init(_ name: Name, _ code: Int, _ message: String, _ hint: String) {
      (self.name, self.code, self.message, self.hint) = (name, code, message, hint)
    }

    /// The same reason with what else is to be known.
    func adding(_ words: String) -> Reason { Reason(name, code, "\(message), \(words)", hint) }

    init(notReady state: Content.State) {
      self.init(
        .notReady, KollusCode.notComplete, "the content is not downloaded (\(state.rawValue))",
        "download it first")
    }

    init(damaged what: String) {
      self.init(
        .damaged, KollusCode.damaged, what, "download it again: only what is damaged is fetched")
    }

    init(altered how: String) {
      self.init(
        .tampered, KollusCode.damaged, "the stored licence cannot be trusted: \(how)",
        "\(Licence.renewHint) while the network is there; one renewal heals it")
    }

    static let noLicence = Reason(
      .tampered, KollusCode.damaged, "the content needs a licence and none is stored", Licence.renewHint)

    init(setBackBy seconds: Int64) {
      let text =
        switch seconds {
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
      self.init(
        .clock, KollusCode.clockDiffers, "the clock of this machine is \(text) behind a time already seen",
        "set the clock, or run 'kollus renew' while the network is there")
    }

    static let noLedger = Reason(
      .clock, KollusCode.clockDiffers, "the record of the time last seen is gone or was changed",
      Licence.renewHint)

    /// `isCurrent` is false for an expiry that is only kept from before.
    init(_ cause: Licence.Cause, of licence: Licence, isCurrent: Bool) {
      let code = Int(cause.rawValue)
      let hint = "\(Licence.renewHint) while the network is there"
      guard isCurrent || cause.isForced else {
        let name: Name =
          switch cause {
          case .checkDate: .checkDate
          case .count: .count
          case .playTime: .playTime
          default: .date
          }
        self.init(name, code, "it has expired before (\(name.rawValue)) and was not reset since", hint)
        return
      }
      switch cause {
      case .completion:
        self.init(
          .forced, code,
          "the completed download was not accepted by the customer's server, or could not be told to it", hint
        )
      case .forced: self.init(.forced, code, "the customer's server has expired it", hint)
      case .deletion:
        self.init(
          .forced, code, "the customer's server had it deleted",
          "ask the customer; download it again if allowed")
      case .checkDate:
        self.init(.checkDate, code, "the server had to be asked before \(Self.text(licence.checkDate))", hint)
      case .date: self.init(.date, code, "the licence ended at \(Self.text(licence.expirationDate))", hint)
      case .count:
        let most = licence.plays.limit.value.map { "all \($0) plays" } ?? "all plays"
        self.init(.count, code, "\(most) are used up", hint)
      case .playTime:
        let most = licence.playTime.limit.value.map { "all \($0) seconds of play time" } ?? "all play time"
        self.init(.playTime, code, "\(most) are used up", hint)
      }
    }

    // MARK: Shortfalls

    /// A date that comes before the end of a trip.
    init(_ cause: Licence.Cause, of licence: Licence, before until: Int64) {
      let date = Self.text(cause == .checkDate ? licence.checkDate : licence.expirationDate)
      let what = cause == .checkDate ? "the server has to be asked before" : "the licence ends at"
      self.init(
        cause == .checkDate ? .checkDate : .date, Int(cause.rawValue),
        "\(what) \(date), before \(WallClock.text(until))", Self.beforehand)
    }

    static func tooFew(_ cause: Licence.Cause, _ message: String) -> Reason {
      Reason(cause == .count ? .count : .playTime, Int(cause.rawValue), message, beforehand)
    }

    static let alwaysOnline = Reason(
      .network, KollusCode.playRefused, "the server must be asked before each play",
      "keep the network at hand")

    private static let beforehand = "\(Licence.renewHint) before leaving"

    private static func text(_ limit: Limit) -> String {
      limit.value.map { WallClock.text($0) } ?? "an earlier date"
    }
  }
}
