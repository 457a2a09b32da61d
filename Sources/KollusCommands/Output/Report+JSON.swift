import JSONKit
import KollusCore
import SystemKit

extension Report {
  /// The members of one stored report; a tested contract.
  ///
  /// `body` is the form, empty in receipts.
  func write(to writer: inout JSONWriter, withBody: Bool = false) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("state", state.rawValue)
    writer.member("mediaContentKey", mediaContentKey)
    writer.member("clientUserID", clientUserID)
    writer.member("startAt", startAt)
    writer.member("playStatus", playStatus)
    writer.member("url", url)
    writer.member("createdAt", createdAt)
    writer.member("endedAt", endedAt)
    writer.member("attempts", attempts)
    writer.member("nextAt", nextAt > 0 ? nextAt : nil)
    writer.member("notBefore", notBefore > 0 ? notBefore : nil)
    writer.member("status", status)
    writer.name("error")
    if let failure { Failure.write(failure, to: &writer) } else { writer.null() }
    if withBody { writer.member("body", body) }
    writer.endObject()
  }
}
