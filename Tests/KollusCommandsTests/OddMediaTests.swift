import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Things that are no media files in the place of one: nobody waits for them, and no link is followed.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct OddMediaTests {
  /// What stands in the place of the media file.
  enum Thing: CaseIterable { case fifo, link, danglingLink, folder, emptyFile }

  let bench: LicenceStage

  init() throws {
    bench = try LicenceStage()
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes))
  }

  private var mck: String { bench.mck }
  private var target: String { "\(TemporaryDirectory.path)/target" }

  /// Puts the thing in the place of every media file; a link leads to the file itself, in another folder.
  private func replace(with thing: Thing) throws {
    for (index, path) in try bench.commands.sealedFiles().enumerated() {
      let target = target + "\(index)"
      try FileManager.default.moveItem(atPath: path, toPath: target)
      switch thing {
      case .fifo: #expect(mkfifo(path, 0o600) == 0)
      case .link: #expect(symlink(target, path) == 0)
      case .danglingLink: #expect(symlink(target + ".gone", path) == 0)
      case .folder: #expect(mkdir(path, 0o700) == 0)
      case .emptyFile: #expect(FileManager.default.createFile(atPath: path, contents: nil))
      }
    }
  }

  /// Each command is a process of its own, so that one that hangs is ended and told.
  private func run(_ words: String...) async throws -> ChildProcess.Outcome {
    try await bench.tool.run(words, within: .seconds(10))
  }

  private func stock() async throws {
    bench.answer(1, .granted(plays: 5))
    try await run("download", mck, "plain").expect(0)
  }

  private func targets() -> [Data?] {
    (0..<2).map { FileManager.default.contents(atPath: target + "\($0)") }
  }

  @Test(arguments: Thing.allCases)
  func `each command ends with an error, and remove removes the thing`(_ thing: Thing) async throws {
    try await stock()
    try replace(with: thing)
    let before = targets()
    bench.answer(3, .granted(plays: 9))
    try await run("list").expect(0)
    try await run("list", "--expired", "--json").expect(0)
    try await run("show", mck).expect(0)
    for words in ["play-check", "play-check --deep", "verify", "renew"] {
      for key in words == "renew" ? [mck] : [mck, "plain"] {
        let outcome = try await bench.tool.run(
          words.split(separator: " ").map(String.init) + [key], within: .seconds(10))
        // A file in which nothing is left is damage, and a licence outlives that.
        if words == "renew", thing == .emptyFile { outcome.expect(0) } else { outcome.expect(65, 74, 77) }
        #expect(!(outcome.standardError + outcome.standardOutput).isEmpty)
      }
    }
    try await run("export", "plain", "-o", "/dev/null").expect(65, 74)
    try await run("renew", "--all").expect(0, 65, 74, 77)
    #expect(targets() == before, "a link was followed")
    let sealed = try bench.commands.sealedFiles()
    #expect(sealed.count == 2, "it is still there")
    // A folder may hold anything: it is left to its owner.
    try await run("remove", mck, "plain").expect(thing == .folder ? 74 : 0)
    guard thing != .folder else { return }
    #expect(try bench.commands.sealedFiles().isEmpty)
    #expect(targets() == before, "a link was followed")
    let list = try await run("list", "--json")
    #expect(list.standardOutput == "[]\n")
  }

  @Test(arguments: [Thing.fifo, .link, .danglingLink, .emptyFile])
  func `a download puts a file in its place`(_ thing: Thing) async throws {
    try await stock()
    try replace(with: thing)
    let before = targets()
    try await run("download", mck, "plain").expect(0)
    #expect(targets() == before, "a link was followed")
    for path in try bench.commands.sealedFiles() {
      let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      #expect(type == .typeRegular)
    }
    #expect(bench.kinds == [1, 2, 1, 2], "nothing was left of it, so this is a new download")
    try await run("play-check", "--deep", mck, "plain").expect(0)
  }
}
