import SystemKit

/// A play while it lasts: what the player tells is charged, saved and reported as it passes.
final class PlayRun: Sendable {
  /// Seconds between two times that a play is saved: what a kill costs.
  private static let saveInterval = 3.0
  /// Longest time between two looks at the meter.
  private static let tick = 0.1
  /// How long a picture may stand, in seconds, before a damage that was read ahead is taken for the reason.
  ///
  /// A player that was cut off asks again after one second and then after three.
  private static let longestStand = 3.0
  /// Longest wait for reports that are under way when a play ends.
  private static let lastWait = Duration.seconds(10)

  private struct State {
    var log: ViewingLog
    var policies: [ReportPolicy]
    /// Seconds watched in all, of the media or on the clock as the licence counts them.
    var used = 0.0
    /// What of it is charged.
    var charged: Int64 = 0
    var hasBegun = false
    /// Whether the play itself is charged.
    var isCounted = false
    var began = 0.0
    var savedAt = 0.0
    var position: Double
    var licence: Licence?
    /// Reports that are due and not yet saved.
    var due: [Report] = []
  }

  private let plan: PlayPlan
  private let content: Content
  private let library: Library
  private let sink: any EventSink
  private let sender: ReportSender
  private let record: PlayRecord
  private let context: PlayContext
  /// Held as long as the play lasts: without it somebody else makes its last report.
  private let lock: ByteLock?
  /// How far the device clock is behind what is known of the time, in seconds.
  private let lag: Int64
  /// The device clock at the start; one that is set back meanwhile makes no licence last longer.
  private let startedAt: Int64
  private let state: Protected<State>

  init(
    _ plan: PlayPlan, _ content: Content, _ library: Library, _ sink: any EventSink, _ sender: ReportSender
  )
    async throws
  {
    (self.plan, self.content, self.library, self.sink, self.sender) = (plan, content, library, sink, sender)
    let log = ViewingLog(duration: plan.duration, blockCount: plan.blockCount, position: plan.start)
    let (session, templates) = (plan.session, plan.templates)
    record = try await library.beginViewing(
      of: content.mediaContentKey, by: plan.clientUserID, at: Int64(library.now())
    ) { startAt in
      var session = session
      session.startAt = startAt
      return (PlayContext(session, templates: templates).encoded, log.encoded)
    }
    lock = try library.home.lock(playing: record.id)
    let device = Int64(library.now())
    startedAt = device
    lag = (try await library.ledger()?.time(device) ?? device) - device
    var own = session
    own.startAt = record.startAt
    context = PlayContext(own, templates: templates)
    state = Protected(
      State(
        log: log, policies: templates.map { ReportPolicy(period: $0.period) }, position: plan.start,
        licence: content.licence?.licence))
  }

  /// Starts the player and follows it to its end.
  func play(at url: String, _ request: PlayRequest, _ damage: Protected<Int?>) async throws -> PlayOutcome {
    var playback = Playback(url: url, title: content.title.isEmpty ? content.mediaContentKey : content.title)
    (playback.start, playback.speed, playback.policy) = (plan.start, request.speed, plan.policy)
    playback.duration = plan.duration > 0 ? plan.duration : nil
    let viewing = Viewing(plan.policy)
    let (control, observer) = (request.control, request.observer)
    let player = try request.player.start(playback, environment: request.environment) { event in
      viewing.take(event)
      observer?(event)
    }
    control?.attach(player, viewing)
    defer { control?.detach() }
    let news = NewsReader(viewing.news)
    // What an earlier play could not send goes now, with the network it may have.
    let sending = SenderLoop(sender)
    sending.kick()
    let start = suspendingSeconds()
    state.withLock { ($0.began, $0.savedAt) = (start, start) }
    var error: KollusError?
    do {
      error = try await follow(viewing, news, sending, damage, until: { control?.isStopped ?? false })
    } catch {
      await player.stop()
      try await finish(
        viewing, news, sending, followed: request.player.isFollowed, error: KollusError(any: error))
      throw error
    }
    await player.stop()
    // Whoever ended it does not ask how the player took it.
    if error == nil, !(control?.isStopped ?? false),
      let failure = news.failure(complaints: player.complaints, hasBegun: state.withLock { $0.hasBegun })
    {
      error = failure
    }
    return try await finish(viewing, news, sending, followed: request.player.isFollowed, error: error)
  }

