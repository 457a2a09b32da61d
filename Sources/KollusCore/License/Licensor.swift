import CurlKit
import SystemKit

/// Asks the DRM callback about contents and keeps what it grants.
package struct Licensor: Sendable {
  let library: Library
  let settings: Settings
  let sink: any EventSink
  let client: DRMClient

  /// What this program calls the device (`device_name`); nothing in it tells one machine from another.
  package static let deviceName = "linux/kollus"

  init(library: Library, settings: Settings, sink: any EventSink, engine: TransferEngine, keys: SecurityKeys)
  {
    (self.library, self.settings, self.sink) = (library, settings, sink)
    client = DRMClient(engine: engine, settings: settings, keys: keys, now: library.now)
  }

  /// Where a content's callback is: the origin's word, else the configuration's.
  func callback(of content: Content) async throws -> WebAddress {
    var text = content.drmCallback
    if text.isEmpty {
      // A row that was emptied by hand: what the origin said is stored sealed as well.
      let source = try await library.source(of: content.id).flatMap {
        Source(opening: $0, of: content.mediaContentKey, key: library.home.identity.key)
      }
      text = source?.manifest.content.drmCallback ?? ""
    }
    if text.isEmpty { text = settings.drmCallback ?? "" }
    guard !text.isEmpty else {
      throw KollusError(
        .configuration, code: KollusCode.answerEmpty,
        "the content needs a licence and no DRM callback is known for it",
        hint: "set 'drmCallback' in the configuration, or download it again",
        mediaContentKey: content.mediaContentKey)
    }
    guard let address = WebAddress(text) else {
      throw KollusError(
        .configuration, code: KollusCode.answerEmpty, "the DRM callback is not a usable http or https URL",
        hint: "correct 'drmCallback' in the configuration", mediaContentKey: content.mediaContentKey)
    }
    return address
  }

  func item(_ kind: DRMItem.Kind, _ content: Content) -> DRMItem {
    DRMItem(
      kind: kind, mediaContentKey: content.mediaContentKey,
      clientUserID: content.clientUserID.isEmpty ? settings.cuid ?? "" : content.clientUserID,
      playerID: library.home.identity.playerID, deviceName: Self.deviceName, userValues: content.userValues,
      localTime: Int64(library.now()))
  }

  // MARK: Download

  /// Asks whether the content may be downloaded (kind 1), keeps and returns the licence; throws when it may not.
  func approve(_ content: Content) async throws -> Licence {
    let (answer, clock) = try await ask(.download, content) { Licence.approved(by: $0).failure }
    if let date = clock.date, abs(date - clock.device) > TimeLedger.serverTolerance {
      let error = KollusError(
        .refused, code: KollusCode.clockDiffers,
        "the clock of this machine and the callback server's differ: \(WallClock.text(clock.device)) here, \(WallClock.text(date)) there",
        hint: "set the clock of this machine, then run the same command again")
      try await library.noteFailure(
        of: content.id, kind: .download, at: clock.device, isAnswered: true, error)
      throw error
    }
    switch Licence.approved(by: answer) {
    case .keep(let licence, _):
      try await library.approve(content, licence, clock)
      return licence
    case .refuse(let error), .delete(let error):
      try await library.noteFailure(
        of: content.id, kind: .download, at: clock.device, isAnswered: true, error)
      throw error
    }
  }

  /// Tells that the download is complete (kind 2) and makes the content ready.
  ///
  /// A refusal and no answer at all expire the licence by force: then the content is ready, and the failure
  /// comes with it. An answer that cannot be used throws, and leaves the completion to be told again.
  func complete(_ content: Content, stamp: Int64) async throws -> (Content, KollusError?) {
    let key = content.mediaContentKey
    let ready: Content?
    var failure: KollusError?
    do {
      let held = content.licence?.licence ?? Licence()
      let (answer, clock) = try await ask(.complete, content) { held.completed(by: $0).failure }
      switch held.completed(by: answer) {
      case .delete(let error):
        try await delete(content, clock, kind: .complete, error)
        throw error.of(key)
      case .refuse(let error): throw error
      case .keep(_, let error):
        failure = error
        ready = try await library.complete(content, stamp: stamp, clock: clock, error: error) { licence in
          if case .keep(let kept, _) = licence.completed(by: answer) { kept } else { licence }
        }
      }
    } catch {
      // No word from the server, or none that is about the content: as the SDK does, it expires by force.
      let notBefore = Int64(((error as? DRMClient.Unanswered)?.notBefore ?? 0).rounded(.up))
      guard let error = Self.silence(error) else { throw error }
      let forced = (content.licence?.licence ?? Licence()).uncompleted(because: error).error
      failure = forced
      let clock = ServerClock(date: nil, device: Int64(library.now()), isTrusted: false)
      ready = try await library.complete(
        content, stamp: stamp, clock: clock, error: forced, notBefore: notBefore
      ) {
        $0.uncompleted(because: error).licence
      }
    }
    guard let ready else { throw Downloader.removed }
    try keepGeneration(of: ready)
    return (ready, failure?.of(key))
  }

  /// The failure of an exchange in which the server said nothing of the content: no answer, or a status.
  private static func silence(_ error: any Error) -> KollusError? {
    if let unanswered = error as? DRMClient.Unanswered { return unanswered.error }
    guard let error = error as? KollusError, error.kind == .refused, error.code <= KollusCode.drmCallbackBase
    else { return nil }
    return error
  }

  /// Destroys the key, then the file, and only then tells (PROTO §2.5).
  private func delete(_ content: Content, _ clock: ServerClock, kind: DRMItem.Kind, _ error: KollusError)
    async throws
  {
    try await library.setDeleted(content, clock, kind: kind, error)
    try library.home.destroyMedia(of: content.mediaContentKey)
    tellDeletion(of: content.mediaContentKey, error)
  }

  func tellDeletion(of key: String, _ error: KollusError) {
    sink.emit(.note(.removed, mediaContentKey: key, message: error.message))
  }

  /// Writes the number of the licence into the media file, so that an older library is told.
  private func keepGeneration(of content: Content) throws(KollusError) {
    guard let record = content.licence else { return }
    try library.home.keepGeneration(record.generation, of: content.mediaContentKey)
  }

  /// One exchange about one content, told as an event with what `judge` makes of the answer.
  private func ask(
    _ kind: DRMItem.Kind, _ content: Content, judge: (DRMAnswer) -> KollusError?
  ) async throws -> (DRMAnswer, ServerClock) {
    let item = item(kind, content)
    let key = content.mediaContentKey
    do {
      let reply = try await client.ask([item], at: try await callback(of: content)) { note, message in
        sink.emit(.note(note, mediaContentKey: key, message: message))
      }
      guard let result = reply.results.first else {
        throw KollusError(.internalFailure, "an exchange without a result").of(key)
      }
      let answer = try result.get()
      sink.emit(.drmRequest(item, json: answer.text, error: judge(answer)?.of(key)))
      // Kind 1 is refused for it.
      if kind != .download { tellClock(reply.clock, of: key) }
      return (answer, reply.clock)
    } catch {
      let failure = (error as? DRMClient.Unanswered)?.error ?? KollusError(any: error)
      guard failure.kind != .interrupted else { throw error }
      sink.emit(.drmRequest(item, json: nil, error: failure.of(key)))
      try await library.noteFailure(of: content.id, kind: kind, at: Int64(library.now()), failure)
      throw error
    }
  }
}

