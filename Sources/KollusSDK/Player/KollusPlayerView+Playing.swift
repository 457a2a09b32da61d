import Foundation
import KollusCore
import Synchronization

extension KollusPlayerView {
  /// Asks the licence's server where it can be reached, then judges the licence and the file; blocks meanwhile.
  ///
  /// Nothing is charged yet, and nothing else can work on the content until it was played or ``stop()`` was called.
  ///
  /// - Parameter type: What is to play it; ``KollusPlayerType/hls`` is refused, the others are the same.
  /// - Throws: a ``KollusError``, and tells it to the ``delegate``, when it may not be played: −8629 not downloaded, −8646 damaged or tampered with,
  ///   −8664 the clock, −8658, −8656, −8680 by force, −8687, −8643, −8644, −8683 its limits, −8657 the server refuses, −8638 no such
  ///   content, −8661 no started storage, −1010 a player that is not to be had.
  public func prepareToPlay(withMode type: KollusPlayerType = .kollus) throws {
    do {
      try prepare(type)
    } catch {
      tell { $0.delegate?.kollusPlayerView($0, prepareToPlayWithError: error) }
      throw error
    }
    tell { player in
      player.delegate?.kollusPlayerView(player, prepareToPlayWithError: nil)
      if let size = player.content?.naturalSize, size != .zero {
        player.delegate?.kollusPlayerView(player, naturalSize: size)
      }
    }
    tellBookmarks()
  }

  private func prepare(_ type: KollusPlayerType) throws {
    guard type != .hls else {
      throw KollusError(CoreError(.usage, code: KollusCode.unsupported, "nothing is streamed here"))
    }
    guard let storage else {
      throw KollusError(
        CoreError(
          .usage, code: KollusCode.cannotCall, "the player has no storage", hint: "set 'storage' first"))
    }
    let room = try storage.started()
    let settings = try storage.coreSettings()
    if case .playing(let control, _) = state.withLock({ $0.phase }), control.isStopped {
      // It is on its way out: charged, saved, its player ended.
      _ = ended.wait(timeout: .now() + .seconds(15))
    }
    let key = try state.withLock { state throws(KollusError) -> String in
      guard case .idle = state.phase else {
        throw KollusError(
          CoreError(.usage, code: KollusCode.cannotCall, "the player is in use", hint: "stop it first"))
      }
      guard let key = state.mediaContentKey else {
        throw KollusError(
          CoreError(
            .usage, code: KollusCode.parameter, "no content is set, or a folder", hint: "set 'kollusContent'")
        )
      }
      (state.phase, state.isStopped, state.activeKey) = (.preparing, false, key)
      return key
    }
    do {
      let (sends, wanted) = state.withLock { ($0.sendsReports, $0.wanted) }
      let (play, prepared, content) = try WorkExecutor.wait { [self] in
        if try await room.library.content(key)?.isDamaged ?? false { throw Self.damaged.of(key) }
        let play = PlayRoom(
          try PlaySession(
            library: room.library, settings: settings, sink: room.logging(PlayerSink(self, storage))))
        var request = PlayRequest(key)
        request.player = try PlayerChoice(settings.player)
        request.environment = storage.configuration.environment
        (request.sendsReports, request.start) = (sends, wanted)
        let prepared = try await play.session.prepare(request)
        return (play, prepared, try await storage.content(key, in: room))
      }
      try state.withLock { state throws(KollusError) in
        guard !state.isStopped else {
          throw KollusError(CoreError(.interrupted, code: KollusCode.cancelled, "the player was stopped"))
        }
        state.phase = .prepared(play, prepared)
        // Another one may have been set meanwhile, for the next time.
        if state.mediaContentKey == key { state.content = content }
        state.policy = prepared.policy
        (state.wanted, state.last) = (nil, nil)
      }
    } catch {
      state.withLock { ($0.phase, $0.activeKey) = (.idle, nil) }
      throw error
    }
  }

  /// Damage that was met before, by a list of contents for example.
  private static var damaged: CoreError {
    CoreError(
      .badData, code: KollusCode.damaged, "the stored file is damaged",
      hint: "call downloadContent(_:): only what is damaged is fetched")
  }

  /// Starts what was prepared, or goes on after a pause; returns at once.
  ///
  /// It begins where the content was left, unless ``currentPlaybackTime`` was set after it was prepared.
  ///
  /// Throws −8661 when nothing is prepared.
  public func play() throws {
    let resumed = try state.withLock { state throws(KollusError) -> PlayControl? in
      switch state.phase {
      case .playing(let control, _): return control
      case .prepared(let room, let prepared):
        let (control, watch) = (PlayControl(), PlayWatch(self))
        if let position = state.wanted { control.seek(to: position) }
        state.wanted = nil
        if state.rate != 1 { control.setSpeed(Double(state.rate)) }
        state.phase = .playing(control, watch)
        ended.enter()
        // Let go of before the end is told: whoever hears of it may prepare the next play at once.
        let play = HandedOver((room, prepared))
        WorkExecutor.start { [weak self, ended] in
          let end = await Self.follow(play, control, watch)
          self?.conclude(end, by: control)
          ended.leave()
        }
        return nil
      case .idle, .preparing:
        throw KollusError(
          CoreError(
            .usage, code: KollusCode.cannotCall, "nothing is prepared",
            hint: "call prepareToPlay(withMode:) first"))
      }
    }
    resumed?.pause(false)
  }

  /// Holds the picture; returns at once.
  ///
  /// Throws −8661 when nothing is played.
  public func pause() throws {
    guard case .playing(let control, _) = state.withLock({ $0.phase }) else {
      throw KollusError(CoreError(.usage, code: KollusCode.cannotCall, "nothing is played"))
    }
    control.pause(true)
  }

  /// Ends the play, or lets go of what was prepared, or is being prepared; returns at once.
  ///
  /// The ``delegate`` hears of the end of a play once it is charged and saved. Nothing happens when nothing is prepared.
  public func stop() throws {
    let control = state.withLock { state -> PlayControl? in
      switch state.phase {
      case .playing(let control, _): return control
      case .prepared:
        (state.phase, state.activeKey) = (.idle, nil)
        return nil
      case .preparing:
        state.isStopped = true
        return nil
      case .idle: return nil
      }
    }
    control?.stop()
  }

  /// Plays to the end; returns why it ended before its time.
  private static func follow(
    _ play: HandedOver<(PlayRoom, PreparedPlay)>, _ control: PlayControl, _ watch: PlayWatch
  ) async -> KollusError? {
    guard let (room, prepared) = play.take() else { return nil }
    do {
      let outcome = try await room.session.play(prepared.steered(by: control) { watch.take($0) })
      return outcome.error.map { KollusError($0) }
    } catch {
      return KollusError(any: error)
    }
  }

  /// The play is over.
  private func conclude(_ error: KollusError?, by control: PlayControl) {
    let position = control.position
    state.withLock { state in
      if state.activeKey == state.mediaContentKey { state.last = position }
      (state.phase, state.activeKey) = (.idle, nil)
    }
    let isOurs = control.isStopped
    tell { $0.delegate?.kollusPlayerView($0, stop: isOurs, error: error) }
    guard let storage, let room = try? storage.started(), let settings = try? storage.settings() else {
      return
    }
    WorkExecutor.start { await storage.sendBookmarks(room, settings, obeysBackoff: true) }
  }
}