  /// Looks at the meter until the player has ended or must be; returns why it must be.
  private func follow(
    _ viewing: Viewing, _ news: NewsReader, _ sending: SenderLoop, _ damage: Protected<Int?>,
    until isLeft: @Sendable () -> Bool
  ) async throws -> KollusError? {
    var standingSince: Double?
    while true {
      try Task.checkCancellation()
      let isOver = news.isOver || isLeft()
      let now = suspendingSeconds()
      let speed = take(viewing, news.takePauses(), at: now)
      if let limit = reachedLimit() {
        // What was used up until now is charged at the end; a date that is over stays so.
        try await library.keepExpiry(of: content, at: time)
        return limit.of(content.mediaContentKey)
      }
      // Damage is met when bytes are read ahead, long before the viewer is there.
      let isStanding = !news.isPaused && viewing.withMeter { meter, _ in !meter.isPlaying }
      standingSince = isStanding ? standingSince ?? now : nil
      let isStuck = standingSince.map { now - $0 > Self.longestStand } ?? false
      if isOver || isStuck, let segment = damage.withLock({ $0 }) {
        let failure = KollusError(
          .badData, code: KollusCode.damaged, SegmentScan.text(of: [segment]),
          hint: "download the content again to repair it", mediaContentKey: content.mediaContentKey)
        await library.noteDamage(content, failure)
        return failure
      }
      try await saveIfDue(at: now, sending)
      if isOver { return nil }
      try await TaskThreads.sleep(for: .milliseconds(Int64(pause(speed) * 1_000)))
    }
  }

  /// Takes what was watched since the last look, and what reports are due because of it; returns the speed.
  private func take(_ viewing: Viewing, _ pauses: [Bool], at now: Double) -> Double {
    let (stretches, position, hasBegun, speed) = viewing.withMeter { meter, now in
      (meter.drain(at: now), meter.position, meter.hasBegun, meter.speed)
    }
    state.withLock { state in
      let counts = state.licence?.playTimeType ?? .media
      for stretch in stretches {
        state.log.watch(stretch.from, stretch.to, clock: stretch.clock)
        state.used += counts == .media ? stretch.to - stretch.from : stretch.clock
      }
      state.log.pass(now - state.began)
      state.position = position
      var events: [ReportPolicy.Event] = []
      if hasBegun, !state.hasBegun {
        state.hasBegun = true
        events.append(.began)
      }
      events += pauses.map { $0 ? .paused : .resumed }
      events.append(.tick)
      for event in events { note(event, &state, at: now) }
    }
    return speed
  }

  /// Makes the reports that an event makes due.
  private func note(_ event: ReportPolicy.Event, _ state: inout State, at now: Double) {
    for index in state.policies.indices {
      guard let status = state.policies[index].take(event, at: now) else { continue }
      do throws(KollusError) {
        state.due += try context.reports(status, state.log, of: record.id, streams: [index])
      } catch {
        sink.emit(
          .note(
            .warning, mediaContentKey: content.mediaContentKey,
            message: "a report of viewing cannot be made: \(error.message)"))
      }
    }
  }

  /// Unix seconds to judge dates by.
  private var time: Int64 {
    let elapsed = suspendingSeconds() - state.withLock { $0.began }
    return max(Int64(library.now()), startedAt + Int64(elapsed)) + lag
  }

  /// Why the play has to stop, if it has to.
  private func reachedLimit() -> KollusError? {
    guard
      let (licence, used) = state.withLock({ state in
        state.licence.map { ($0, state.used - Double(state.charged)) }
      })
    else { return nil }
    if let cause = licence.expired { return stopped(cause, "its licence was ended meanwhile") }
    if licence.playTime.limit.value != nil, used >= Double(licence.playTime.left) {
      return stopped(.playTime, "all its play time is used up")
    }
    let now = time
    if let date = licence.checkDate.value, now >= date {
      return stopped(.checkDate, "its server has to be asked again")
    }
    if let date = licence.expirationDate.value, now >= date { return stopped(.date, "its licence has ended") }
    return nil
  }

