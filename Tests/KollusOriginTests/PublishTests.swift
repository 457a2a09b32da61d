import ArgumentKit
import Foundation
import JSONKit
import KollusTestSupport
import SealKit
import Testing

@testable import KollusOrigin

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct PublishTests {
  static let bytes = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) }

  @Test func `a bare manifest says what is known and nothing else`() async throws {
    let stage = OriginStage()
    #expect(try await stage.publish("AbCd1234", Self.bytes, title: "Unit \"1\"") == 0)
    let digest = SHA256.hash(Self.bytes)
    let name = "\(digest.hex.prefix(32)).mp4"
    #expect(
      try stage.manifest("AbCd1234").rawText == """
        {"version":1,"mediaContentKey":"AbCd1234","title":"Unit \\"1\\"","contentType":"download",\
        "downloadable":true,"intro":false,"media":{"type":"video/mp4","size":150000,\
        "urls":["../media/\(name)"],\
        "sha256":"\(digest.hex)","segmentSize":1048576,"segments":["\(digest.base64)"]},\
        "policy":{"seek":true,"seekableEnd":-1,"disablePlayrate":false}}
        """)
    #expect(stage.output == ["published AbCd1234: media/\(name), 150000 bytes"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(stage.root)/media/\(name)")) == Data(Self.bytes))
  }

  @Test func `everything that can be told is in the manifest`() async throws {
    let stage = OriginStage()
    let picture = TemporaryDirectory.path + "/a.JPG"
    try Data("picture".utf8).write(to: URL(fileURLWithPath: picture))
    let status = try await stage.publish(
      "k", Self.bytes, "--company", "C", "--course", "수학", "--teacher", "T", "--synopsis", "S\n2",
      "--description-url", "https://example.com/d", "--content-type", "sample", "--duration", "600.5",
      "--size",
      "1280x720", "--encoding-profile", "hd", "--content-provider-key", "cp", "--snapshot", picture,
      "--thumbnail",
      picture, "--media-type", "video/x-test", "--segment-size", "64K", "--intro", "--no-download",
      "--channel-key",
      "ch", "--custom-key", "ck", "--drm-callback", "https://example.com/drm", "--lms-callback",
      "60:https://example.com/lms?json_data={JSON_DATA}", "--block-count", "100", "--no-seek",
      "--seekable-end",
      "30", "--disable-playrate", "--play-section", "5:35")
    #expect(status == 0)
    let manifest = try stage.manifest("k")
    let texts = [
      "company": "C", "course": "수학", "teacher": "T", "synopsis": "S\n2",
      "descriptionURL": "https://example.com/d",
      "encodingProfile": "hd", "contentProviderKey": "cp", "contentType": "sample",
    ]
    for (name, text) in texts { #expect(try manifest.string(name) == text) }
    #expect(try manifest.number("duration") == 600.5)
    #expect(try manifest.member("naturalSize")?.rawText == "[1280,720]")
    #expect(try manifest.bool("downloadable") == false)
    #expect(try manifest.bool("intro") == true)
    let media = try #require(try manifest.object("media"))
    #expect(try media.string("type") == "video/x-test")
    let segments = [0..<65_536, 65_536..<131_072, 131_072..<150_000].map {
      SHA256.hash(Array(Self.bytes[$0])).base64
    }
    #expect(try media.integer("segmentSize") == 65_536)
    #expect(try media.array("segments")?.elements.map(\.string) == segments)
    let digest = SHA256.hash(Array("picture".utf8)).hex
    let expected = #"{"url":"../media/\#(digest.prefix(32)).jpg","size":7,"sha256":"\#(digest)"}"#
    #expect(try manifest.member("snapshot")?.rawText == expected)
    #expect(try manifest.member("thumbnail")?.rawText == expected)
    #expect(
      try manifest.member("policy")?.rawText
        == #"{"seek":false,"seekableEnd":30,"disablePlayrate":true,"playSection":[5,35]}"#)
    #expect(
      try manifest.member("channel")?.rawText == """
        {"channelKey":"ch","customKey":"ck","drmCallback":"https://example.com/drm",\
        "lmsCallback":"60:https://example.com/lms?json_data={JSON_DATA}","blockCount":100}
        """)
  }

  @Test(arguments: [
    "../drm", "/drm", "./drm?a=b", "http://127.0.0.1:1/drm", "https://example.com/drm",
    "HTTPS://example.com/drm",
    "Http://Example.COM", "https://example.com/@a:b", "https://example.com?user@x", "https://example.com#a@b",
  ])
  func `a DRM callback may be relative to the manifest`(_ callback: String) async throws {
    let stage = OriginStage()
    #expect(try await stage.publish("k", [1], "--drm-callback", callback) == 0)
    #expect(try stage.manifest("k").object("channel")?.string("drmCallback") == callback)
  }

  @Test(arguments: [
    "60:../lms?json_data={JSON_DATA}", "1:./lms/{CLIENT_USER_ID}?b={BLOCK_PLAY_1}", "30:/lms",
    "60:http://127.0.0.1:1/lms?json_data={JSON_DATA}&s={PLAY_STATUS}",
  ])
  func `an LMS callback may be relative too, its braces as they are`(_ callback: String) async throws {
    let stage = OriginStage()
    #expect(try await stage.publish("k", [1], "--lms-callback", callback) == 0)
    let manifest = try stage.manifest("k")
    #expect(try manifest.object("channel")?.member("lmsCallback")?.rawText == "\"\(callback)\"")
  }

  @Test(arguments: [("none", false), ("file", true)])
  func `digests can be left out`(_ kind: String, _ hasFile: Bool) async throws {
    let stage = OriginStage()
    #expect(try await stage.publish("k", Self.bytes, "--digests", kind) == 0)
    let media = try #require(try stage.manifest("k").object("media"))
    #expect(try media.string("sha256") == (hasFile ? SHA256.hash(Self.bytes).hex : nil))
    #expect(try media.member("segments") == nil && media.member("segmentSize") == nil)
  }

  @Test func `an empty file has no segments`() async throws {
    let stage = OriginStage()
    #expect(try await stage.publish("k", []) == 0)
    let media = try #require(try stage.manifest("k").object("media"))
    #expect(try media.integer("size") == 0)
    #expect(try media.array("segments")?.count == 0)
  }

  @Test func `other bytes get another name and the same bytes keep their file`() async throws {
    let stage = OriginStage()
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: stage.root + "/media").sorted()
    }
    func inode(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: "\(stage.root)/media/\(name)")[.systemFileNumber]
        as? Int
    }
    try await stage.publish("k", [1])
    let first = try #require(try names().first)
    let number = try inode(first)
    try await stage.publish("k", [2], title: "New")
    #expect(try stage.manifest("k").string("title") == "New")
    #expect(try names().count == 2)
    try await stage.publish("other", [1])
    #expect(try names().count == 2)
    #expect(try inode(first) == number)
    // A damaged copy is put right.
    try Data([9]).write(to: URL(fileURLWithPath: "\(stage.root)/media/\(first)"))
    try await stage.publish("k", [1])
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(stage.root)/media/\(first)")) == Data([1]))
    #expect(try FileManager.default.contentsOfDirectory(atPath: stage.root + "/.incoming").isEmpty)
  }

  @Test(arguments: [
    ("a/b", "a slash parts folders"), ("", "it is empty"), (".", "begin with a dot"),
    ("..", "begin with a dot"),
    (".hidden", "begin with a dot"), ("a\u{1b}[2J", "control character"), ("a\nb", "control character"),
    ("a\u{9b}", "control character"), ("a\0b", "control character"), ("\u{fffd}", "not valid UTF-8"),
    (String(repeating: "가", count: 86), "at most 255 bytes, this has 258"),
  ])
  func `a key that no file can have is refused`(_ key: String, _ reason: String) async throws {
    let stage = OriginStage()
    #expect(try await stage.publish(key) == 65)
    #expect(stage.errors.first?.contains(reason) == true, "\(stage.errors)")
    #expect(
      stage.errors.allSatisfy { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } })
    #expect(!FileManager.default.fileExists(atPath: stage.root))
  }

  @Test(arguments: [
    ["--size", "1280"], ["--size", "0x720"], ["--size", "+1x2"], ["--duration", "0"], ["--duration", "nan"],
    ["--duration", "x"], ["--segment-size", "100000"], ["--segment-size", "32K"], ["--segment-size", "16M"],
    ["--segment-size", "9223372036854775807M"], ["--play-section", "30:0"], ["--play-section", "5:5"],
    ["--play-section", "5"], ["--lms-callback", "https://example.com"],
    ["--lms-callback", "0:https://example.com"],
    ["--lms-callback", "60:ftp://x"], ["--lms-callback", "../lms"], ["--lms-callback", "60:lms"],
    ["--lms-callback", "60://example.com/lms"], ["--lms-callback", "60:../a b"],
    ["--drm-callback", "example.com"], ["--drm-callback", "https://"],
    ["--drm-callback", "//example.com/drm"], ["--drm-callback", "../a b"], ["--drm-callback", "drm"],
    ["--drm-callback", "https://user:password@example.com/drm"],
    ["--drm-callback", "HTTP://user@example.com"],
    ["--drm-callback", "https:///drm"], ["--lms-callback", "60:https://user:password@example.com/lms"],
    ["--block-count", "0"], ["--block-count", "99999999999999999999"], ["--seekable-end", "-1"],
    ["--content-type", "film"], ["--digests", "md5"], ["--media-type", "video"],
    ["--media-type", "a/b\r\nX: y"],
    ["--unknown"], ["second-file"],
  ])
  func `a wrong word is a usage error, and nothing is written`(_ words: [String]) async throws {
    let stage = OriginStage()
    let base = ["publish", "/etc/hostname", "--mck", "k", "--title", "T", "--root", stage.root]
    #expect(await stage.run(base + words) == 64)
    #expect(stage.output.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: stage.root))
  }

  @Test func `what is missing is told by its status`() async throws {
    let stage = OriginStage()
    let absent = TemporaryDirectory.path + "/absent.mp4"
    #expect(await stage.run("publish", absent, "--mck", "k", "--title", "T", "--root", stage.root) == 66)
    #expect(
      await stage.run("publish", TemporaryDirectory.path, "--mck", "k", "--title", "T", "--root", stage.root)
        == 66)
    #expect(try await stage.publish("k", [1], "--snapshot", absent) == 66)
    #expect(await stage.run("publish", absent, "--mck", "k") == 64)
    #expect(await stage.run("publish", absent, "--title", "T") == 64)
    #expect(!FileManager.default.fileExists(atPath: stage.root))
    let file = OriginStage(root: TemporaryDirectory.path + "/source.mp4")
    #expect(try await file.publish("k") == 74)
  }

  @Test(arguments: [
    ("a.MP4", "video/mp4"), ("a.b.webm", "video/webm"), ("a.mkv", "video/x-matroska"),
    ("a.mp3", "audio/mpeg"),
    ("a.ts", "video/mp2t"), ("a", "application/octet-stream"), ("a.수", "application/octet-stream"),
  ])
  func `the type is guessed from the name`(_ name: String, _ type: String) async throws {
    let stage = OriginStage()
    let path = TemporaryDirectory.path + "/" + name
    try Data([1]).write(to: URL(fileURLWithPath: path))
    #expect(await stage.run("publish", path, "--mck", "k", "--title", "T", "--root", stage.root) == 0)
    #expect(try stage.manifest("k").object("media")?.string("type") == type)
  }

  @Test func `the declarations are sound`() { #expect(Origin.tree.problems.isEmpty) }

  @Test(arguments: [
    ["help"], ["--help"], ["help", "serve"], ["help", "policy"], ["help", "lms"], ["publish", "--help"],
    ["--version"], [],
  ])
  func `help and version are results`(_ words: [String]) async throws {
    let stage = OriginStage()
    #expect(await stage.run(words) == 0)
    #expect(stage.output.count == 1)
    #expect(stage.errors.isEmpty)
  }
}
