package import JSONKit

/// One item of a request to the DRM callback (PROTO §2.3).
package struct DRMItem: Sendable, Equatable {
  /// Why the callback is asked (PROTO §2.1).
  package enum Kind: Int64, Sendable {
    /// May this be downloaded?
    case download = 1
    /// The download is complete.
    case complete = 2
    /// May this still be played?
    case play = 3
  }

  package var kind: Kind
  package var mediaContentKey: String
  /// The user's id at the customer, "" where there is none.
  package var clientUserID: String
  package var playerID: String
  package var deviceName: String
  /// A JSON object, written as it is.
  package var userValues: String
  /// Device time at sending, in Unix seconds.
  package var localTime: Int64

  /// Device time of the request in Unix seconds; this and all below is sent with kind 3 only.
  package var startAt: Int64 = 0
  /// Made for this request; an answer that resets has to echo it.
  package var sessionKey = ""
  package var isContentExpired = false
  package var isCheckExpired = false
  /// Whether this is a bulk renewal, not a question because of playback.
  package var isReset = false
  /// The date now stored, in Unix seconds.
  package var expirationDate: Int64?

  package init(
    kind: Kind, mediaContentKey: String, clientUserID: String, playerID: String, deviceName: String,
    userValues: String, localTime: Int64
  ) {
    (self.kind, self.mediaContentKey, self.clientUserID) = (kind, mediaContentKey, clientUserID)
    (self.playerID, self.deviceName) = (playerID, deviceName)
    (self.userValues, self.localTime) = (userValues, localTime)
  }

  /// Appends the item as one JSON object; empty texts are left out, the user values come last.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("kind", kind.rawValue)
    writer.memberUnlessEmpty("client_user_id", clientUserID)
    writer.memberUnlessEmpty("player_id", playerID)
    writer.memberUnlessEmpty("device_name", deviceName)
    writer.memberUnlessEmpty("media_content_key", mediaContentKey)
    writer.member("localtime", localTime)
    if kind == .play {
      // A string: one public sample server fails on a number, the others take both.
      writer.member("start_at", String(startAt))
      writer.memberUnlessEmpty("session_key", sessionKey)
      writer.member("content_expired", isContentExpired ? 1 : 0)
      writer.member("check_expired", isCheckExpired ? 1 : 0)
      writer.member("reset_req", isReset ? 1 : 0)
      if let expirationDate { writer.member("expiration_date", expirationDate) }
    }
    writer.name("uservalues")
    writer.raw(userValues.isEmpty ? "{}" : userValues)
    writer.endObject()
  }
}

extension JSONWriter {
  fileprivate mutating func memberUnlessEmpty(_ name: String, _ value: String) {
    if !value.isEmpty { member(name, value) }
  }
}
