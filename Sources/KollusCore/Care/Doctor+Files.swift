import Glibc
import SystemKit

/// What stands in the places of the home's files, and whether their owner may use them.
extension Doctor {
  private static let ownFiles: [(name: String, check: Finding.Check)] =
    [
      (Home.identityName, .key), (Home.identityCopyName, .key), ("clock", .clock), ("locks", .locks),
      ("ballast", .space),
    ]
    + ["library.db", "library.db-wal", "library.db-shm"].map { ($0, .library) }
    + EventLogFile.names.map { ($0, .events) }

  /// The number of the user who asks; 0 may use everything.
  private var userID: UInt32 { geteuid() }

  /// Looks at all of them, before anything is opened.
  func checkFiles() async {
    for (name, check) in Self.ownFiles { await checkFile(name, in: path, check) }
    let media = "\(path)/media"
    await checkRights(media, 0o700, .media)
    // A folder that is not there is told later.
    guard let folder = try? File(media, O_RDONLY | O_DIRECTORY) else { return }
    let odd = ((try? Files.names(in: media)) ?? []).filter { name in
      guard [".sealed", ".kollus", ".snapshot", ".thumbnail"].contains(where: { name.hasSuffix($0) }),
        let found = (try? Files.information(name, in: folder)).flatMap({ $0 })
      else { return false }
      return !found.isRegular || found.mode & 0o600 != 0o600 || (found.owner != userID && userID != 0)
    }
    for name in odd.sorted() { await checkFile(name, in: media, .media) }
  }

  private func checkFile(_ name: String, in folder: String, _ check: Finding.Check) async {
    let path = "\(folder)/\(name)"
    guard let found = look(path), !found.isRegular else { return await checkRights(path, 0o600, check) }
    var finding = Finding(check, .problem, "\(path) is no file")
    finding.kind = .inputOutput
    await problem(finding, fix: "set it aside") { try setAside([name], in: folder) }
  }

  /// Whether it is the user's own, with these rights.
  func checkRights(_ path: String, _ mode: UInt32, _ check: Finding.Check) async {
    guard let found = look(path) else { return }
    var finding: Finding
    if found.owner != userID, userID != 0 {
      finding = Finding(
        check, .problem, "\(path) belongs to another user (\(found.owner))",
        hint: "the administrator can give it back: chown -R \(userID) '\(self.path)'")
      finding.kind = .inputOutput
      await problem(finding)
    } else if found.mode & mode != mode {
      finding = Finding(check, .problem, "its owner may not read and write \(path)")
      finding.kind = .inputOutput
      await problem(finding, fix: "make it the owner's alone (0\(String(mode, radix: 8)))") {
        try Files.setMode(path, mode)
      }
    }
  }

  /// What is there; what cannot be told is told by whoever opens it.
  private func look(_ path: String) -> File.Information? { (try? Files.information(path)).flatMap { $0 } }
}
