public import Foundation
import KollusCore
import Synchronization
import SystemKit

extension KollusStorage {
  /// Chooses the folder that holds everything, before the start.
  ///
  /// - Parameter path: An absolute path; the folder is made when it is not there.
  /// - Returns: `false`, and nothing is changed, once the storage is started or when the path is not absolute.
  @discardableResult
  public func setKollusPath(_ path: String) -> Bool {
    state.withLock { state in
      guard state.room == nil, path.hasPrefix("/"), !path.contains("\0") else { return false }
      state.wishes.path = path
      return true
    }
  }

  /// Opens the storage: takes or makes the player id, opens or makes the library.
  ///
  /// To be called once; further calls do nothing. The vendor's SDK asks its servers whether the application's key is right. There
  /// is no such server here, so that only ``applicationExpireDate`` is judged.
  ///
  /// Throws −2 when that date is past, and a ``KollusError`` when the configuration is not right, the folder lies on a network
  /// file system or was made on another machine, or the library cannot be opened.
  public func start() throws {
    try open { path throws(CoreError) in try Home(opening: path, machineID: ProcessContext.machineID()) }
  }

  /// The same as ``start()``.
  ///
  /// - Parameter first: Without meaning here; what it means to the vendor's SDK is not published.
  /// - Throws: What ``start()`` throws.
  public func start(withFirst first: Bool) throws { try start() }

  /// The same as ``start()``, which always goes by the player id of the first run.
  ///
  /// Throws as well when there is a library and its player id is gone.
  public func startWithCheck() throws { try start() }

  /// Opens the storage under a new player id, and binds it to this machine.
  ///
  /// Downloads are kept; those under a licence must be renewed before they can be played. Throws −8661 when the storage is
  /// started already, and otherwise as ``start()``.
  public func startWithNewPlayerID() throws {
    guard state.withLock({ $0.room == nil }) else {
      throw KollusError(CoreError(.usage, code: KollusCode.cannotCall, "the storage is started already"))
    }
    try open { path throws(CoreError) in
      try Home.renewIdentity(at: path, machineID: ProcessContext.machineID())
    }
  }

  private func open(_ home: (String) throws(CoreError) -> Home) throws {
    let (wishes, isStarted) = state.withLock { ($0.wishes, $0.room != nil) }
    guard !isStarted else { return }
    do throws(CoreError) {
      if let date = wishes.applicationExpireDate, date < Date() {
        throw CoreError(
          .refused, code: KollusCode.expiredKey, "the application's key has expired",
          hint: "use a later version of the application")
      }
      // What is wrong with the settings is told now, not at the first download.
      _ = try settings()
      let path =
        if let path = wishes.path { path } else {
          try Places.home(
            given: wishes.configuration.home, environment: wishes.configuration.environment)
        }
      guard !path.contains("\0") else {
        throw CoreError(
          .configuration, code: KollusCode.parameter, "the path of the storage holds a zero character")
      }
      let room = StorageRoom(try Library(try home(path)))
      state.withLock { state in
        if state.room == nil { state.room = room }
      }
    } catch {
      throw KollusError(error)
    }
  }

  // MARK: Who the application is

  /// The application's key; kept, and judged by nobody on Linux.
  public var applicationKey: String? {
    get { state.withLock { $0.wishes.applicationKey } }
    set { state.withLock { $0.wishes.applicationKey = newValue } }
  }

  /// The application's bundle id; kept, and judged by nobody on Linux.
  public var applicationBundleID: String? {
    get { state.withLock { $0.wishes.applicationBundleID } }
    set { state.withLock { $0.wishes.applicationBundleID = newValue } }
  }

  /// When the application's key ends; `nil` for never.
  ///
  /// After it ``start()`` refuses.
  public var applicationExpireDate: Date? {
    get { state.withLock { $0.wishes.applicationExpireDate } }
    set { state.withLock { $0.wishes.applicationExpireDate = newValue } }
  }

  /// Kept; there is no keychain, and the player id lies in the storage's folder.
  public var keychainGroup: String? {
    get { state.withLock { $0.wishes.keychainGroup } }
    set { state.withLock { $0.wishes.keychainGroup = newValue } }
  }

  /// The version of this library.
  public var applicationVersion: String { Version.current }

  /// The player id that licences are bound to, 40 hexadecimal digits; empty before the start.
  public var applicationDeviceID: String {
    state.withLock { $0.room }?.library.home.identity.playerID ?? ""
  }

  /// How this library calls itself to servers.
  public var appUserAgent: String { Version.userAgent }

  /// What callbacks are told as the kind of device: `linux/kollus`.
  ///
  /// The vendor's SDK says `kp-mobile` or `kp-tablet`; this is neither.
  public var deviceType: String { Licensor.deviceName }
}
