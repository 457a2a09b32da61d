/// A failure a person has to read: what happened, to which content, and what they can do about it.
package struct KollusError: Error, Equatable, Sendable {
  /// What a caller can do about a failure; the exit status follows from it.
  package enum Kind: String, Sendable {
    /// The command was not written as it must be.
    case usage
    /// Bytes from outside, or stored ones, are wrong or damaged.
    case badData
    /// The origin knows no such content.
    case unknownContent
    /// The origin or a callback says no, or cannot be trusted.
    case refused
    /// A mistake of this program.
    case internalFailure
    /// The disk has too little room.
    case noSpace
    /// A file could not be read or written.
    case inputOutput
    /// The network or a busy server; the same call later may do.
    case tryLater
    /// The licence does not allow it.
    case licence
    /// The home, the configuration or a key is not as it must be.
    case configuration
    /// The content was cancelled, or the process told to stop.
    case interrupted
  }

  package let kind: Kind
  /// Kollus's own number for the failure (PROTO §5), 0 where it has none.
  package let code: Int
  /// What failed and with which value; lower case, no final stop, never a secret.
  package let message: String
  /// What to do about it.
  package let hint: String?
  /// The content concerned.
  package var mediaContentKey: String?

  package init(
    _ kind: Kind, code: Int = 0, _ message: String, hint: String? = nil, mediaContentKey: String? = nil
  ) {
    (self.kind, self.code, self.message, self.hint) = (kind, code, message, hint)
    self.mediaContentKey = mediaContentKey
  }

  /// The same failure with `hint`, where it has none of its own.
  func hinting(_ hint: String) -> KollusError {
    KollusError(kind, code: code, message, hint: self.hint ?? hint, mediaContentKey: mediaContentKey)
  }

  /// The same failure, said of one content.
  package func of(_ mediaContentKey: String) -> KollusError {
    var error = self
    error.mediaContentKey = mediaContentKey
    return error
  }
}

/// The vendor's error numbers that this program gives (PROTO §5.1).
package enum KollusCode {
  /// The application's key is past its date.
  package static let expiredKey = -2
  package static let unsupported = -1010
  package static let noMediaContent = -4012
  package static let tokenExpired = -4085
  /// Added to a libcurl result or an HTTP status.
  package static let storageBase = -8000
  package static let saveData = -8602
  package static let openDatabase = -8603
  package static let readFile = -8610
  /// A value given to a call is not usable.
  package static let parameter = -8613
  /// A download of a content that was not loaded before.
  package static let notLoaded = -8614
  package static let cancelled = -8615
  package static let mediaURL = -8619
  package static let alreadyDownloading = -8631
  package static let storageFull = -8623
  package static let notComplete = -8629
  package static let contentInfoUnreadable = -8633
  /// The callback's answer cannot be trusted.
  package static let answerUntrusted = -8634
  /// The callback's answer is signed, but not of the right shape.
  package static let answerUnreadable = -8635
  /// An entry of the callback's answer has a wrong type or is out of range.
  package static let answerInvalid = -8636
  package static let urlNotUsable = -8637
  package static let notDownloaded = -8638
  package static let needsFreshURL = -8645
  package static let damaged = -8646
  package static let downloadForbidden = -8650
  package static let answerEmpty = -8651
  package static let downloadRefused = -8655
  package static let playRefused = -8657
  package static let cannotCall = -8661
  package static let clockDiffers = -8664
  package static let differentExpireReset = -8681
  /// The callback's answer has no entry for an item.
  package static let answerMissing = -8682
  package static let usedMediaKey = -8475
  package static let introClip = -8803
  package static let emptyPlaylist = -8802
  /// Added to a libcurl result or an HTTP status of the DRM callback.
  package static let drmCallbackBase = -9000
}
