import Glibc
import SystemKit

/// The folder itself and its key.
extension Doctor {
  private var keyPath: String { "\(path)/\(Home.identityName)" }
  private var copyName: String { Home.identityCopyName }

  /// The home, when it can be used, maybe after a fix.
  func openHome() async -> Home? {
    let found = (try? Files.information(path)).flatMap { $0 }
    guard let found else {
      notice(.home, "there is no home at \(path) yet", hint: "the first 'kollus download' makes one")
      return nil
    }
    guard found.isDirectory else {
      await problem(Finding(.home, .problem, "\(path) is no folder", hint: "choose another with --home"))
      return nil
    }
    if found.owner != geteuid(), geteuid() != 0 {
      await checkRights(path, 0o700, .home)
    } else if found.mode & 0o777 != 0o700 {
      let isOpen = found.mode & 0o077 != 0
      await problem(
        Finding(
          .home, .problem,
          isOpen ? "others can look into the home \(path)" : "its owner may not use the home \(path)"),
        fix: "make it the owner's alone (0700)"
      ) {
        try Files.setMode(path, 0o700)
      }
    }
    await checkFiles()
    await clearLeftovers()
    guard await checkKey() else { return nil }
    do throws(KollusError) {
      let home = try Home(opening: path, machineID: machineID)
      fine(.home, "\(path)")
      await checkLocks(home)
      await checkEvents(home)
      return home
    } catch {
      await problem(Finding(.home, error))
      return nil
    }
  }

  /// Files that a kill left half written.
  private func clearLeftovers() async {
    // Another doctor may be at it.
    let lock = try? ByteLock(path: "\(path)/locks", offset: 0)
    defer { withExtendedLifetime(lock) {} }
    let names = ((try? Files.names(in: path)) ?? []).filter {
      $0.hasSuffix(".tmp") || ($0.hasPrefix("library.fresh.db") && lock != nil)
    }
    guard !names.isEmpty else { return }
    await problem(
      Finding(.home, .problem, "\(names.count) files were left half written"), fix: "set them aside"
    ) { try setAside(names, in: path) }
  }

  /// Whether there is a key that can be used, maybe after a fix.
  private func checkKey() async -> Bool {
    let copy = Home.copy(in: path)
    let error: KollusError
    do throws(KollusError) {
      if let identity = try DeviceIdentity.read(keyPath) {
        await checkCopy(copy, of: identity)
        return true
      }
      guard Home.isUsed(path) else {
        notice(.key, "there is no device key yet", hint: "the first command that needs one makes it")
        return true
      }
      error = KollusError(
        .configuration, "the device key \(keyPath) is missing", hint: DeviceIdentity.lostHint)
    } catch let failure {
      error = failure
    }
    if let mode = (try? Files.information(keyPath)).flatMap({ $0 })?.mode, mode & 0o077 != 0 {
      return await problem(Finding(.key, error), fix: "make it the owner's alone (0600)") {
        try Files.setMode(keyPath, 0o600)
        guard try DeviceIdentity.read(keyPath) != nil else { throw error }
      }
    }
    guard let copy else {
      await problem(Finding(.key, error))
      return false
    }
    return await problem(Finding(.key, error), fix: "take its second copy, which is whole") {
      if SealedFile.exists(keyPath) { try setAside([Home.identityName], in: path) }
      try Files.write(copy.encoded, to: keyPath)
    }
  }

  private func checkCopy(_ copy: DeviceIdentity?, of identity: DeviceIdentity) async {
    if copy?.encoded == identity.encoded { return fine(.key, "the device key and its copy are whole") }
    // Homes of earlier versions have none; it is made when the home is opened.
    guard SealedFile.exists("\(path)/\(copyName)") else { return fine(.key, "the device key is whole") }
    // Of two keys that are whole the library knows which is the right one.
    guard copy == nil else { return }
    await remakeCopy(of: identity, because: "the second copy of the device key is gone or damaged")
  }

  /// The library fits this key, so a second copy that is another one's is of no use.
  func settleCopy(of identity: DeviceIdentity) async {
    guard let copy = Home.copy(in: path), copy.encoded != identity.encoded else { return }
    await remakeCopy(of: identity, because: "the second copy of the device key is another one")
  }

  private func remakeCopy(of identity: DeviceIdentity, because what: String) async {
    await problem(Finding(.key, .problem, what), fix: "make it anew from the first") {
      if SealedFile.exists("\(path)/\(copyName)") { try setAside([copyName], in: path) }
      Home.keepCopy(of: identity, in: path)
      guard Home.copy(in: path) != nil else {
        throw KollusError(.inputOutput, "\(path)/\(copyName) cannot be written")
      }
    }
  }

  /// Whether what happens can be kept, and what was kept be read.
  private func checkEvents(_ home: Home) async {
    do throws(KollusError) {
      var count = 0
      try EventLog(home, now: now).check { _ in count += 1 }
      fine(.events, count == 1 ? "1 event is kept" : "\(count) events are kept")
    } catch {
      await problem(Finding(.events, error))
    }
  }

  private func checkLocks(_ home: Home) async {
    do throws(KollusError) {
      let isRenewing = try home.renewalLock() == nil
      fine(.locks, isRenewing ? "another process renews licences" : "locks hold")
    } catch {
      await problem(Finding(.locks, error))
    }
  }
}
