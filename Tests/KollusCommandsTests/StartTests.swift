import Foundation
import KollusTestSupport
import SystemKit
import Testing

/// What commands that need neither network nor player may not pay for.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct StartTests {
  @Test func `the libraries for network and serving are loaded by those who use them`() async throws {
    var tool = try Tool()
    let home = try #require(EarlierHome.all.first)
    try await home.unpack(to: tool.home)
    try EarlierHome.move(tool.home, to: ProcessContext.machineID())
    // In their place stand files that are no libraries, which ends whoever opens them.
    let folder = "\(TemporaryDirectory.path)/libraries"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["libcurl.so.4", "libmicrohttpd.so.12"] {
      try Data("none".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    tool.environment["LD_LIBRARY_PATH"] = folder
    for words in [
      ["--version"], ["help"], ["list"], ["list", "--json"], ["show", "unit-1"], ["play-check", "unit-1"],
      ["verify", "unit-1"], ["export", "unit-1", "-o", "\(folder)/unit-1"], ["lms", "list"],
    ] { try await tool.run(words).expect(0) }
    let download = try await tool.run("download", "unit-9", "--origin", "http://127.0.0.1:1")
    download.expect(127)
    #expect(download.standardError.hasPrefix("error while loading shared libraries: "))
    #expect(download.standardError.contains("libcurl.so.4"))
  }
}
