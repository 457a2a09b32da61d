import KollusCore
import Synchronization

/// Where things are and how much there is of them; what has no meaning on Linux says so.
extension KollusStorage {
  /// The folder that holds everything; empty before the start.
  public var storagePath: String { state.withLock { $0.room }?.library.home.path ?? "" }

  /// Bytes of all downloads, unfinished ones too; 0 before the start.
  public var storageSize: Int64 {
    guard let room = state.withLock({ $0.room }) else { return 0 }
    // A library that cannot be read has nothing to count.
    let contents = try? WorkExecutor.wait { [self] in
      try await room.library.contents().map { shown($0, room.library, nil) }
    }
    return (contents ?? []).reduce(0) { $0.addingReportingOverflow($1.downloadSize).partialValue }
  }

  /// Bytes of the streaming cache: always 0, since nothing is streamed.
  public var cacheDataSize: Int64 { 0 }

  /// Does nothing: there is no streaming cache.
  public func removeCache() throws {}

  /// Does nothing: there is no streaming cache.
  ///
  /// - Parameter size: Megabytes.
  public func setCacheSize(_ size: Int) { state.withLock { $0.wishes.cacheSize = size } }

  /// Kept; players are served on a port that the system chooses, so that two of them never meet.
  public var serverPort: Int {
    get { state.withLock { $0.wishes.serverPort } }
    set { state.withLock { $0.wishes.serverPort = newValue } }
  }

  /// Kept, and not sent: where it stands in a request to a callback is not published.
  public var extraDrmParam: String? {
    get { state.withLock { $0.wishes.extraDrmParam } }
    set { state.withLock { $0.wishes.extraDrmParam = newValue } }
  }

  /// How long to wait for a server, and how often to try again, in what is begun after this call.
  ///
  /// - Parameters:
  ///   - timeOut: Seconds from 1 to 3600, for a connection and for a stall; 30 unless configured.
  ///   - retry: Tries after a failure, from 0 to 100, earned back by progress; 3 unless configured.
  public func setNetworkTimeOut(_ timeOut: Int, retry: Int) {
    let timeOut = (seconds: min(max(timeOut, 1), 3_600), retries: min(max(retry, 0), 100))
    state.withLock { state in
      state.wishes.timeOut = timeOut
      state.downloads = nil
    }
  }

  /// Does nothing: downloads go on as long as the process does, and after its end where they stopped.
  ///
  /// - Parameter isOn: What the application wishes.
  public func setBackgroundDownload(_ isOn: Bool) {
    state.withLock { $0.wishes.downloadsInBackground = isOn }
  }
}
