import Foundation
import Glibc
import JSONKit
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

/// `verify --repair`: what is damaged is fetched again, and nothing else changes.
@Suite(.temporaryDirectory, .timeLimit(.minutes(3))) struct RepairTests {
  static let segment = 1 << 16

  let bench: LicenceStage
  let bytes: [UInt8]

  init() throws {
    bench = try LicenceStage()
    bytes = randomBytes(8 * Self.segment - 1_000)
  }

  private var mck: String { LicenceStage.mck }

  private func content(_ digests: OriginContent.Digests = .segments, licensed: Bool = true) -> OriginContent {
    let content = OriginContent(mck, bytes: bytes, digests: digests).with { $0.segmentSize = Self.segment }
      .with { if digests != .segments { $0.mediaMembers["segmentSize"] = .some("\(Self.segment)") } }
    return licensed ? content.licensed(by: bench.callback) : content
  }

  private func stock(_ digests: OriginContent.Digests = .segments, licensed: Bool = true) async throws {
    try bench.site.publish(content(digests, licensed: licensed))
    await bench.download(.granted(plays: 7))
  }

  /// The layout of the stored file, which a damage must not keep from being told.
  private func layout() throws -> SealedLayout {
    let path = try bench.mediaFile()
    let boxLength = Int(
      try File(path, O_RDONLY).read(4, at: 20).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    return SealedLayout(descriptionLength: boxLength, segmentSize: Self.segment, size: Int64(bytes.count))
  }

  /// Turns a bit, as a failing disk does: the time stamp stays.
  private func flip(_ offset: Int64) throws {
    try bench.changeMedia { file in
      try file.seek(toOffset: UInt64(offset))
      let byte = try #require(try file.read(upToCount: 1)?.first)
      try file.seek(toOffset: UInt64(offset))
      try file.write(contentsOf: Data([byte ^ 1]))
    }
  }

  private func goOffline() {
    bench.site.answerMedia(of: mck) { _ in Answer(503) }
    bench.site.answerManifest(of: mck) { _ in Answer(503) }
  }

  private func expectSound() async throws {
    try await bench.check("--deep").expect(0, [])
    #expect(try await bench.shown().integer("drmExpireCount") == 7)
    #expect(bench.kinds == [1, 2])
  }

  enum Place: CaseIterable {
    case bytes, lastBytes, nonce, tag, record, header, identifier, description, slot, copy
  }

  private func offset(_ place: Place, _ layout: SealedLayout) -> Int64 {
    let trailer = layout.slotOffset(3) + Int64(layout.slotLength(3) - 4_096)
    return switch place {
    case .bytes: layout.slotOffset(3) + 1_000
    case .lastBytes: layout.slotOffset(7) + 5
    case .nonce: trailer
    case .tag: trailer + 12
    case .record: trailer + 40
    case .header: 60
    case .identifier: 40
    case .description: Int64(SealedLayout.descriptionOffset) + 20
    case .slot: 4_096 + 9
    case .copy: layout.copyOffset + 20
    }
  }

  /// Segments that a flipped bit costs.
  private func cost(_ place: Place) -> Int { [.bytes, .lastBytes, .nonce, .tag].contains(place) ? 1 : 0 }

  @Test(arguments: Place.allCases, OriginContent.Digests.allCases)
  func `a flipped bit costs its segment and nothing else`(_ place: Place, _ digests: OriginContent.Digests)
    async throws
  {
    try await stock(digests)
    let layout = try self.layout()
    let before = try await bench.shown()
    try flip(offset(place, layout))
    let damaged = try Data(contentsOf: URL(filePath: bench.mediaFile()))
    let sent = bench.site.mediaBytes(of: mck)
    // Without a network: told, and nothing is lost.
    goOffline()
    let refused = await bench.run("verify", "--repair", mck).expect(cost(place) == 0 ? 0 : 65)
    let isTold = refused.errors.contains("damaged, cannot repair now")
    #expect(isTold == (cost(place) > 0), "\(refused.errors)")
    if cost(place) > 0 {
      #expect(try Data(contentsOf: URL(filePath: bench.mediaFile())) == damaged)
      #expect(try await bench.check().status == 65)
    }
    let during = bench.site.mediaBytes(of: mck)
    try bench.site.publish(content(digests))
    let run = await bench.run("verify", "--repair", mck, "--json").expect(0)
    let item = try #require(Array(try run.json.elements).first)
    expectShape(item, Contract.verified)
    #expect(try item.array("repaired")?.count == cost(place))
    let fetched = bench.site.mediaBytes(of: mck) - during
    let segments = place == .tag && digests != .segments ? 3 : cost(place)
    #expect(fetched <= segments * Self.segment, "\(fetched) bytes for \(place)")
    #expect(during == sent)
    try await expectSound()
    let after = try await bench.shown()
    #expect(after.rawText == before.rawText)
    #expect(try Int64(Data(contentsOf: URL(filePath: bench.mediaFile())).count) == layout.fileLength)
  }

  @Test func `a copy of the beginning that is damaged is written anew by a check`() async throws {
    try await stock()
    let layout = try self.layout()
    let stamp = try Files.information(bench.mediaFile())?.modified
    for offset in [layout.copyOffset + 20, layout.copyOffset + 5_000] { try flip(offset) }
    await bench.run("verify", mck).expect(0)
    for offset in [60, Int64(SealedLayout.descriptionOffset) + 20] { try flip(offset) }
    await bench.run("verify", mck).expect(0)
    #expect(try Files.information(bench.mediaFile())?.modified == stamp)
    try await expectSound()
  }

  @Test func `a list of digests that is wrong costs no sound media, and no repair`() async throws {
    try await stock()
    try flip(offset(.bytes, layout()))
    let wrong = (0..<8).map { _ in SHA256Text.wrong.jsonQuoted }.joined(separator: ",")
    try bench.site.publishManifest(content().with { $0.mediaMembers["segments"] = .some("[\(wrong)]") })
    let sent = bench.site.mediaBytes(of: mck)
    await bench.run("verify", "--repair").expect(0)
    #expect(bench.site.mediaBytes(of: mck) - sent <= Self.segment)
    try await expectSound()
  }

  @Test(arguments: [OriginContent.Digests.segments, .none], [Place.bytes, .tag])
  func `another object at the origin changes nothing of what is sound`(
    _ digests: OriginContent.Digests, _ place: Place
  ) async throws {
    try await stock(digests)
    try flip(offset(place, layout()))
    let damaged = try Data(contentsOf: URL(filePath: bench.mediaFile()))
    let other = OriginContent(mck, bytes: randomBytes(bytes.count, seed: 9), digests: digests).with {
      $0.segmentSize = Self.segment
      $0.etag = "\"v2\""
    }.licensed(by: bench.callback)
    try bench.site.publish(other)
    for words in [["verify", "--repair", mck], ["download", mck]] {
      let run = await bench.commands.run(words).expect(65)
      #expect(run.errors.contains("cannot repair"), "\(run.errors)")
      #expect(try Data(contentsOf: URL(filePath: bench.mediaFile())) == damaged)
    }
    try bench.site.publish(content(digests))
    await bench.run("download", mck).expect(0)
    try await expectSound()
  }

  @Test(arguments: OriginContent.Digests.allCases, [true, false])
  func `a segment of which nothing is known is taken only when it is proved`(
    _ digests: OriginContent.Digests, _ hasTag: Bool
  ) async throws {
    func published(_ bytes: [UInt8], _ tag: String) -> OriginContent {
      OriginContent(mck, bytes: bytes, digests: digests).with {
        $0.segmentSize = Self.segment
        if digests != .segments { $0.mediaMembers["segmentSize"] = .some("\(Self.segment)") }
        $0.etag = hasTag ? tag : nil
      }
    }
    try bench.site.publish(published(bytes, "\"v1\""))
    await bench.run("download", mck).expect(0)
    let layout = try self.layout()
    try bench.changeMedia { file in
      try file.seek(toOffset: UInt64(layout.slotOffset(3) + Int64(layout.slotLength(3) - 4_096)))
      try file.write(contentsOf: Data(randomBytes(4_096)))
    }
    let damaged = try Data(contentsOf: URL(filePath: bench.mediaFile()))
    // The same but for that segment: what a file changed in place looks like.
    var changed = bytes
    changed[3 * Self.segment + 7] ^= 1
    try bench.site.publish(published(changed, "\"v2\""))
    await bench.run("verify", "--repair", mck).expect(65)
    #expect(try Data(contentsOf: URL(filePath: bench.mediaFile())) == damaged)
    try bench.site.publish(published(bytes, "\"v1\""))
    let isProvable = digests != .none || hasTag
    await bench.run("verify", "--repair", mck).expect(isProvable ? 0 : 65)
    if isProvable {
      let path = "\(bench.tool.home)-exported"
      await bench.run("export", mck, "-o", path).expect(0)
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
    } else {
      #expect(try Data(contentsOf: URL(filePath: bench.mediaFile())) == damaged)
    }
  }

  @Test func `a budget goes on where it stopped, the oldest check first`() async throws {
    for key in ["a", "b", "c"] {
      try bench.site.publish(OriginContent(key, bytes: bytes))
      await bench.run("download", key).expect(0)
    }
    await bench.later(-300).run("verify", "c").expect(0)
    await bench.later(-200).run("verify", "a").expect(0)
    // None at all fits: nothing is begun.
    #expect(await bench.run("verify", "--budget", "0").expect(0).output.contains("0 of 3 checked"))
    let keys = try await bench.run("verify", "--json").expect(0).json.elements.map {
      try $0.string("mediaContentKey")
    }
    #expect(keys == ["b", "c", "a"])
  }

  @Test(arguments: 0..<KillTests.kills)
  func `kill -9 in a repair leaves the rest sound, and the next one ends it`(_ trial: Int) async throws {
    try bench.site.publish(content())
    bench.answer(1, .granted(plays: 7))
    (try await bench.tool.run("download", mck)).expect(0)
    for index in [1, 4, 6] { try flip(layout().slotOffset(index) + 77) }
    bench.site.answerMedia(of: mck) { [bytes] request in
      ScriptedServer.object(bytes)(request).throttled(to: 2 << 20)
    }
    let process = try bench.tool.start("verify", "--repair", mck)
    try await Task.sleep(for: .milliseconds(Int.random(in: 0...250)))
    process.kill(SIGKILL)
    _ = await process.wait()
    (try await bench.tool.run("verify", "--repair", mck)).expect(0)
    (try await bench.tool.run("play-check", mck, "--deep")).expect(0)
    let show = try await bench.tool.run("show", mck, "--json")
    #expect(try JSON(parsing: show.standardOutput).integer("drmExpireCount") == 7)
  }
}

private enum SHA256Text {
  /// The base64 of 32 bytes that no segment has.
  static let wrong = Data(repeating: 9, count: 32).base64EncodedString()
}
