/// What the core tells the outside while it works: the core itself never prints.
///
/// The cases named after the vendor's delegate methods (PROTO §4.2) are the contract; notes tell the
/// life cycle between them.
package enum Event: Sendable {
  /// Progress, completion (`content.isDownloaded`) or failure (`error`) of a download.
  case downloadContent(ContentProgress, error: KollusError?)
  /// An exchange with the DRM callback: what was asked of one content, the answer's entry as JSON, or a failure.
  case drmRequest(DRMItem, json: String?, error: KollusError?)
  /// A renewal: the content just done, how many of how many.
  case drmUpdate(cur: Int, count: Int, mediaContentKey: String, error: KollusError?)
  /// An exchange with the LMS receiver: the form that was sent, and what came of it.
  case lmsData(String, LMSResult)
  /// Stored reports were sent: how many were taken, and how many not.
  case sendCompleteStoredLms(successCount: Int, failCount: Int)
  case note(Note, mediaContentKey: String?, message: String)
}

/// How a receiver answered a report.
package struct LMSResult: Sendable {
  package let mediaContentKey: String
  /// The HTTP status, `nil` when there was no answer.
  package let status: Int?
  package let error: KollusError?

  package init(mediaContentKey: String, status: Int?, error: KollusError?) {
    (self.mediaContentKey, self.status, self.error) = (mediaContentKey, status, error)
  }
}

/// A life-cycle note; the raw value is its name in JSON.
package enum Note: String, Sendable {
  /// The origin's manifest was had and stored.
  case resolved
  /// What a dry run found would be fetched.
  case planned
  /// Sound bytes of an earlier run were found and are kept.
  case resumed
  /// The object changed, so its download began anew.
  case restarted
  /// A failure that is tried again.
  case retrying
  /// The server asked for patience.
  case waiting
  /// Another process downloads this content; its progress follows.
  case joined
  /// Left out, with the reason.
  case skipped
  /// Damage was found in stored bytes.
  case damaged
  /// Damage was put right.
  case repaired
  /// The stored file is gone.
  case missing
  /// What a lost or damaged library held was found again.
  case recovered
  /// The customer's server allows the download, with these limits.
  case approved
  /// What a check of a content came to.
  case verdict
  case removed
  /// A download was given up, and what was held of it dropped.
  case cancelled
  /// Put into another virtual folder.
  case moved
  /// A play has ended, with what was watched.
  case played
  /// Something of little weight went wrong, such as a snapshot that could not be had.
  case warning
}

/// The figures of a content that a progress display needs.
package struct ContentProgress: Sendable, Equatable {
  package let mediaContentKey: String
  package let title: String
  package let isDownloaded: Bool
  /// Bytes on disk, received, checked and sealed.
  package let downloadSize: Int64
  package let fileSize: Int64

  package init(
    mediaContentKey: String, title: String, isDownloaded: Bool, downloadSize: Int64, fileSize: Int64
  ) {
    (self.mediaContentKey, self.title, self.isDownloaded) = (mediaContentKey, title, isDownloaded)
    (self.downloadSize, self.fileSize) = (downloadSize, fileSize)
  }

  /// Whole percent, 100 only for a content that is ready.
  package var percent: Int { Self.percent(downloadSize, of: fileSize, isDownloaded: isDownloaded) }

  static func percent(_ part: Int64, of whole: Int64, isDownloaded: Bool) -> Int {
    if isDownloaded { return 100 }
    guard whole > 0, part > 0 else { return 0 }
    return Int(min(99, Double(part) / Double(whole) * 100))
  }
}

/// Takes events from any thread, in the order they happened for each content.
package protocol EventSink: Sendable {
  func emit(_ event: Event)
}

/// Drops every event.
package struct SilentSink: EventSink {
  package init() {}
  package func emit(_ event: Event) {}
}
