import CurlKit
import Glibc
import SealKit
package import SystemKit

/// The folder that holds everything: library, sealed media, device key, locks.
package struct Home: Sendable {
  package let path: String
  package let identity: DeviceIdentity

  package var mediaPath: String { "\(path)/media" }
  /// Stands in the folder of all media, so that an empty mount point is not taken for it.
  var mediaMark: String { "\(mediaPath)/.kollus" }
  var libraryPath: String { "\(path)/library.db" }
  var clockPath: String { "\(path)/clock" }
  var lockPath: String { "\(path)/locks" }
  /// The way out where a file of the home cannot be used.
  static let doctorHint = "'kollus doctor' looks closer, 'kollus doctor --fix' puts right what it can"
  static let identityName = "device.key"
  static let identityCopyName = "device.key.copy"

  /// Opens the home at `path`, making it when it is not there.
  ///
  /// Refused on a network file system, with a device key others can read, and on another machine than
  /// the one it was made on.
  package init(opening path: String, machineID: String) throws(KollusError) {
    try self.init(path, machineID: machineID, mustBelong: true)
  }

  private init(_ path: String, machineID: String, mustBelong: Bool) throws(KollusError) {
    self.path = path
    let network: String?
    let mode: UInt32
    do throws(SystemError) {
      try Files.makeFolder(path)
      let found = try Files.information(path)
      guard found?.isDirectory ?? true else { throw SystemError("use", path, number: ENOTDIR) }
      mode = found?.mode ?? 0
      network = try Files.networkFileSystem(at: path)
    } catch {
      throw KollusError(error).hinting("choose a folder you may write to with --home or KOLLUS_HOME")
    }
    guard mode & 0o022 == 0 else {
      throw KollusError(
        .configuration, "others may write to the home \(path)",
        hint: "run: chmod 700 '\(path)', or choose another folder")
    }
    if let network {
      throw KollusError(
        .configuration,
        "the home \(path) lies on a network file system (\(network)), where locks do not hold",
        hint: "choose a local folder with --home or KOLLUS_HOME")
    }
    identity = try Self.identity(in: path, machineID: machineID)
    guard !mustBelong || identity.belongs(to: machineID) else {
      throw KollusError(
        .configuration, "the home \(path) was made on other device",
        hint: "run 'kollus identity new' to use it here; contents are kept, their licences need renewing")
    }
  }

  /// Gives the home at `path` a new player id and binds it to this machine; contents are kept.
  package static func renewIdentity(at path: String, machineID: String) throws(KollusError) -> Home {
    let home = try Home(path, machineID: machineID, mustBelong: false)
    let identity = try DeviceIdentity.made(machineID: machineID, key: home.identity.key)
    do throws(SystemError) {
      try Files.write(identity.encoded, to: "\(path)/\(identityName)")
      try Files.write(identity.encoded, to: "\(path)/\(identityCopyName)")
    } catch {
      throw KollusError(error)
    }
    return try Home(opening: path, machineID: machineID)
  }

  private static func identity(in home: String, machineID: String) throws(KollusError) -> DeviceIdentity {
    let path = "\(home)/\(identityName)"
    do throws(KollusError) {
      if let identity = try DeviceIdentity.read(path) {
        keepCopy(of: identity, in: home)
        return identity
      }
    } catch {
      guard error.hint == DeviceIdentity.lostHint, copy(in: home) != nil else { throw error }
      throw KollusError(error.kind, error.message, hint: copyHint)
    }
    let identity = try DeviceIdentity.made(machineID: machineID)
    do throws(SystemError) {
      guard !isUsed(home) else { throw SystemError("find", path, number: ENOKEY) }
      try Files.create(identity.encoded, at: path)
      keepCopy(of: identity, in: home)
      return identity
    } catch {
      switch error.number {
      case EEXIST, ENOKEY: break  // Another process may have made it a moment ago: it comes before a library.
      default: throw KollusError(error).hinting("choose a folder you may write to with --home or KOLLUS_HOME")
      }
    }
    guard let identity = try DeviceIdentity.read(path) else {
      throw KollusError(
        .configuration, "the device key \(path) is missing",
        hint: copy(in: home) == nil
          ? "put back a copy of it, or move \(home) away to start afresh" : copyHint)
    }
    return identity
  }

  private static let copyHint = "run 'kollus doctor --fix': its second copy is whole"

  /// Whether anything stands in the home that only its own key opens.
  static func isUsed(_ home: String) -> Bool {
    let names = (try? Files.names(in: home)) ?? []
    let media = (try? Files.names(in: "\(home)/media")) ?? []
    return names.contains("library.db") || names.contains("\(identityCopyName)")
      || media.contains { $0.hasSuffix(".sealed") }
  }

  /// The second copy of the device key, when it is whole.
  static func copy(in home: String) -> DeviceIdentity? {
    (try? DeviceIdentity.read("\(home)/\(identityCopyName)")).flatMap { $0 }
  }

  /// Without its key a home is lost, so there are two copies; one that is there already is left alone.
  static func keepCopy(of identity: DeviceIdentity, in home: String) {
    let path = "\(home)/\(identityCopyName)"
    // The copy is for bad days: not having it costs nothing today.
    guard (try? Files.information(path)) == .some(nil) else { return }
    try? Files.create(identity.encoded, at: path)
  }
}

