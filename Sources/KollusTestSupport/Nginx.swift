import Foundation

/// A private nginx over one folder, on a port of its own.
package final class Nginx: Sendable {
  package static let isInstalled = program != nil

  package let port: Int
  private let process: ChildProcess
  private let log: String

  private let scheme: String

  package var url: String { "\(scheme)://127.0.0.1:\(port)" }

  /// Serves `root`, over TLS when there is a certificate; its own files go to `folder`.
  ///
  /// `directives` are added to the server's block.
  package init(
    serving root: String, in folder: String = TemporaryDirectory.path,
    with certificate: TestCertificate? = nil,
    _ directives: String = ""
  ) async throws {
    guard let program = Self.program else { throw SystemError(number: ENOENT) }
    let prefix = "\(folder)/nginx-\(UUID().uuidString)"
    log = "\(prefix)/access.log"
    scheme = certificate == nil ? "http" : "https"
    let server = ["root \(root);", certificate?.directives ?? "", directives].joined(separator: " ")
    let tls = certificate == nil ? "" : " ssl"
    try FileManager.default.createDirectory(atPath: prefix, withIntermediateDirectories: true)
    for _ in 0..<5 {
      let port = try unusedPort()
      let text = Self.configuration(prefix: prefix, server: "listen 127.0.0.1:\(port)\(tls); \(server)")
      try text.write(toFile: "\(prefix)/nginx.conf", atomically: true, encoding: .utf8)
      let process = try ChildProcess(
        program, ["-p", prefix, "-c", "\(prefix)/nginx.conf", "-e", "stderr"],
        environment: ["PATH": "/usr/sbin:/usr/bin:/bin"])
      // By then it listens; another process may have taken the port first, and nginx ends.
      let started = await process.line(on: .standardError, within: .seconds(15)) {
        $0.contains("start worker process ")
      }
      if started != nil {
        (self.port, self.process) = (port, process)
        return
      }
      process.kill(SIGKILL)
    }
    throw SystemError(number: EADDRINUSE)
  }

  /// The master ends its worker only when it may end by itself; nothing is left of their files afterwards.
  deinit { process.stop() }

  /// Body bytes sent for targets that start so, by the access log: it is written when a request ends.
  package func bodyBytes(under prefix: String) throws -> Int {
    try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").reduce(0) { sum, line in
      let words = line.split(separator: " ")
      guard words.count >= 3, words[2].hasPrefix(prefix), let count = Int(words[1]) else { return sum }
      return sum + count
    }
  }

  private static let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static func configuration(prefix: String, server: String) -> String {
    """
    daemon off;
    \(geteuid() == 0 ? "user root;" : "")
    worker_processes 1;
    pid \(prefix)/pid;
    error_log stderr notice;
    events { worker_connections 512; }
    http {
      log_format bytes '$status $body_bytes_sent $request_uri "$http_range"';
      access_log \(prefix)/access.log bytes;
      client_body_temp_path \(prefix)/body;
      proxy_temp_path \(prefix)/proxy;
      fastcgi_temp_path \(prefix)/fastcgi;
      uwsgi_temp_path \(prefix)/uwsgi;
      scgi_temp_path \(prefix)/scgi;
      sendfile on;
      types { video/mp4 mp4; application/json json; }
      default_type application/octet-stream;
      server { \(server) }
    }
    """
  }
}

extension TestCertificate {
  fileprivate var directives: String { "ssl_certificate \(path); ssl_certificate_key \(keyPath);" }
}
