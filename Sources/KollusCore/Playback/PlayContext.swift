import CurlKit
import JSONKit

/// What all reports of one play say besides what was watched, as it is stored with the play.
struct PlayContext: Sendable {
  var session: LMSReport.Session
  /// Where reports go; none where nobody wants any.
  var templates: [LMSTemplate]

  var encoded: String {
    var writer = JSONWriter(reserving: 1_024)
    writer.beginObject()
    writer.member("version", 1)
    writer.member("contentProviderKey", session.contentProviderKey)
    writer.member("clientUserID", session.clientUserID)
    writer.member("playerID", session.playerID)
    writer.member("hostName", session.hostName)
    writer.member("device", session.device)
    writer.member("encodingProfile", session.encodingProfile)
    writer.member("mediaContentKey", session.mediaContentKey)
    writer.member("channelKey", session.channelKey)
    writer.member("startAt", session.startAt)
    writer.member("userValues", session.userValues)
    writer.member("templates", templates.map(\.text).joined(separator: "\n"))
    writer.endObject()
    return writer.text
  }

  /// `nil` for what was not written by `encoded`.
  init?(encoded: String) {
    // Whatever is wrong with it, no report can be made of it.
    guard let json = try? JSON(parsing: encoded), (try? json.integer("version")) == 1,
      let key = try? json.string("mediaContentKey"), let startAt = try? json.integer("startAt"),
      let text = try? json.string("templates"), let templates = try? LMSTemplate.read(text)
    else { return nil }
    func string(_ name: String) -> String { (try? json.string(name)).flatMap { $0 } ?? "" }
    session = LMSReport.Session(mediaContentKey: key, startAt: startAt)
    session.contentProviderKey = string("contentProviderKey")
    session.clientUserID = string("clientUserID")
    session.playerID = string("playerID")
    session.hostName = string("hostName")
    session.device = string("device")
    session.encodingProfile = string("encodingProfile")
    session.channelKey = string("channelKey")
    session.userValues = string("userValues")
    self.templates = templates
  }

  init(_ session: LMSReport.Session, templates: [LMSTemplate]) {
    (self.session, self.templates) = (session, templates)
  }

  /// The reports with this status, one for each template.
  ///
  /// Throws `badData` for what cannot be sent because it is too long.
  func reports(
    _ status: LMSReport.PlayStatus, _ log: ViewingLog, of viewing: Int64, streams: some Sequence<Int>
  ) throws(KollusError) -> [Report] {
    let report = try LMSReport(session, status, log)
    var reports: [Report] = []
    for stream in streams {
      let (url, body) = try templates[stream].expand(report)
      reports.append(
        Report(
          viewing: viewing, stream: Int64(stream), mediaContentKey: session.mediaContentKey,
          clientUserID: session.clientUserID, startAt: session.startAt, playStatus: status.rawValue, url: url,
          body: body))
    }
    return reports
  }
}
