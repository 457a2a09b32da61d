/// One content of the library, with every metadata field of the vendor's `KollusContent` (PROTO §4.3).
package struct Content: Sendable, Equatable {
  /// Numbers of PROTO §4.4; those that only stream have no place here.
  package enum Kind: Int64, Sendable {
    case download = 1
    case sample = 2
  }

  /// How far a download has come; each step is written before the next begins.
  package enum State: String, Sendable, CaseIterable {
    /// The origin's manifest is stored.
    case registered
    /// The customer's server allows the download.
    case approved
    case fetching
    /// All bytes are here and sealed, the completion not yet told.
    case fetched
    case ready
    case failed
    case cancelled
    /// It was ready, and its file is gone.
    case missing
  }

  package var id: Int64 = 0
  package var mediaContentKey: String
  /// Virtual folder, `a/b`; empty at the root.
  package var folder = ""
  package var title = ""
  package var company = ""
  package var course = ""
  package var teacher = ""
  package var synopsis = ""
  package var descriptionURL = ""
  /// File names under the home's `media`, empty where there is none.
  package var fileName = ""
  /// Stands for size, segments and digests of the media: another value is another object.
  package var identity = ""
  package var snapshot = ""
  package var thumbnail = ""
  package var kind = Kind.download
  package var mediaType = ""
  package var state = State.registered
  /// Why the last download of the content failed.
  package var failure: KollusError?
  /// Bytes of the media.
  package var fileSize: Int64 = 0
  /// Bytes received, checked and sealed; never falls but by a restart.
  package var downloadSize: Int64 = 0
  /// Unix seconds when it became ready, 0 before.
  package var downloadedTime: Int64 = 0
  /// Seconds.
  package var duration = 0.0
  /// Last play position in seconds.
  package var position = 0.0
  package var naturalWidth: Int64 = 0
  package var naturalHeight: Int64 = 0
  package var encodingProfile = ""
  package var contentProviderKey = ""
  package var clientUserID = ""
  /// `uservalue0` … `uservalue99` of the play URL, as a JSON object.
  package var userValues = "{}"
  /// Whether a DRM callback was ever named for it: then it is never used without a licence.
  package var needsLicence = false
  /// URL of its DRM callback; empty where none was ever named.
  package var drmCallback = ""
  /// What is stored of its licence, not yet checked: `holding(by:)` does.
  package var licence: LicenceRecord?
  /// Unix seconds before which the server asked not to be called again, 0 for none.
  package var notBefore: Int64 = 0
  /// What the file's time stamp was when it became ready, to notice a change cheaply.
  package var fileStamp: Int64 = 0

  package init(mediaContentKey: String) { self.mediaContentKey = mediaContentKey }

  package var isDownloaded: Bool { state == .ready }
  /// Whether it was ready until damage was found.
  package var isDamaged: Bool {
    state == .failed && failure?.code == KollusCode.damaged && downloadedTime > 0
  }
  /// Whether a file of it is to be expected among the media.
  var holdsFile: Bool { isDownloaded || downloadSize > 0 }
  /// Bytes held of a download that stands still (`downloadStopSize`).
  package var stopSize: Int64 { isDownloaded ? 0 : downloadSize }

  package var progress: ContentProgress {
    ContentProgress(
      mediaContentKey: mediaContentKey, title: title, isDownloaded: isDownloaded, downloadSize: downloadSize,
      fileSize: fileSize)
  }
}
