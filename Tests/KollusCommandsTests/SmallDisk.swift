import Foundation
import KollusTestSupport

/// A file system in memory that is soon full; gone with its last reference.
final class SmallDisk: Sendable {
  /// True for root outside a container that forbids it; tried once.
  static let isPossible: Bool = {
    let folder = FileManager.default.temporaryDirectory.path + "/kollus-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }  // Left behind, it is an empty folder.
    return (try? SmallDisk(mebibytes: 1, at: folder)) != nil  // Why it fails does not matter here.
  }()

  let path: String

  init(mebibytes: Int, at path: String = TemporaryDirectory.path + "/disk") throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
      throw SystemError(number: errno)
    }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  /// Leaves no byte free.
  func fill() throws {
    guard let file = fopen("\(path)/filler", "w") else { throw SystemError(number: errno) }
    defer { fclose(file) }
    setvbuf(file, nil, _IONBF, 0)
    let zeros = [UInt8](repeating: 0, count: 4_096)
    while fwrite(zeros, 1, zeros.count, file) == zeros.count {}
  }

  /// Takes back what ``fill()`` took.
  func clear() throws { try FileManager.default.removeItem(atPath: "\(path)/filler") }
}
