/// The customer's approval of a download.
extension Downloader {
  /// Whether the customer's server must be asked before the first byte (kind 1).
  ///
  /// An approval holds until the download is complete, however often it is interrupted; the repair of a
  /// complete content needs none, the download of one of whose file nothing can be kept is a new one.
  private func needsApproval(_ content: Content) -> Bool {
    guard content.needsLicence else { return false }
    guard let record = content.licence, record.licence.expired != .deletion else { return true }
    guard record.seal(of: content.mediaContentKey, by: home.identity) == .intact else { return true }
    // What cannot be opened is as good as gone.
    return record.isComplete && (content.state == .missing || (try? home.openMedia(of: content)) == nil)
  }

  /// The content with its approval, which is asked for and told where it is needed.
  func approved(_ content: Content) async throws -> Content {
    guard needsApproval(content) else { return content }
    do {
      let licence = try await licensor.approve(content)
      sink.emit(.note(.approved, mediaContentKey: content.mediaContentKey, message: licence.summary))
      return try await library.content(content.mediaContentKey) ?? content
    } catch let unanswered as DRMClient.Unanswered {
      throw FetchFailure(error: unanswered.error, notBefore: Int64((unanswered.notBefore ?? 0).rounded(.up)))
    }
  }

  /// Tells that a content is here, and that its licence does not allow a play where that is so.
  func tellReady(_ content: Content) async {
    sink.emit(.downloadContent(content.progress, error: nil))
    guard content.licence != nil else { return }
    // A ledger that cannot be read is as good as none, and the verdict says so.
    let ledger = try? await library.ledger()
    guard let reason = library.licenceVerdict(content, ledger: ledger ?? nil).reasons.first else { return }
    sink.emit(
      .note(
        .warning, mediaContentKey: content.mediaContentKey,
        message: "its licence does not allow a play: \(reason.message) (\(reason.code)); \(reason.hint)"))
  }
}
