/// What an answer of the DRM callback does to a licence (PROTO §2.5, §2.6): pure, in the order of precedence.
extension Licence {
  /// What is to be done after an answer.
  package enum Change: Sendable, Equatable {
    /// The licence to keep from now on; with a failure when it is one that does not play.
    case keep(Licence, KollusError?)
    /// The key is to be destroyed, then the file removed, then the user told.
    case delete(KollusError)
    /// Nothing changes.
    case refuse(KollusError)
  }

  /// The answer to kind 1, whether the content may be downloaded.
  static func approved(by answer: DRMAnswer) -> Change {
    guard answer.isAllowed else {
      return .refuse(
        KollusError(
          .refused, code: KollusCode.downloadRefused,
          answer.text(or: "the customer's server does not allow this download")))
    }
    var licence = Licence()
    licence.take(answer, absentMeansNone: true)
    return .keep(licence, nil)
  }

  /// The answer to kind 2: the download is complete.
  func completed(by answer: DRMAnswer) -> Change {
    if answer.isDelete { return .delete(answer.deletion) }
    var licence = self
    if let checkDate = answer.checkExpirationDate { licence.checkDate = checkDate }
    guard answer.isAllowed else {
      let error = KollusError(
        .refused, code: Int(Cause.completion.rawValue),
        answer.text(or: "the customer's server does not accept the completed download"), hint: Self.renewHint)
      licence.expired = .completion
      return .keep(licence, error)
    }
    return .keep(licence, nil)
  }

  /// Nobody answered kind 2: it expires by force, and a renewal can bring it back.
  func uncompleted(because error: KollusError) -> (licence: Licence, error: KollusError) {
    var licence = self
    licence.expired = .completion
    return (
      licence,
      KollusError(
        error.kind, code: Int(Cause.completion.rawValue),
        "the completed download could not be told to the customer's server: \(error.message) (\(error.code))",
        hint: Self.renewHint)
    )
  }

  /// The answer to kind 3 at `now`, the best known time in Unix seconds; `sessionKey` is the one sent.
  ///
  /// `device` is the device clock: an expiry by date is only kept for good when both clocks tell it, so that one
  /// wrong `Date` locks nobody out for longer than till the next answer.
  func renewed(by answer: DRMAnswer, sessionKey: String, now: Int64, device: Int64? = nil) -> Change {
    if answer.isDelete { return .delete(answer.deletion) }
    guard answer.isAllowed else {
      return .refuse(
        KollusError(
          .licence, code: KollusCode.playRefused,
          answer.text(or: "the customer's server refuses this content"))
      )
    }
    var licence = self
    if answer.isExpired {
      licence.expired = .forced
      return .keep(
        licence,
        KollusError(
          .licence, code: Int(Cause.forced.rawValue),
          answer.text(or: "the customer's server has expired this content"),
          hint: "a later renewal can bring it back, if the server allows it"))
    }
    if answer.isReset {
      guard let echoed = answer.sessionKey, echoed.isExactly(sessionKey) else {
        return .refuse(
          KollusError(
            .badData, code: KollusCode.differentExpireReset,
            "the answer resets the licence for another session key than the one sent",
            hint: "tell the people who run the callback server"))
      }
      licence.expired = nil
      licence.plays.used = 0
      licence.playTime.used = 0
      licence.take(answer, absentMeansNone: true)
    } else {
      // An expired content stays expired, whatever new limits come without a reset.
      licence.noteExpiry(at: min(now, device ?? now))
      licence.take(answer, absentMeansNone: false)
    }
    return .keep(licence, licence.expiryError(at: now))
  }

  static let renewHint = "run 'kollus renew' for it"

  /// Takes the policy members of an answer; those that are absent are cleared or left as they are.
  private mutating func take(_ answer: DRMAnswer, absentMeansNone: Bool) {
    let absent = absentMeansNone ? Limit.none : nil
    expirationDate = answer.expirationDate ?? absent ?? expirationDate
    plays.limit = answer.expirationCount ?? absent ?? plays.limit
    playTime.limit = answer.expirationPlayTime ?? absent ?? playTime.limit
    checkDate = answer.checkExpirationDate ?? absent ?? checkDate
    checksAbuse = answer.checkAbuse ?? (absentMeansNone ? false : checksAbuse)
    // Kind 3 is not known to give these: what it leaves out is as it was, with a reset too.
    playTimeType = answer.playTimeType ?? playTimeType
    asksBeforeRenewal = answer.asksBeforeRenewal ?? asksBeforeRenewal
    checksVirtualMachine = answer.vmCheck ?? checksVirtualMachine
    offlineBookmark = answer.offlineBookmark ?? offlineBookmark
  }

  /// The failure to tell of a renewal after which the content still does not play: the verdict's.
  private func expiryError(at now: Int64) -> KollusError? {
    let evidence = Verdict.Evidence(
      state: .ready, file: .unknown, holding: .held(self), ledger: TimeLedger(seen: now))
    guard let reason = Verdict(evidence, at: now).reasons.first else { return nil }
    return KollusError(
      .licence, code: reason.code, "still not to be played after the renewal: \(reason.message)",
      hint: "ask the people who run the callback server for a reset")
  }
}

extension DRMAnswer {
  /// The server's own words, else ours.
  fileprivate func text(or own: String) -> String {
    if let message, !message.isEmpty { message } else { own }
  }

  fileprivate var deletion: KollusError {
    KollusError(
      .licence, code: Int(Licence.Cause.deletion.rawValue),
      text(or: "the customer's server asked for this content to be deleted"))
  }
}
