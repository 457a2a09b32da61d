import CurlKit
import JSONKit
import KollusTestSupport
import SealKit
import Testing

@testable import KollusCore

@Suite struct ManifestTests {
  private func read(_ manifest: String) throws -> Manifest {
    let base = try CoreStage.address("https://h/s?jwt=secret")
    return try #require(try Manifest.read(Array("{\"contents\":[\(manifest)]}".utf8), from: base).first)
  }

  @Test func `a whole manifest is read`() throws {
    let digest = SHA256.hash(Array("x".utf8))
    let segments = Array(repeating: "\"\(digest.base64)\"", count: 3).joined(separator: ",")
    let manifest = try read(
      CoreStage.manifest(
        "한/../key", size: 150_000,
        media: ",\"sha256\":\"\(digest.hex)\",\"segmentSize\":65536,\"segments\":[\(segments)]",
        more: """
          "company":"c","course":"d","teacher":"e","synopsis":"f","descriptionURL":"g","contentType":"sample",
          "duration":600.5,"naturalSize":[1280,720],"encodingProfile":"h","contentProviderKey":"i","downloadable":false,
          "intro":true,"unknown":{"a":[1]},"snapshot":{"url":"/s.jpg","size":1,"sha256":"\(digest.hex)"},"thumbnail":{"url":"t"},
          "policy":{"seek":true},"channel":{"channelKey":"k","customKey":"l","drmCallback":"https://d","lmsCallback":"60:x","blockCount":100},
          """))
    let content = manifest.content
    #expect(content.mediaContentKey == "한/../key")
    #expect([content.title, content.company, content.course, content.teacher] == ["제목", "c", "d", "e"])
    #expect([content.synopsis, content.descriptionURL] == ["f", "g"])
    #expect(
      [content.encodingProfile, content.contentProviderKey, content.mediaType] == ["h", "i", "video/mp4"])
    #expect(content.kind == .sample)
    #expect(content.duration == 600.5)
    #expect((content.naturalWidth, content.naturalHeight) == (1_280, 720))
    #expect(content.fileSize == 150_000)
    #expect(content.needsLicence)
    #expect(content.state == .registered)
    #expect(!manifest.isDownloadable)
    #expect(manifest.isIntro)
    #expect(manifest.media.addresses.map(\.text) == ["https://h/media/x.mp4"])
    #expect(manifest.media.digest == digest)
    #expect(manifest.media.segments == [digest, digest, digest])
    #expect(manifest.media.segmentSize == 65_536)
    #expect(manifest.snapshot?.address.text == "https://h/s.jpg")
    #expect(manifest.snapshot?.size == 1)
    #expect(manifest.thumbnail?.digest == nil)
  }

  @Test func `what is absent has its default`() throws {
    let manifest = try read(CoreStage.manifest())
    #expect(manifest.isDownloadable)
    #expect(!manifest.isIntro)
    #expect(!manifest.content.needsLicence)
    #expect(manifest.content.kind == .download)
    #expect(manifest.media.segmentSize == 1 << 20)
    #expect(manifest.media.segments.isEmpty)
    #expect(manifest.media.digest == nil)
    #expect(manifest.snapshot == nil)
  }

  @Test(arguments: [
    ("\"version\":1", "\"version\":2", "version"), ("\"version\":1", "\"version\":1.0", "version"),
    ("\"version\":1,", "", "version"),
    ("\"mediaContentKey\":\"mck\"", "\"mediaContentKey\":\"\"", "mediaContentKey"),
    ("\"mediaContentKey\":\"mck\"", "\"mediaContentKey\":7", "mediaContentKey"),
    ("\"mediaContentKey\":\"mck\"", "\"mediaContentKey\":\"a\\u0000b\"", "mediaContentKey"),
    ("\"title\":\"제목\"", "\"title\":1", "title"), ("\"size\":3145728", "\"size\":0", "media.size"),
    ("\"size\":3145728", "\"size\":-1", "media.size"), ("\"size\":3145728", "\"size\":\"1\"", "media.size"),
    ("\"size\":3145728", "\"size\":1125899906842625", "media.size"),
    ("\"size\":3145728", "\"size\":1e3", "media.size"),
    ("\"size\":3145728,", "", "media.size"), ("[\"media/x.mp4\"]", "[]", "media.urls"),
    ("[\"media/x.mp4\"]", "[1]", "media.urls[0]"),
    ("[\"media/x.mp4\"]", "[\"a\",\"ftp://a/\"]", "media.urls[1]"),
    ("[\"media/x.mp4\"]", "\"a\"", "media.urls"),
    ("[\"media/x.mp4\"]", "[\"http://u:p@a/\"]", "media.urls[0]"),
    ("\"video/mp4\"", "null,\"type\":1", "media.type"),
  ]) func `a wrong member is named`(_ part: String, _ wrong: String, _ path: String) {
    let text = CoreStage.manifest().replacing(part, with: wrong)
    #expect(text != CoreStage.manifest())
    let error = #expect(throws: JSONError.self) { try read(text) }
    #expect(error?.path == "contents[0].\(path)", "\(error?.description ?? "")")
  }

  @Test(arguments: [
    (",\"sha256\":\"xx\"", "media.sha256"), (",\"sha256\":1", "media.sha256"),
    (",\"segmentSize\":65535", "media.segmentSize"),
    (",\"segmentSize\":32768", "media.segmentSize"), (",\"segmentSize\":16777216", "media.segmentSize"),
    (",\"segmentSize\":-65536", "media.segmentSize"), (",\"segmentSize\":0", "media.segmentSize"),
    (",\"segmentSize\":98304", "media.segmentSize"), (",\"segments\":[]", "media.segments"),
    (",\"segments\":{}", "media.segments"),
    (",\"segments\":[\"a\",\"b\"]", "media.segments"),
    (",\"segments\":[\"YQ==\",\"b\",\"c\"]", "media.segments[0]"),
    (",\"segments\":[1,2,3]", "media.segments[0]"), (",\"sha256\":null,\"sha256\":null", "media.sha256"),
  ]) func `a wrong member of the media is named`(_ media: String, _ path: String) {
    let error = #expect(throws: JSONError.self) { try read(CoreStage.manifest(media: media)) }
    #expect(error?.path == "contents[0].\(path)", "\(error?.description ?? "")")
  }

  @Test(arguments: [
    ("\"duration\":-1,", "duration"), ("\"duration\":1e10,", "duration"), ("\"duration\":\"1\",", "duration"),
    ("\"duration\":1e999,", "duration"), ("\"naturalSize\":[1],", "naturalSize"),
    ("\"naturalSize\":[1,2,3],", "naturalSize"),
    ("\"naturalSize\":[1,-2],", "naturalSize"), ("\"naturalSize\":[1.5,2],", "naturalSize"),
    ("\"naturalSize\":{},", "naturalSize"), ("\"contentType\":\"stream\",", "contentType"),
    ("\"contentType\":1,", "contentType"),
    ("\"downloadable\":1,", "downloadable"), ("\"intro\":\"no\",", "intro"), ("\"policy\":[],", "policy"),
    ("\"channel\":[],", "channel"), ("\"channel\":{\"drmCallback\":1},", "channel.drmCallback"),
    // An empty one must not give the film away.
    ("\"channel\":{\"drmCallback\":\"\"},", "channel.drmCallback"),
    ("\"channel\":{\"drmCallback\":\" \"},", "channel.drmCallback"),
    ("\"channel\":{\"blockCount\":0},", "channel.blockCount"),
    ("\"channel\":{\"lmsCallback\":{}},", "channel.lmsCallback"),
    ("\"snapshot\":{},", "snapshot.url"), ("\"snapshot\":{\"url\":1},", "snapshot.url"),
    ("\"snapshot\":{\"url\":\"file:///x\"},", "snapshot.url"),
    ("\"thumbnail\":{\"url\":\"a\",\"size\":-1},", "thumbnail.size"),
    ("\"thumbnail\":{\"url\":\"a\",\"sha256\":\"x\"},", "thumbnail.sha256"),
    ("\"snapshot\":\"a\",", "snapshot"),
  ]) func `a wrong member beside the media is named`(_ more: String, _ path: String) {
    let error = #expect(throws: JSONError.self) { try read(CoreStage.manifest(more: more)) }
    #expect(error?.path == "contents[0].\(path)", "\(error?.description ?? "")")
  }

  @Test(arguments: [
    "", "null", "[]", "{}", "{\"contents\":{}}", "{\"contents\":[]}", "{\"contents\":null}",
    "{\"contents\":[1]}", "<html>",
  ])
  func `what is no list of manifests is refused`(_ text: String) throws {
    let base = try CoreStage.address("https://h/")
    #expect(throws: JSONError.self) { try Manifest.read(Array(text.utf8), from: base) }
  }

  @Test func `a text longer than 64 KiB is refused by its name`() {
    let long = "\"company\":\"\(String(repeating: "x", count: (64 << 10) + 1))\","
    let error = #expect(throws: JSONError.self) { try read(CoreStage.manifest(more: long)) }
    #expect(error?.path == "contents[0].company")
  }

  @Test(arguments: ["{}", "{\"drmCallback\":null}"])
  func `a channel without a callback asks for no licence`(_ channel: String) throws {
    #expect(try !read(CoreStage.manifest(more: "\"channel\":\(channel),")).content.needsLicence)
  }

  @Test(arguments: [nil, "https://h/s?jwt=secret"])
  func `a source is opened as it was sealed, and only for its content`(
    _ playURL: String?
  ) throws {
    let manifest = try read(CoreStage.manifest())
    let base = try CoreStage.address("https://h/s?jwt=secret")
    let source = try Source(
      base: base, playURL: playURL.map { try CoreStage.address($0) }, manifest: manifest)
    let sealed = try source.sealed(under: CoreStage.key)
    let opened = try #require(Source(opening: sealed, of: "mck", key: CoreStage.key))
    #expect(opened.base == base)
    #expect(opened.playURL?.text == playURL)
    #expect(opened.manifest == manifest)
    #expect(Source(opening: sealed, of: "other", key: CoreStage.key) == nil)
    #expect(
      Source(opening: sealed, of: "mck", key: SymmetricKey(bytes: Array(repeating: 8, count: 32))) == nil)
    var bent = sealed
    bent[bent.count / 2] ^= 1
    #expect(Source(opening: bent, of: "mck", key: CoreStage.key) == nil)
    #expect(Source(opening: [], of: "mck", key: CoreStage.key) == nil)
    #expect(!String(decoding: sealed, as: UTF8.self).contains("secret"))
  }
}
