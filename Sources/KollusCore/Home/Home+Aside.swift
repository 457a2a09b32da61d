import Glibc
import SystemKit

/// What was replaced is kept: a repair can be taken back by hand.
extension Home {
  /// Makes a new folder for what is set aside now, `aside/TIME` in the home at `path`.
  static func makeAside(in path: String, at time: Int64) throws(SystemError) -> String {
    // Something else under that name makes way, and is kept.
    if try Files.kind(of: "\(path)/aside").map({ $0 != .folder }) ?? SealedFile.exists("\(path)/aside") {
      try Files.rename("\(path)/aside", to: "\(path)/aside.\(time)")
    }
    for number in 0..<1_000 {
      let folder = "\(path)/aside/\(time)\(number == 0 ? "" : "-\(number)")"
      guard try Files.information(folder, followsLinks: false) == nil else { continue }
      try Files.makeFolder(folder)
      return folder
    }
    throw SystemError("create", "\(path)/aside", number: EEXIST)
  }

  /// Makes room for a new copy of the time ledger.
  func setClockAside() throws(SystemError) {
    let folder = try Self.makeAside(in: path, at: Int64(WallClock.now()))
    try Files.rename(clockPath, to: "\(folder)/clock")
  }

  /// Where the log of a library lies that was lost without it, SQLite would throw it away.
  func keepStrayLog() throws(SystemError) {
    let log = "\(libraryPath)-wal"
    guard let found = try Files.information(log), found.size > 0 else { return }
    let folder = try Self.makeAside(in: path, at: Int64(WallClock.now()))
    try Files.rename(log, to: "\(folder)/library.db-wal")
  }
}