extension Licence.Change {
  /// What is to be told as the failure of an exchange.
  fileprivate var failure: KollusError? {
    switch self {
    case .keep(_, let error): error
    case .delete(let error), .refuse(let error): error
    }
  }
}

extension Licensor {
  /// Warns of a server whose clock and this machine's differ: dates are judged by the server's.
  func tellClock(_ clock: ServerClock, of mediaContentKey: String?) {
    guard let date = clock.date, abs(date - clock.device) > TimeLedger.serverTolerance else { return }
    sink.emit(
      .note(
        .warning, mediaContentKey: mediaContentKey,
        message:
          "the callback server's clock says \(WallClock.text(date)), this machine's \(WallClock.text(clock.device)); one of them is wrong"
      ))
  }
}

extension DRMReply {
  var clock: ServerClock {
    ServerClock(date: date, device: Int64(deviceTime), isTrusted: isTrusted)
  }
}

extension Home {
  /// Destroys the key of a content's media, then removes the file, and what else there may be under its name:
  /// pictures, and what a kill left of their writing or of a new file.
  func destroyMedia(of mediaContentKey: String, hasMore: Bool = true) throws(KollusError) {
    do throws(SystemError) {
      try SealedFile.destroy(mediaPath(of: mediaContentKey))
      let name = Self.mediaName(of: mediaContentKey)
      let hasFolder = try Files.information(mediaPath) != nil
      let names = hasMore && hasFolder ? try Files.names(in: mediaPath) : []
      for leftover in names where leftover.hasPrefix("\(name).") {
        try Files.remove("\(mediaPath)/\(leftover)")
      }
    } catch {
      throw KollusError(error).of(mediaContentKey)
    }
  }

  /// The number of the last licence in a content's file: 0 when it never held one, `nil` when it cannot be told.
  func fileGeneration(of mediaContentKey: String) -> Int64? {
    // What cannot be read is not trusted.
    (try? GenerationSlot.read(mediaPath(of: mediaContentKey), key: identity.generationKey)) ?? nil
  }

  /// Writes the number of a licence into the media file; a file that is gone has none to keep.
  func keepGeneration(_ generation: Int64, of mediaContentKey: String) throws(KollusError) {
    do throws(SystemError) {
      try GenerationSlot.write(generation, to: mediaPath(of: mediaContentKey), key: identity.generationKey)
    } catch {
      throw KollusError(error).of(mediaContentKey)
    }
  }
}
