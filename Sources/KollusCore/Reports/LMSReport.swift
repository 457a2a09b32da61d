import JSONKit

/// One report of viewing progress to a learning management system (PROTO §3.5).
///
/// Times are sent in whole seconds, always rounded down: the blocks never add up to more than `playtime`.
package struct LMSReport: Sendable, Equatable {
  /// What made a report due, as `{PLAY_STATUS}` says it.
  package enum PlayStatus: String, Sendable {
    case play, pause, stop

    /// Whether no report of the session comes after it.
    package var isFinal: Bool { self == .stop }
  }

  /// What all reports of one session have in common.
  package struct Session: Sendable, Equatable {
    package var contentProviderKey = ""
    /// The user's id at the customer; with `startAt` it names the session.
    package var clientUserID = ""
    package var playerID = ""
    /// The domain that asked for playback.
    package var hostName = ""
    /// Describes device and system.
    package var device = ""
    package var encodingProfile = ""
    package var mediaContentKey: String
    package var channelKey = ""
    /// Device time at which playing began, in Unix seconds.
    package var startAt: Int64
    /// `uservalue0` … `uservalue99` as a JSON object; empty for none.
    package var userValues = ""

    package init(mediaContentKey: String, startAt: Int64) {
      (self.mediaContentKey, self.startAt) = (mediaContentKey, startAt)
    }
  }

  /// Longest text of a session, in bytes; a longer one is no key or name.
  static let textLimit = 1_024
  /// Longest `Session.userValues`, in bytes.
  static let userValuesLimit = 32 << 10

  package let session: Session
  package let status: PlayStatus
  package let log: ViewingLog
  /// The user values by their numbers.
  let userValues: [Int: String]

  /// A report of what was watched until now.
  ///
  /// Throws an error of the kind `badData` for a text of the session that is too long, or for user values
  /// that are no JSON object. Such texts are not cut: a cut key would name someone else.
  package init(_ session: Session, _ status: PlayStatus, _ log: ViewingLog) throws(KollusError) {
    let texts = [
      ("content provider key", session.contentProviderKey), ("client user id", session.clientUserID),
      ("player id", session.playerID), ("host name", session.hostName), ("device", session.device),
      ("encoding profile", session.encodingProfile), ("media content key", session.mediaContentKey),
      ("channel key", session.channelKey),
    ]
    for (name, text) in texts where text.utf8.count > Self.textLimit {
      throw KollusError(.badData, "the \(name) is longer than the \(Self.textLimit) bytes a report can hold")
    }
    userValues = try Self.read(session.userValues)
    (self.session, self.status, self.log) = (session, status, log)
  }

  private static func read(_ text: String) throws(KollusError) -> [Int: String] {
    guard !text.isEmpty else { return [:] }
    guard text.utf8.count <= userValuesLimit else {
      throw KollusError(
        .badData, "the user values are longer than the \(userValuesLimit) bytes a report can hold")
    }
    // Why it is not JSON helps nobody: it is this program that stored it.
    guard let json = try? JSON(parsing: text), json.kind == .object else {
      throw KollusError(.badData, "the user values are no JSON object")
    }
    var values: [Int: String] = [:]
    for (name, value) in json.members {
      guard name.hasPrefix("uservalue"), let number = Int(name.dropFirst(9)), (0...99).contains(number),
        name == "uservalue\(number)"
      else { continue }
      switch value.kind {
      case .string: values[number] = value.string
      case .bool, .integer, .number: values[number] = value.rawText
      case .null, .array, .object: continue
      }
    }
    return values
  }

  /// Seconds as they are sent.
  static func whole(_ seconds: Double) -> Int64 { Int64(seconds) }
}

extension LMSReport {
  /// What `{JSON_DATA}` stands for, below 4 MiB.
  ///
  /// Numbers in `content_info` are JSON strings, as some receivers read nothing else; those in `block_info`
  /// are numbers. Empty texts are sent too, as some receivers fail on a member that is not there.
  package var json: String {
    var writer = JSONWriter(reserving: 1_024 + 40 * log.blockCount)
    writer.beginObject()
    writer.name("user_info")
    writeUser(to: &writer)
    writer.name("content_info")
    writeContent(to: &writer)
    writer.name("block_info")
    writeBlocks(to: &writer)
    writer.name("uservalues")
    writer.beginObject()
    for (number, value) in userValues.sorted(by: { $0.key < $1.key }) {
      writer.member("uservalue\(number)", value)
    }
    writer.endObject()
    writer.endObject()
    return writer.text
  }

  /// What `{PLAY_BLOCK_JSON}` stands for: the `block_info` of `json`.
  package var blockJSON: String {
    var writer = JSONWriter(reserving: 64 + 40 * log.blockCount)
    writeBlocks(to: &writer)
    return writer.text
  }

  private func writeUser(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("content_provider_key", session.contentProviderKey)
    writer.member("client_user_id", session.clientUserID)
    writer.member("player_id", session.playerID)
    writer.member("host_name", session.hostName)
    writer.member("device", session.device)
    // One public sample receiver reads it by this name.
    writer.member("device_name", session.device)
    writer.endObject()
  }

  private func writeContent(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("duration", String(Self.whole(log.duration)))
    writer.member("encoding_profile", session.encodingProfile)
    writer.member("media_content_key", session.mediaContentKey)
    writer.member("channel_key", session.channelKey)
    writer.member("start_at", String(session.startAt))
    writer.member("last_play_at", String(Self.whole(log.lastPlayAt)))
    writer.member("playtime", String(Self.whole(log.playTime)))
    writer.member("real_playtime", String(Self.whole(log.realPlayTime)))
    writer.member("playtime_percent", String(log.playTimePercent))
    writer.member("runtime", String(Self.whole(log.runTime)))
    writer.member("showtime", String(Self.whole(log.showTime)))
    writer.endObject()
  }

  private func writeBlocks(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("block_count", log.blockCount)
    writer.name("blocks")
    writer.beginObject()
    for (index, block) in log.blocks.enumerated() {
      writer.member("b\(index)", block.isPlayed ? 1 : 0)
      writer.member("t\(index)", Self.whole(block.seconds))
      writer.member("p\(index)", block.percent)
    }
    writer.endObject()
    writer.endObject()
  }
}
