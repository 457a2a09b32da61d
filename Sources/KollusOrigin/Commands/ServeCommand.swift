import ArgumentKit
import ServerKit

/// `serve`: answers from the folder until a signal comes.
struct ServeCommand {
  static let root = Input<String>.option("root", nil, "DIR", default: ".", help: "Folder to serve.")
  static let port = Input<UInt16>.option(
    "port", nil, "N", default: 8_080, help: "Port; 0 leaves the choice to the system.")
  static let address = Input<String>.option(
    "address", nil, "A", default: "127.0.0.1", help: "Numeric address to listen on.")
  static let keys = Input<String?>.option(
    "keys", nil, "FILE", help: "JSON object of custom keys and the files that hold their security keys.")
  static let oneTime = Input<Bool>.flag(
    "one-time", help: "Take every play URL only once, until the next start.")
  static let policy = Input<String?>.option(
    "policy", nil, "FILE", help: "What the DRM callback answers and reports get, as JSON; see above.")
  static let lms = Input<String?>.option(
    "lms", nil, "FILE", help: "Keep viewing reports, one JSON object a line; 'kollus-origin lms' merges them."
  )
  static let log = Input<Bool>.flag(
    "log",
    help: "Print a line for each exchange on stderr, one for each item of a DRM request, and each report.")

  static let spec = CommandSpec(
    "serve", "Answer requests for manifests, media, play URLs, DRM policies and reports.",
    discussion: """
      The first line on stdout tells the URL once it can be used. SIGINT and SIGTERM end the server, with \
      status 0. Symbolic links and names that begin with a dot are not served.

      \(Policy.help)
      """,
    inputs: [
      root.declaration, port.declaration, address.declaration, keys.declaration, policy.declaration,
      lms.declaration, oneTime.declaration, log.declaration,
    ],
    examples: ["kollus-origin serve --root site --port 8080 --keys keys.json"])

  private let root: String
  private let port: Int
  private let address: String
  private let keys: String?
  private let policy: String?
  private let lms: String?
  private let isOneTime: Bool
  private let logs: Bool

  init(_ given: ParsedArguments) throws(UsageError) {
    root = try given(Self.root)
    port = Int(try given(Self.port))
    address = try given(Self.address)
    keys = try given(Self.keys)
    policy = try given(Self.policy)
    lms = try given(Self.lms)
    isOneTime = try given(Self.oneTime)
    logs = try given(Self.log)
  }

  /// Serves until the context says stop.
  func run(in context: Context) async throws {
    let keyRing = try keys.map { try KeyRing(file: $0) } ?? KeyRing()
    let complain: @Sendable (String) -> Void = { context.complain($0, hint: nil) }
    if keys == nil, policy != nil { complain("without --keys nothing can be signed: /drm answers 501") }
    let policies = try PolicySource(path: policy, keys: keyRing, complain: complain)
    let service = OriginService(
      folder: try openRoot(), playURLs: PlayURLs(keys: keyRing, isOneTime: isOneTime),
      drm: DRMEndpoint(policies: policies, logs: logs),
      lms: LMSEndpoint(
        policies: policies, file: try lms.map(ReportFile.init), logs: logs, complain: complain),
      now: context.now)
    let stops = context.stops()
    let server = try start(service, context)
    context.output("listening on \(server.origin)")
    for await _ in stops { break }
    server.stop()
  }

  private func openRoot() throws -> Folder {
    do throws(ServerError) {
      return try Folder(root)
    } catch {
      throw OriginError(.noInput, "cannot open the folder \(root): \(error)")
    }
  }

  private func start(_ service: OriginService, _ context: Context) throws -> HTTPServer {
    var configuration = HTTPServer.Configuration()
    (configuration.address, configuration.port) = (address, port)
    // Beyond the largest request, so that its endpoint can say what is wrong with a larger one.
    configuration.maximumBody = max(DRMItem.bodyLimit, LMSSubmission.bodyLimit) * 2
    let observe: HTTPServer.Observer = { request, response, status in
      let line = AccessLog.line(request, status: status, at: context.now())
      // At once, or the lines of two exchanges could mix.
      context.error(([line] + response.notes).joined(separator: "\n"))
    }
    do throws(ServerError) {
      return try HTTPServer(configuration, observe: logs ? observe : nil) { service.answer($0) }
    } catch {
      switch error.code {
      case .badAddress: throw UsageError("--address: '\(address)' is no numeric address")
      case .addressInUse:
        throw OriginError(
          .unavailable, "\(address) port \(port) is in use", hint: "give another --port, or 0 for a free one")
      default: throw OriginError(.inputOutput, "cannot listen on \(address) port \(port): \(error)")
      }
    }
  }
}
