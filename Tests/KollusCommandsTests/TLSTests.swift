import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Certificates: whom the tool trusts, and what it says of those it does not.
@Suite(
  .temporaryDirectory, .timeLimit(.minutes(1)), .enabled(if: Nginx.isInstalled, "nginx is not installed"),
  .enabled(if: TestCertificate.isPossible, "openssl is not installed"))
struct TLSTests {
  let bytes = randomBytes(700_000)

  /// A static origin over TLS that holds one content.
  func serve(
    _ certificate: TestCertificate, mediaPath: String = "/media/a.mp4", host: String = "127.0.0.1",
    _ directives: String = ""
  ) async throws -> Nginx {
    let root = "\(TemporaryDirectory.path)/root"
    for folder in ["contents", "media"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
    }
    try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/media/a.mp4"))
    let nginx = try await Nginx(serving: root, with: certificate, directives)
    let manifest = OriginContent("a", bytes: bytes).manifest(
      mediaURL: "https://\(host):\(nginx.port)\(mediaPath)")
    try manifest.write(toFile: "\(root)/contents/a", atomically: true, encoding: .utf8)
    return nginx
  }

  func expectDownloaded(by stage: CommandStage, at location: SourceLocation = #_sourceLocation) async {
    await stage.run("download", "a").expect(0, at: location)
    let path = TemporaryDirectory.path + "/out"
    await stage.run("export", "a", "-o", path).expect(0, at: location)
    let isSame = FileManager.default.contents(atPath: path) == Data(bytes)
    #expect(isSame, sourceLocation: location)
  }

  func expectRefused(
    by stage: CommandStage, telling parts: String..., at location: SourceLocation = #_sourceLocation
  ) async throws {
    let run = await stage.run("download", "a").expect(69, at: location)
    for part in parts { #expect(run.errors.contains(part), "\(run.errors)", sourceLocation: location) }
    #expect(try await stage.listed("--state", "ready").isEmpty, sourceLocation: location)
  }

  @Test func `an untrusted certificate is refused at once`() async throws {
    let nginx = try await serve(try await TestCertificate())
    let stage = try CommandStage(origin: nginx.url, ["retries": "5"])
    let start = ContinuousClock.now
    try await expectRefused(
      by: stage, telling: "\(nginx.url)/contents/a cannot be trusted", "caFile", "-8060")
    #expect(.now - start < .seconds(5), "trying again does not help")
    #expect(try await stage.listed().isEmpty)
    #expect(try stage.sealedFiles().isEmpty)
    #expect(try nginx.bodyBytes(under: "/") == 0)
  }

  @Test func `an authority named in the configuration is trusted`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await serve(certificate)
    defer { withExtendedLifetime(nginx) {} }
    let stage = try CommandStage(origin: nginx.url, ["caFile": "\"\(certificate.authorityPath)\""])
    await expectDownloaded(by: stage)
  }

  @Test func `a relative caFile lies beside the configuration`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await serve(certificate)
    defer { withExtendedLifetime(nginx) {} }
    let name = try #require(certificate.authorityPath.split(separator: "/").last)
    #expect(certificate.authorityPath == "\(TemporaryDirectory.path)/\(name)")
    let stage = try CommandStage(origin: nginx.url, ["caFile": "\"\(name)\""])
    await expectDownloaded(by: stage)
  }

  @Test func `the environment names an authority too`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await serve(certificate)
    defer { withExtendedLifetime(nginx) {} }
    let stage = try CommandStage(origin: nginx.url).setting("KOLLUS_CA_FILE", certificate.authorityPath)
    await expectDownloaded(by: stage)
  }

  @Test func `a certificate for another host is refused`() async throws {
    let certificate = try await TestCertificate(for: "DNS:elsewhere.example")
    let nginx = try await serve(certificate)
    let stage = try CommandStage(origin: nginx.url, ["caFile": "\"\(certificate.authorityPath)\""])
    try await expectRefused(by: stage, telling: "\(nginx.url)/contents/a cannot be trusted")
    #expect(try nginx.bodyBytes(under: "/") == 0)
  }

  @Test func `media are held to their certificate as the manifest is`() async throws {
    let certificate = try await TestCertificate(for: "IP:127.0.0.1")
    let nginx = try await serve(certificate, host: "localhost")
    let settings = ["caFile": "\"\(certificate.authorityPath)\"", "retries": "0"]
    let stage = try CommandStage(origin: nginx.url, settings)
    try await expectRefused(by: stage, telling: "https://localhost:\(nginx.port)/media/a.mp4")
    #expect(try nginx.bodyBytes(under: "/media/") == 0)
  }

  @Test func `a redirect of media from https to http is refused`() async throws {
    let certificate = try await TestCertificate()
    let plain = try ScriptedServer(ScriptedServer.object(bytes))
    let nginx = try await serve(
      certificate, mediaPath: "/elsewhere.mp4",
      "location = /elsewhere.mp4 { return 302 \(plain.url)/a.mp4; }")
    defer { withExtendedLifetime(nginx) {} }
    let settings = ["caFile": "\"\(certificate.authorityPath)\"", "retries": "0"]
    let stage = try CommandStage(origin: nginx.url, settings)
    try await expectRefused(by: stage, telling: "\(nginx.url)/elsewhere.mp4", "302")
    #expect(plain.exchanges.isEmpty)
  }

  @Test func `a redirect of media within https is followed`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await serve(
      certificate, mediaPath: "/elsewhere.mp4", "location = /elsewhere.mp4 { return 307 /media/a.mp4; }")
    defer { withExtendedLifetime(nginx) {} }
    let stage = try CommandStage(origin: nginx.url, ["caFile": "\"\(certificate.authorityPath)\""])
    await expectDownloaded(by: stage)
  }

  @Test func `a caFile that is missing or none is told`() async throws {
    let certificate = try await TestCertificate()
    let nginx = try await serve(certificate)
    let missing = "\(TemporaryDirectory.path)/missing.pem"
    let empty = "\(TemporaryDirectory.path)/empty.pem"
    try Data("no certificate\n".utf8).write(to: URL(fileURLWithPath: empty))
    for path in [missing, empty] {
      let stage = try CommandStage(origin: nginx.url, ["caFile": "\"\(path)\"", "retries": "0"])
      let run = await stage.run("download", "a")
      // The configuration is at fault; libcurl tells it as a failure of trust.
      #expect(run.status == 78 || run.status == 69, "\(run)")
      #expect(run.errors.contains("caFile") && run.errors.contains(path), "\(run.errors)")
      #expect(try await stage.listed().isEmpty)
    }
    #expect(try nginx.bodyBytes(under: "/") == 0)
  }
}
