import Glibc
import SQLiteKit
import SystemKit

/// What was found of a library that was lost, in the sealed files themselves.
package struct Recovery: Sendable, Equatable {
  /// Contents that are listed again.
  package internal(set) var contents = 0
  /// Of these, those that are not to be played before a renewal.
  package internal(set) var licensed = 0
  /// Of these, those that were not downloaded to their end.
  package internal(set) var partial = 0
  /// Names of sealed files that cannot be opened, in no order.
  package internal(set) var unreadable: [String] = []

  package var isEmpty: Bool { contents == 0 && unreadable.isEmpty }
}

/// The library and the key of its home belong together, and a library that was lost is found again from the files.
extension Connection {
  /// Makes sure that this library was made under the home's key; a new one, or one from before there was a check, first
  /// takes in what sealed files know of themselves.
  ///
  /// Returns what was found. The mark is set with it in one commit: after a kill it is all done again.
  borrowing func settle(in home: Home) throws -> Recovery? {
    if let known = try keyCheck() {
      if known == home.identity.keyCheck { return nil }
      // The key that opens the files is the right one, whatever became of its mark.
      guard home.opensMedia else { throw Library.foreignKey(home) }
      try mark(home)
      return nil
    }
    let found = Protected<Result<Recovery?, KollusError>>(.success(nil))
    try transaction { db throws(SQLiteError) in
      guard try db.keyCheck() == nil else { return }
      do throws(KollusError) {
        let recovery = try db.adoptFiles(in: home)
        found.withLock { $0 = .success(recovery) }
      } catch {
        found.withLock { $0 = .failure(error) }
        return
      }
      try db.mark(home)
    }
    return try found.withLock { $0 }.get()
  }

  /// Notes under which key this library is.
  borrowing func mark(_ home: Home) throws(SQLiteError) {
    try execute(
      "INSERT OR REPLACE INTO device (id, key_check) VALUES (1, ?)", .blob(home.identity.keyCheck))
  }

  private borrowing func keyCheck() throws(SQLiteError) -> [UInt8]? {
    try withStatement("SELECT key_check FROM device") { row throws(SQLiteError) in
      try row.step() ? row.blob(at: 0) : nil
    }
  }

  /// Lists the contents of all sealed files that no row names.
  ///
  /// Their licences and counters are gone with their rows: those under a DRM callback are refused until a renewal.
  borrowing func adoptFiles(in home: Home) throws(KollusError) -> Recovery {
    var recovery = Recovery()
    do throws(SQLiteError) {
      let known = try fileNames()
      // An absent folder holds nothing.
      let names = Set((try? Files.names(in: home.mediaPath)) ?? [])
      let strangers = names.filter { $0.hasSuffix(".sealed") && !known.contains($0) }
      var found: [FoundFile] = []
      for name in strangers {
        if let file = FoundFile(name, among: names, in: home) {
          found.append(file)
        } else {
          recovery.unreadable.append(name)
        }
      }
      // As they were downloaded, as far as their files tell.
      for file in found.sorted(by: { $0.modified < $1.modified })
      where try content(file.content.mediaContentKey) == nil {
        try adopt(file, home)
        recovery.contents += 1
        if file.content.needsLicence { recovery.licensed += 1 }
        if !file.isWhole { recovery.partial += 1 }
      }
    } catch {
      throw KollusError(error, path: home.libraryPath)
    }
    return recovery
  }

  private borrowing func fileNames() throws(SQLiteError) -> Set<String> {
    try withStatement("SELECT file_name FROM content") { row throws(SQLiteError) in
      var names: Set<String> = []
      while try row.step() { names.insert(row.text(at: 0) ?? "") }
      return names
    }
  }

  private borrowing func adopt(_ file: FoundFile, _ home: Home) throws(SQLiteError) {
    let content = file.content
    try upsert(content)
    let id = try identifier(of: content.mediaContentKey)
    // Not believed before all of it was read: a stamp of 0 fits no file.
    try execute(
      """
      UPDATE content SET state = ?2, download_size = ?3, downloaded_time = ?4, drm_callback = ?5, needs_licence = ?6,
      snapshot = ?7, thumbnail = ?8, file_stamp = 0 WHERE id = ?1
      """, .integer(id), .text(file.isWhole ? "ready" : "registered"), .integer(file.held),
      .integer(file.isWhole ? file.modified / 1_000_000_000 : 0), .text(content.drmCallback),
      .integer(content.needsLicence ? 1 : 0), .text(content.snapshot), .text(content.thumbnail))
    // Without the digests of its segments, the manifest of a partial file would be taken for another's.
    guard file.isWhole, let source = file.source, let sealed = try? source.sealed(under: home.identity.key)
    else { return }
    try execute(
      "INSERT OR REPLACE INTO source (content_id, sealed) VALUES (?, ?)", .integer(id), .blob(sealed))
    if let url = source.playURL {
      try execute(
        "INSERT OR REPLACE INTO play_url (digest, content_id) VALUES (?, ?)", .blob(home.playURLDigest(url)),
        .integer(id))
    }
  }
}

/// A sealed file and what it says of itself.
private struct FoundFile {
  let content: Content
  let source: Source?
  /// Bytes of the segments that are there; not yet read.
  let held: Int64
  let isWhole: Bool
  /// Nanoseconds since 1970.
  let modified: Int64

  /// `nil` when it cannot be opened.
  ///
  /// A file under a wrong name is given its own, where that is free.
  init?(_ name: String, among names: Set<String>, in home: Home) {
    let path = "\(home.mediaPath)/\(name)"
    guard let file = try? SealedFile.open(path, deviceKey: home.identity.key),
      var content = file.about.content,
      let information = try? file.information(), let held = try? file.heldSize()
    else { return nil }
    let own = Home.mediaName(of: content.mediaContentKey)
    if own != name {
      guard !names.contains(own), (try? Files.rename(path, to: "\(home.mediaPath)/\(own)")) != nil else {
        return nil
      }
    }
    // Whatever the header says: a file that ever held the number of a licence is not free.
    if let number = home.fileGeneration(of: content.mediaContentKey), number > 0 {
      content.needsLicence = true
    }
    content.snapshot = names.contains("\(own).snapshot") ? "\(own).snapshot" : ""
    content.thumbnail = names.contains("\(own).thumbnail") ? "\(own).thumbnail" : ""
    content.fileSize = file.layout.size
    (self.content, source, self.held, modified) = (content, file.about.source, held, information.modified)
    isWhole = held == file.layout.size
  }
}

extension SealedFile {
  /// Bytes of the segments that were ever written, told from their last pages alone.
  func heldSize() throws(SystemError) -> Int64 {
    var size: Int64 = 0
    for index in 0..<layout.segmentCount {
      let offset = layout.slotOffset(index) + Int64(layout.slotLength(index) - SealedLayout.page)
      if try file.read(64, at: offset).contains(where: { $0 != 0 }) {
        size += Int64(layout.plainLength(index))
      }
    }
    return size
  }
}

extension Library {
  static func foreignKey(_ home: Home) -> KollusError {
    KollusError(
      .configuration, "the device key in \(home.path) is not the one that its library was made with",
      hint: Home.copy(in: home.path)?.keyCheck == home.identity.keyCheck || Home.copy(in: home.path) == nil
        ? "put back the right device.key; contents cannot be opened without it"
        : "run 'kollus doctor --fix': its second copy may be the right one")
  }
}
