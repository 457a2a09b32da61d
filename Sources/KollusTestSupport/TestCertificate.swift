import Foundation

/// A server's certificate and the authority behind it, made by openssl for one test.
package struct TestCertificate: Sendable {
  package static let isPossible = FileManager.default.isExecutableFile(atPath: program)
  private static let program = "/usr/bin/openssl"

  /// Certificate of the authority, which no system trusts.
  package let authorityPath: String
  package let path: String
  package let keyPath: String

  /// Makes both in `folder`; `names` are those the server may be called by, as openssl writes them.
  package init(
    for names: String = "IP:127.0.0.1,DNS:localhost", in folder: String = TemporaryDirectory.path
  ) async throws {
    let prefix = "\(folder)/tls-\(UUID().uuidString)"
    authorityPath = "\(prefix)-authority.pem"
    (path, keyPath) = ("\(prefix).pem", "\(prefix).key")
    let common = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
    ]
    let authorityKey = "\(prefix)-authority.key"
    try await Self.run(
      common + [
        "-subj", "/CN=Test Authority", "-addext", "keyUsage=critical,keyCertSign", "-keyout", authorityKey,
        "-out", authorityPath,
      ])
    try await Self.run(
      common + [
        "-subj", "/CN=Test Server", "-addext", "subjectAltName=\(names)", "-addext",
        "basicConstraints=critical,CA:FALSE", "-CA", authorityPath, "-CAkey", authorityKey, "-keyout",
        keyPath,
        "-out", path,
      ])
  }

  private static func run(_ words: [String]) async throws {
    let outcome = try await ChildProcess(program, words, environment: ["PATH": "/usr/bin:/bin"]).wait()
    guard outcome.ending == .exit(0) else { throw Failure(description: outcome.standardError) }
  }

  /// What openssl had to say.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }
}
