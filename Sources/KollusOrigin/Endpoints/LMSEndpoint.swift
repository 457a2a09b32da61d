import JSONKit
import ServerKit
import SystemKit

/// The customer's receiver of viewing reports.
struct LMSEndpoint: Sendable {
  let policies: PolicySource
  /// Where reports are kept; nil keeps none.
  let file: ReportFile?
  /// Whether responses carry a note of the report.
  let logs: Bool
  /// Gets what went wrong on our side.
  let complain: @Sendable (String) -> Void

  /// `POST /lms`, `GET /lms` or any path below: takes one report and says whether it was kept.
  func answer(_ request: Request, now: Int64) -> Response {
    let submission: LMSSubmission
    do throws(Refusal) {
      submission = try LMSSubmission(request)
    } catch {
      return error.response
    }
    let entry = policies.entry(for: submission.report)
    // A pause that is cut short means that the server stops.
    if let delay = entry.controls.delay, !request.pause(for: delay.duration) { return Response.dropped }
    let stores = entry.stores && file != nil
    do {
      if stores { try file?.append(submission.line(at: now)) }
    } catch {
      complain("a report is lost: \(error)")
      return Response(503, message: "the report cannot be kept: \(error.reason)")
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("stored", stores)
    writer.endObject()
    var response = entry.controls.response(
      to: request, body: writer.bytes, type: "application/json", now: now)
    if logs { response.notes = [AccessLog.note(submission, isStored: stores, entry.controls)] }
    return response
  }
}
