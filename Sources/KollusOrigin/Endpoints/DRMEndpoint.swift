import JSONKit
import ServerKit

/// The customer's DRM download callback, answered by a policy.
struct DRMEndpoint: Sendable {
  let policies: PolicySource
  /// Whether responses carry a note for each item.
  let logs: Bool

  /// `POST /drm`: one signed answer for each item of the form field `items`.
  func answer(_ request: Request, now: Int64) -> Response {
    let items: [DRMItem]
    do throws(Refusal) {
      items = try DRMItem.all(in: request)
    } catch {
      return error.response
    }
    guard let choice = policies.choose(for: items) else {
      let message = "answers cannot be signed: start 'serve' with --keys FILE"
      var response = Response(501, message: message)
      if logs { response.notes = ["  \(message)"] }
      return response
    }
    var controls = ResponseControls()
    for entry in choice.entries { controls.fill(from: entry.controls) }
    // A pause that is cut short means that the server stops.
    if let delay = controls.delay, !request.pause(for: delay.duration) {
      return Response.dropped
    }
    let (answers, notes) = write(items, choice.entries, controls, now: now)
    let reply = DRMReply(signer: choice.signer, controls: controls, now: now)
    var response = reply.response(to: request, answers: answers)
    response.notes = notes
    return response
  }

  /// The JSON of all answers in order, and what the log says of each item.
  private func write(
    _ items: [DRMItem], _ entries: [PolicyEntry], _ controls: ResponseControls, now: Int64
  ) -> (answers: [String], notes: [String]) {
    var answers: [String] = []
    var notes: [String] = []
    answers.reserveCapacity(items.count)
    for (item, entry) in zip(items, entries) {
      var writer = JSONWriter(reserving: 512)
      entry.write(for: item, now: now, to: &writer)
      let own = Array(repeating: writer.text, count: entry.times) + entry.extra
      answers += own
      if logs { notes.append(AccessLog.note(item, own, controls)) }
    }
    return (answers, notes)
  }
}
