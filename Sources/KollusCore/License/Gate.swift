import SystemKit

/// The gate before a play: everything that is known of a content, judged together (design §6).
extension Library {
  /// Whether the content may be played now, by its stored licence, its file and the clock.
  ///
  /// A file whose time stamp changed is read; `isDeep` reads it in any case. Notes that time has passed.
  /// Throws `tryLater` while another process works on a content that has to be read, and `inputOutput` when a
  /// file cannot be read at all.
  ///
  /// A licence that wants the server to be asked before each play refuses unless that was just done (`isAsked`).
  /// Whoever holds the content's lock already says so (`isLocked`).
  package func judge(
    _ content: Content, isDeep: Bool, isAsked: Bool = false, isLocked: Bool = false, _ sink: any EventSink
  ) async throws -> Verdict {
    let device = Int64(now())
    try await noteTime(device)
    let ledger = try ledger()
    var content = content
    var file = Verdict.FileState.unknown
    var namesCallback = false
    if content.isDownloaded {
      do throws(KollusError) {
        let media = try home.openMedia(of: content)
        namesCallback = media.about.namesCallback
        file = .sound
      } catch {
        guard error.kind == .badData else { throw error }
        file = .damaged(error.message)
        // From here on it is known, unless somebody is at it.
        let lock = isLocked ? nil : try home.lock(content: content.id)
        if isLocked || lock != nil { await noteDamage(content, error) }
        withExtendedLifetime(lock) {}
      }
      if file == .sound, isDeep || home.stamp(of: content) != content.fileStamp {
        let found = try await verify(content, isLocked: isLocked, sink)
        if !found.damaged.isEmpty { file = .damaged(SegmentScan.text(of: found.damaged)) }
      }
    } else if content.failure?.code == KollusCode.damaged, let failure = content.failure {
      file = .damaged(failure.message)
    }
    content.needsLicence = content.needsLicence || namesCallback
    // The file hears of a licence after the library does. Looked at in this order, a renewal that another process
    // makes meanwhile is not taken for an older library.
    let generation = fileGeneration(of: content.mediaContentKey)
    content.licence = try self.content(content.mediaContentKey)?.licence ?? content.licence
    let verdict = verdict(content, fileGeneration: generation, file, ledger: ledger, at: device)
    guard !isAsked, case .held(let licence) = content.holding(by: home.identity), licence.checksAbuse,
      !verdict.reasons.contains(where: { $0.name == .tampered })
    else { return verdict }
    return verdict.adding(.alwaysOnline)
  }

  /// Whether the content was ever under a DRM callback, by all that remembers it: its row, its licence, the
  /// header and the licence number in its file.
  package nonisolated func needsLicence(_ content: Content) -> Bool {
    if content.needsLicence || content.licence != nil { return true }
    if let generation = fileGeneration(of: content.mediaContentKey), generation > 0 { return true }
    // What cannot be opened cannot be played either.
    return (try? home.openMedia(of: content).about.namesCallback) ?? false
  }

  /// The verdict on all but the media file, for lists.
  ///
  /// With `readsFile` it takes in what the file itself knows, which costs a look into each.
  package nonisolated func licenceVerdict(
    _ content: Content, ledger: TimeLedger?, readsFile: Bool = false
  ) -> Verdict {
    Verdict(licenceEvidence(content, ledger: ledger, readsFile: readsFile), at: Int64(now()))
  }

  /// What `licenceVerdict` judges by, for whoever judges again later.
  package nonisolated func licenceEvidence(
    _ content: Content, ledger: TimeLedger?, readsFile: Bool = false
  ) -> Verdict.Evidence {
    if readsFile, content.isDownloaded, home.hasMedia {
      var content = content
      content.needsLicence = needsLicence(content)
      return evidence(
        content, fileGeneration: fileGeneration(of: content.mediaContentKey), ledger: ledger)
    }
    var holding = content.holding(by: home.identity)
    // To a content that is not ready nothing need have been granted yet: then nothing has expired.
    if case .absent = holding, !content.isDownloaded { holding = .notNeeded }
    return Verdict.Evidence(state: .ready, file: .unknown, holding: holding, ledger: ledger)
  }
}

extension Home {
  /// The time stamp of a content's media file, `nil` when there is none.
  func stamp(of content: Content) -> Int64? {
    // What cannot be told is taken for changed.
    (try? Files.information(mediaPath(of: content.mediaContentKey), followsLinks: false))?.modified
  }
}

/// What somebody has in mind to do with a content, offline, from now on.
package struct Trip: Sendable, Equatable {
  /// Unix seconds.
  package var until: Int64?
  package var plays: Int64?
  /// Seconds of play time.
  package var watch: Int64?

  package init(until: Int64? = nil, plays: Int64? = nil, watch: Int64? = nil) {
    (self.until, self.plays, self.watch) = (until, plays, watch)
  }

  package var isEmpty: Bool { self == Trip() }

  /// Why a licence that may be used now will not last for it.
  package func shortfalls(of licence: Licence) -> [Verdict.Reason] {
    var reasons: [Verdict.Reason] = []
    if let until {
      for cause in licence.causes(at: until) where cause == .checkDate || cause == .date {
        reasons.append(Verdict.Reason(cause, of: licence, before: until))
      }
    }
    if let plays, licence.plays.limit.value != nil, licence.plays.left < plays {
      reasons.append(.tooFew(.count, "\(licence.plays.left) plays are left, \(plays) are wanted"))
    }
    if let watch, licence.playTime.limit.value != nil, licence.playTime.left < watch {
      reasons.append(
        .tooFew(.playTime, "\(licence.playTime.left) s of play time are left, \(watch) s are wanted"))
    }
    if licence.checksAbuse { reasons.append(.alwaysOnline) }
    return reasons
  }
}