  private func stopped(_ cause: Licence.Cause, _ why: String) -> KollusError {
    KollusError(.licence, code: Int(cause.rawValue), "playing was stopped: \(why)", hint: Licence.renewHint)
  }

  /// How long until the next look: shorter where a limit is near.
  private func pause(_ speed: Double) -> Double {
    let left = state.withLock { state -> Double? in
      guard let licence = state.licence, licence.playTime.limit.value != nil else { return nil }
      let seconds = Double(licence.playTime.left) - (state.used - Double(state.charged))
      return licence.playTimeType == .media ? seconds / max(speed, 0.1) : seconds
    }
    return min(Self.tick, max(0.005, left ?? Self.tick))
  }

  // MARK: Saving

  private func saveIfDue(at now: Double, _ sending: SenderLoop) async throws {
    let isDue = state.withLock { state in
      // The play is charged as soon as it has begun.
      !state.due.isEmpty || state.hasBegun && (!state.isCounted || now - state.savedAt >= Self.saveInterval)
    }
    guard isDue else { return }
    try await save(isOver: false, sending)
  }

  /// Charges, keeps the position and the log, and hands the reports that are due to the sender.
  private func save(isOver: Bool, _ sending: SenderLoop) async throws {
    let now = suspendingSeconds()
    let (log, position, charge, reports) = state.withLock { state in
      // The rest of a second counts when all is over.
      let whole = Int64(isOver ? (state.used - 0.05).rounded(.up) : state.used.rounded(.down))
      let charge = PlayCharge(
        plays: state.hasBegun && !state.isCounted ? 1 : 0, seconds: max(0, whole - state.charged))
      return (state.log, state.position, charge, state.due)
    }
    var record = record
    record.log = log.encoded
    let kept = try await library.save(
      record, of: content, position: position, charge: charge, reports: reports, isOver: isOver,
      at: Int64(library.now()))
    // What was not saved is charged and reported with the next time.
    state.withLock { state in
      state.isCounted = state.isCounted || charge.plays > 0
      state.charged += charge.seconds
      state.savedAt = now
      state.due.removeFirst(reports.count)
    }
    if let kept {
      try library.home.keepGeneration(kept.generation, of: content.mediaContentKey)
      state.withLock { $0.licence = kept.licence }
    }
    if !reports.isEmpty { sending.kick() }
    try await library.noteTime(Int64(library.now()))
  }

  /// The last look, the last charge, the last reports.
  @discardableResult
  private func finish(
    _ viewing: Viewing, _ news: NewsReader, _ sending: SenderLoop, followed isFollowed: Bool,
    error: KollusError?
  ) async throws -> PlayOutcome {
    let now = suspendingSeconds()
    _ = take(viewing, [], at: now)
    let hasReachedEnd = news.hasRunOut || viewing.withMeter { meter, _ in meter.hasReachedEnd }
    let (old, isBegun) = (content.position, state.withLock { $0.hasBegun })
    state.withLock { state in
      note(.stopped, &state, at: now)
      // What was not watched leaves no mark; what was watched to its end begins anew.
      if !isBegun { state.position = old } else if hasReachedEnd || !isFollowed { state.position = 0 }
    }
    do {
      try await save(isOver: true, sending)
    } catch let error as KollusError where error.kind == .tryLater {
      // Once more: what is lost now is lost for good.
      try await save(isOver: true, sending)
    }
    await sending.end(within: Self.lastWait)
    let log = state.withLock { $0.log }
    if isBegun {
      sink.emit(
        .note(
          .played, mediaContentKey: content.mediaContentKey,
          message: "\(Int(log.playTime)) s watched\(isFollowed ? ", left at \(Int(log.lastPlayAt)) s" : "")"))
    }
    return PlayOutcome(log: log, isFollowed: isFollowed, error: error)
  }
}
