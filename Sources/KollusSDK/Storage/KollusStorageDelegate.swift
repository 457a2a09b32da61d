/// Hears of everything that happens in a storage: downloads, licences, reports of viewing (PROTO §4.2).
///
/// All calls come one after the other on ``KollusStorage/delegateQueue``, in the order things happened, and never from inside a
/// call to the storage: a delegate may call the storage again. Every method may be left out. A delegate isolated to the main actor
/// needs that queue to be the main one.
public protocol KollusStorageDelegate: AnyObject {
  /// A download goes on (`error` is `nil`, the content is not yet ``KollusContent/downloaded``), is complete (`downloaded`), or failed.
  ///
  /// Progress comes at most a few times a second for each content and never goes back.
  ///
  /// - Parameters:
  ///   - storage: The storage.
  ///   - content: The content as it stands now.
  ///   - error: A ``KollusError`` when it failed; −8615 when it was cancelled.
  func kollusStorage(
    _ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?)

  /// An exchange with the customer's DRM callback about one content: at a download, its completion, a renewal or a play.
  ///
  /// - Parameters:
  ///   - storage: The storage.
  ///   - request: The item that was asked, by the callback's own names (PROTO §2.3).
  ///   - json: The entry of the answer (PROTO §2.5); `nil` when there was none.
  ///   - error: A ``KollusError`` when there was no answer, or it refuses or expires the content.
  func kollusStorage(
    _ storage: KollusStorage, request: [AnyHashable: Any], json: [AnyHashable: Any]?, error: (any Error)?)

  /// A renewal of many licences goes on: one content is done.
  ///
  /// - Parameters:
  ///   - storage: The storage.
  ///   - cur: How many are done, from 1; 0 when the renewal as a whole came to nothing.
  ///   - count: How many there are.
  ///   - error: A ``KollusError`` when this content's renewal failed.
  func kollusStorage(_ storage: KollusStorage, cur: Int32, count: Int32, error: (any Error)?)

  /// A report of viewing was sent to the content's LMS callback, or could not be.
  ///
  /// - Parameters:
  ///   - storage: The storage.
  ///   - lmsData: The form that was sent.
  ///   - resultJson: `status`, the HTTP status where there was an answer; `mediaContentKey`; and for a failure `error` with
  ///     `code` and `message`.
  func kollusStorage(_ storage: KollusStorage, lmsData: String, resultJson: [AnyHashable: Any])

  /// All that was stored of reports was tried, as ``KollusStorage/sendStoredLms()`` asked for.
  ///
  /// - Parameters:
  ///   - successCount: How many were taken.
  ///   - failCount: How many were not; they wait, or are set aside where their receiver refuses them.
  func onSendCompleteStoredLms(_ successCount: Int32, failCount: Int32)
}

extension KollusStorageDelegate {
  /// Does nothing.
  public func kollusStorage(
    _ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusStorage(
    _ storage: KollusStorage, request: [AnyHashable: Any], json: [AnyHashable: Any]?, error: (any Error)?
  ) {}
  /// Does nothing.
  public func kollusStorage(_ storage: KollusStorage, cur: Int32, count: Int32, error: (any Error)?) {}
  /// Does nothing.
  public func kollusStorage(_ storage: KollusStorage, lmsData: String, resultJson: [AnyHashable: Any]) {}
  /// Does nothing.
  public func onSendCompleteStoredLms(_ successCount: Int32, failCount: Int32) {}
}
