/// One report of viewing, expanded as it is to be sent (design §7).
package struct Report: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    /// To be sent.
    case pending
    /// The receiver has taken it: a receipt, without its body.
    case sent
    /// The receiver refuses it; it is not sent again by itself.
    case aside
    /// A later report of the same play was taken before it, which says all that it says.
    case superseded
  }

  package var id: Int64 = 0
  /// The play it is of.
  package var viewing: Int64
  /// The receiver's place among those of the play.
  package var stream: Int64
  package var mediaContentKey: String
  package var clientUserID: String
  /// Unix seconds.
  package var startAt: Int64
  /// `play`, `pause` or `stop`.
  package var playStatus: String
  /// Without its query, which goes into the body.
  package var url: String
  /// The form.
  package var body: String
  package var state = State.pending
  /// Unix seconds.
  package var createdAt: Int64 = 0
  package var endedAt: Int64?
  package var attempts: Int64 = 0
  /// When this program would try again by itself, Unix seconds.
  package var nextAt: Int64 = 0
  /// Before when the server wants no call, Unix seconds.
  package var notBefore: Int64 = 0
  package var status: Int64?
  package var failure: KollusError?

  package init(
    viewing: Int64, stream: Int64, mediaContentKey: String, clientUserID: String, startAt: Int64,
    playStatus: String, url: String, body: String
  ) {
    (self.viewing, self.stream, self.mediaContentKey) = (viewing, stream, mediaContentKey)
    (self.clientUserID, self.startAt, self.playStatus) = (clientUserID, startAt, playStatus)
    (self.url, self.body) = (url, body)
  }
}

extension Report {
  /// Longest wait a server may ask for, in seconds; one that is longer was asked for before the clock was put back.
  static let longestHold: Int64 = 86_400

  /// Whether a server wants no call yet.
  func isHeld(at time: Int64) -> Bool { notBefore > time && notBefore <= time + Self.longestHold }
}

/// What a try to send a report came to.
enum ReportOutcome: Sendable, Equatable {
  case sent(status: Int)
  /// The network, or a server that is busy: it waits.
  case wait(KollusError, status: Int?, notBefore: Int64)
  /// It will never be taken as it is.
  case refused(KollusError, status: Int)

  /// How an answer is classed (design §7).
  init(status: Int, display: String, notBefore: Int64) {
    switch status {
    case 200...299: self = .sent(status: status)
    case 408, 425, 429, 300...399, 500...599:
      self = .wait(
        KollusError(
          .tryLater, code: KollusCode.storageBase - status, "\(display) answered with status \(status)",
          hint: "the report is kept; 'kollus lms-flush' tries again"), status: status, notBefore: notBefore)
    default:
      self = .refused(
        KollusError(
          .refused, code: KollusCode.storageBase - status,
          "\(display) refuses the report with status \(status)",
          hint: "'kollus lms requeue' sends it again once the receiver is put right"), status: status)
    }
  }
}
