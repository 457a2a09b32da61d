package import CurlKit
import JSONKit
import SealKit
import SystemKit

/// Asks the origin for manifests.
package struct OriginClient: Sendable {
  let engine: TransferEngine
  let settings: Settings
  let policy: HTTPPolicy

  package init(engine: TransferEngine, settings: Settings) {
    (self.engine, self.settings) = (engine, settings)
    policy = HTTPPolicy(allowsPlainHTTP: settings.allowPlainHTTP)
  }

  /// An answer of more bytes than was asked for at first.
  struct LargeAnswer: Error {}

  /// Answers up to this size are had several at once.
  static let smallLimit = 256 << 10

  /// How every transfer of a run is made.
  static func options(_ settings: Settings) -> TransferOptions {
    var options = TransferOptions()
    options.timeout = settings.timeout.duration
    options.caFile = settings.caFile
    options.proxy = settings.proxy
    return options
  }

  /// The manifests that `reference` stands for: one for a key, one for each entry of a play URL.
  ///
  /// Network failures and busy servers are tried again; `waiting` is told before each wait.
  func resolve(
    _ reference: ContentReference, limit: Int = Manifest.sizeLimit, waiting: @Sendable (Note, String) -> Void
  ) async throws -> [Source] {
    let address: WebAddress
    switch reference {
    case .playURL(let url): address = url
    case .mediaContentKey(let key): address = try self.address(of: key)
    }
    try policy.check(address, for: "the origin")
    let (body, base) = try await fetch(address, limit: limit, waiting: waiting)
    let manifests: [Manifest]
    do throws(JSONError) {
      manifests = try Manifest.read(body, from: base)
    } catch {
      throw KollusError(
        .badData, code: KollusCode.contentInfoUnreadable,
        "the manifest from \(address.display) is not right: \(error)",
        hint: "tell the people who run the origin")
    }
    if case .mediaContentKey(let key) = reference {
      guard manifests.count == 1, manifests[0].content.mediaContentKey.isExactly(key) else {
        throw KollusError(
          .badData, code: KollusCode.contentInfoUnreadable,
          "the manifest from \(address.display) is not right: contents[0].mediaContentKey is not the one asked for",
          hint: "tell the people who run the origin")
      }
    }
    for manifest in manifests {
      for address in manifest.media.addresses { try policy.check(address, for: "media.urls of the manifest") }
    }
    var playURL: WebAddress?
    if case .playURL(let url) = reference { playURL = url }
    return manifests.map { Source(base: base, playURL: playURL, manifest: $0) }
  }

  private func address(of key: String) throws(KollusError) -> WebAddress {
    guard let origin = settings.origin else {
      throw KollusError(
        .configuration, "no origin is configured",
        hint: "set 'origin' in the configuration or KOLLUS_ORIGIN, or give a play URL")
    }
    let base = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
    guard let address = WebAddress("\(base)/contents/\(WebAddress.encode(key))") else {
      throw KollusError(
        .configuration, "the origin is not a usable http or https URL",
        hint: "correct 'origin' in the configuration")
    }
    return address
  }

  /// The body of a 200, and the address it came from in the end.
  private func fetch(
    _ address: WebAddress, limit: Int, waiting: @Sendable (Note, String) -> Void
  ) async throws -> (body: [UInt8], base: WebAddress) {
    var patience = Patience(retries: settings.retries)
    while true {
      let failure: (error: KollusError, retryAfter: Double?)
      do {
        let (response, from) = try await follow(address, limit: limit)
        if response.head.status == 200 { return (response.body, from) }
        failure = (
          OriginAnswer.error(response, address: from), RetryAfter.time(response.head, now: WallClock.now())
        )
      } catch let error as CurlError {
        if error.code == CurlError.refusedByReceiver {
          if limit < Manifest.sizeLimit { throw LargeAnswer() }
          throw KollusError(
            .badData, code: KollusCode.contentInfoUnreadable,
            "the manifest from \(address.display) is larger than \(Manifest.sizeLimit) bytes")
        }
        failure = (KollusError(error, address: address), nil)
      }
      guard failure.error.kind == .tryLater,
        let delay = patience.next(notBefore: failure.retryAfter, now: WallClock.now())
      else { throw failure.error }
      waiting(
        failure.retryAfter == nil ? .retrying : .waiting,
        "\(failure.error.message); trying again in \(delay.secondsText)")
      try await TaskThreads.sleep(for: delay)
    }
  }

  private func follow(_ start: WebAddress, limit: Int) async throws -> (response: Response, from: WebAddress)
  {
    var address = start
    for _ in 0...HTTPPolicy.redirectLimit {
      var request = Request(address, options: Self.options(settings))
      request.headers = ["Accept: application/json", "Accept-Encoding: identity"]
      let response = try await engine.perform(request, limit: limit)
      guard (300...399).contains(response.head.status), response.head.status != 304 else {
        return (response, address)
      }
      guard let target = policy.target(of: response.head, from: address) else {
        throw KollusError(
          .refused, code: KollusCode.storageBase - response.head.status,
          "\(address.display) redirects to where it may not be followed",
          hint: "check 'origin' in the configuration")
      }
      address = target
    }
    throw KollusError(
      .refused, code: KollusCode.mediaURL,
      "\(start.display) redirects more than \(HTTPPolicy.redirectLimit) times")
  }
}

/// What an origin's refusal means.
enum OriginAnswer {
  /// The failure that an answer with another status than 200 stands for (design §4).
  static func error(_ response: Response, address: WebAddress) -> KollusError {
    // The body is only a courtesy; an unreadable one leaves the status to speak.
    let json = try? JSON(
      parsing: response.body, limits: JSON.Limits(bytes: 64 << 10, depth: 8, values: 1_000))
    let given = json.flatMap { try? $0.integer("code") }.flatMap { Int(exactly: $0) }
    let words = json.flatMap { try? $0.string("message") }.map { String($0.prefix(500)) }
    let status = response.head.status
    let code = given ?? KollusCode.storageBase - status
    let said = words ?? "\(address.display) answered with status \(status)"
    if status == 404 || code == KollusCode.noMediaContent {
      return KollusError(
        .unknownContent, code: given ?? KollusCode.noMediaContent,
        "the origin knows no such content: \(said)",
        hint: "check the media content key")
    }
    switch status {
    case 408, 425, 429, 500...599:
      return KollusError(.tryLater, code: code, said, hint: "run the same command again later")
    default:
      let needsURL = [KollusCode.tokenExpired, KollusCode.usedMediaKey].contains(code)
      return KollusError(
        .refused, code: code, "the origin refuses: \(said)",
        hint: needsURL ? "run again with a fresh URL" : nil)
    }
  }
}
