public import Dispatch
import Foundation
import KollusCore
import Synchronization

/// The contents on this machine: downloads them, keeps their licences, tells what happens (PROTO §4.1).
///
/// Make one, set it up, ``start()`` it once and share it: there is no stop. Every member may be used from any thread. Calls that need the
/// network or the disk block until they are done, unless their description says that they return at once; what goes on
/// meanwhile and afterwards is told to the ``delegate``.
///
/// A library that is being used by the program `kollus` or by other processes may be used at the same time.
public final class KollusStorage: Sendable {
  /// What the application has set.
  struct Wishes {
    var configuration: KollusConfiguration
    var path: String?
    var timeOut: (seconds: Int, retries: Int)?
    var applicationKey: String?
    var applicationBundleID: String?
    var applicationExpireDate: Date?
    var keychainGroup: String?
    var serverPort = 0
    var extraDrmParam: String?
    var cacheSize = 0
    var downloadsInBackground = false
  }

  struct State {
    var wishes: Wishes
    /// `nil` before the start.
    var room: StorageRoom?
    /// Makes downloads until the settings change.
    var downloads: DownloadRoom?
    var running: [ExactText: RunningDownload] = [:]
    /// Contents whose origin was asked a moment ago.
    var fresh: Set<ExactText> = []
  }

  let state: Mutex<State>
  let calls = DelegateCalls(label: "kollus.storage.delegate")
  private let delegateSlot = WeakSlot()

  /// A storage that is not started yet.
  ///
  /// - Parameter configuration: Where things are, and what the vendor's SDK gets from Kollus's servers; this product's own.
  public init(configuration: KollusConfiguration = KollusConfiguration()) {
    state = Mutex(State(wishes: Wishes(configuration: configuration)))
  }

  deinit {
    let running = state.withLock { Array($0.running.values) }
    for download in running { download.task.cancel() }
  }

  // MARK: Who hears

  /// Hears of everything; held weakly.
  public var delegate: (any KollusStorageDelegate)? {
    get { delegateSlot.object as? any KollusStorageDelegate }
    set { delegateSlot.object = newValue }
  }

  /// The queue on which the delegate is called, one call at a time: a queue of the storage's own unless set, before the start.
  ///
  /// Set it to `DispatchQueue.main` to be called where the vendor's applications are. This product's own.
  public var delegateQueue: DispatchQueue {
    get { calls.queue }
    set { calls.queue = newValue }
  }

  /// Calls the delegate later, on its queue.
  func tell(_ call: @escaping @Sendable (any KollusStorageDelegate, KollusStorage) -> Void) {
    calls.perform { [weak self] in
      guard let self, let delegate else { return }
      call(delegate, self)
    }
  }

  // MARK: How it is set up

  /// How it is set up on Linux; changes count for what is begun after them, those of places only before the start.
  ///
  /// This product's own.
  public var configuration: KollusConfiguration {
    get { state.withLock { $0.wishes.configuration } }
    set {
      state.withLock { state in
        state.wishes.configuration = newValue
        state.downloads = nil
      }
    }
  }

  /// The settings in force now.
  func settings() throws(CoreError) -> Settings {
    let (configuration, timeOut) = state.withLock { ($0.wishes.configuration, $0.wishes.timeOut) }
    var settings = try configuration.settings()
    if let timeOut {
      settings.timeout = TimeSpan(seconds: Int64(timeOut.seconds))
      settings.retries = timeOut.retries
    }
    return settings
  }

  /// What a started storage works with; throws −8661 before the start.
  func started() throws -> StorageRoom {
    guard let room = state.withLock({ $0.room }) else {
      throw KollusError(
        CoreError(
          .usage, code: KollusCode.cannotCall, "the storage is not started", hint: "call start() first"))
    }
    return room
  }
}

/// What a started storage works with.
final class StorageRoom: Sendable {
  let library: Library

  init(_ library: Library) { self.library = library }

  /// Keeps what a sink is told in the log of the home too.
  func logging(_ sink: any EventSink) -> any EventSink {
    LoggingSink(sink, EventLog(library.home, now: library.now))
  }
}