/// Names of media files: they tell nothing of the key, and no part of the key is in them.
extension Home {
  static func mediaName(of mediaContentKey: String) -> String {
    "\(Hex.encode(SHA256.hash(Array(mediaContentKey.utf8)).bytes.prefix(16))).sealed"
  }

  /// Where the media of a content lies.
  package func mediaPath(of mediaContentKey: String) -> String {
    "\(mediaPath)/\(Self.mediaName(of: mediaContentKey))"
  }
}

extension Home {
  /// Stands for a play URL, which is not kept as text.
  func playURLDigest(_ address: WebAddress) -> [UInt8] {
    HMAC.sha256(Array(address.text.utf8), key: identity.key.derived("play url")).bytes
  }
}

/// Whether the folder of all media is the one that was used before: its disk may not be mounted.
extension Home {
  package var hasMedia: Bool {
    if SealedFile.exists(mediaMark) { return true }
    // A folder from before there was a mark.
    return (try? Files.names(in: mediaPath))?.contains { $0.hasSuffix(".sealed") } ?? false
  }

  /// Throws where the files of a content could not be destroyed, before anything else is changed.
  func checkDestroyable(_ mediaContentKey: String) throws(KollusError) {
    let path = mediaPath(of: mediaContentKey)
    do throws(SystemError) {
      for path in [path, "\(path).snapshot", "\(path).thumbnail"] {
        let found = try Files.information(path, followsLinks: false)
        if found?.isDirectory ?? false { throw SystemError("remove", path, number: EISDIR) }
      }
      guard let found = try Files.information(path, followsLinks: false) else { return }
      if found.isRegular { _ = try File(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW) }
      guard Files.isWritable(mediaPath) else {
        throw SystemError("remove files from", mediaPath, number: EACCES)
      }
    } catch {
      throw KollusError(error).hinting(Self.doctorHint).of(mediaContentKey)
    }
  }

  /// Whether the key of this home opens any of the media in it.
  var opensMedia: Bool {
    // What cannot be looked at proves nothing.
    ((try? Files.names(in: mediaPath)) ?? []).contains { name in
      name.hasSuffix(".sealed")
        && (try? SealedFile.open("\(mediaPath)/\(name)", deviceKey: identity.key, heals: false)) != nil
    }
  }

  /// The failure when it is not there.
  package var mediaMissing: KollusError {
    KollusError(
      .inputOutput, code: KollusCode.readFile,
      "the folder of all media is not there, or not the right one: \(mediaPath)",
      hint:
        "mount its disk; if its files are lost for good, run: mkdir -p '\(mediaPath)' && touch '\(mediaMark)'"
    )
  }

  /// Makes the folder of all media for a library that has none yet.
  func makeMedia() throws(SystemError) {
    try Files.makeFolder(mediaPath)
    _ = try File(mediaMark, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW)
  }
}

/// Locks between processes; each is dropped by the kernel when its holder dies.
extension Home {
  /// Taken while the library is made or migrated.
  func setupLock() throws(KollusError) -> ByteLock? { try lock(at: 0) }

  /// Taken by the one process that renews licences.
  func renewalLock() throws(KollusError) -> ByteLock? { try lock(at: 1) }

  /// Taken by the one process that sends changes of bookmarks.
  func bookmarkLock() throws(KollusError) -> ByteLock? { try lock(at: 2) }

  /// Taken for the moment in which a full file of the event log is put aside.
  func eventLogLock() throws(SystemError) -> ByteLock? { try ByteLock(path: lockPath, offset: 16) }

  /// Taken by the one process that downloads, repairs or removes this content.
  package func lock(content id: Int64) throws(KollusError) -> ByteLock? {
    try lock(at: Self.contents.lowerBound + (id & 0xffff_ffff_ffff))
  }

  /// Offsets of the locks of contents.
  private static var contents: Range<Int64> { 1_024..<1_024 + 1 << 48 }

  /// Whether somebody works on this content; unlike an attempt to lock it, the look is in nobody's way.
  package func isLocked(content id: Int64) throws(KollusError) -> Bool {
    let offset = Self.contents.lowerBound + (id & 0xffff_ffff_ffff)
    return try !held(offset..<offset + 1).isEmpty
  }

  /// The contents that somebody works on.
  func lockedContents() throws(KollusError) -> [Int64] {
    try held(Self.contents).map { $0 - Self.contents.lowerBound }.sorted()
  }

  private func held(_ range: Range<Int64>) throws(KollusError) -> [Int64] {
    do throws(SystemError) {
      return try ByteLock.held(path: lockPath, in: range)
    } catch {
      throw KollusError(error)
    }
  }

  /// Held by the process that plays, as long as it does.
  func lock(playing id: Int64) throws(KollusError) -> ByteLock? {
    try lock(at: 1 << 61 | (id & 0xffff_ffff_ffff))
  }

  /// Taken by the one process that sends the reports of this play to one of its receivers.
  func lock(viewing id: Int64, stream: Int64) throws(KollusError) -> ByteLock? {
    try lock(at: 1 << 60 | (id & 0xffff_ffff_ffff) << 8 | (stream & 0xff))
  }

  private func lock(at offset: Int64) throws(KollusError) -> ByteLock? {
    do throws(SystemError) {
      return try ByteLock(path: lockPath, offset: offset)
    } catch {
      throw KollusError(error).hinting(Self.doctorHint)
    }
  }
}
