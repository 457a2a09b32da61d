import JSONKit
import SealKit
import ServerKit
import Synchronization

/// Judges play URLs: whether they are signed, still valid and, if that is asked for, new.
final class PlayURLs: Sendable {
  /// What a token that was accepted says.
  struct Claims: Sendable {
    let entries: [PlayEntry]
    fileprivate let token: Digest
    fileprivate let expiry: Int64
  }

  private static let entryLimit = 100
  /// Beyond so many used tokens the expired ones are forgotten.
  private static let memoryLimit = 100_000

  private let keys: KeyRing
  private let isOneTime: Bool
  /// When each used token expires.
  private let used = Mutex<[Digest: Int64]>([:])

  init(keys: KeyRing, isOneTime: Bool) {
    self.keys = keys
    self.isOneTime = isOneTime
  }

  /// Reads the query of a play URL at a time in Unix seconds, or says with which code it is refused.
  func claims(of fields: [(name: String, value: String)], now: Int64) throws(Refusal) -> Claims {
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    guard let customKey = field("custom_key"), let key = keys[customKey] else {
      throw Refusal(.invalidUserKey, "unknown custom_key")
    }
    guard let text = field("jwt") else { throw Refusal(.invalidToken, "jwt is missing") }
    let token: JSONWebToken
    do throws(JSONWebToken.Failure) {
      token = try JSONWebToken(verifying: text, key: key)
    } catch {
      throw Refusal(.invalidToken, Self.explain(error))
    }
    let claims: Claims
    do throws(JSONError) {
      let expiry = try token.payload.integer("expt")
      let entries = try token.payload.array("mc")?.elements.map { $0 } ?? []
      guard entries.count <= Self.entryLimit else {
        throw token.payload.failure("mc has more than \(Self.entryLimit) entries")
      }
      claims = Claims(
        entries: try entries.map(PlayEntry.init), token: SHA256.hash(Array(text.utf8)), expiry: expiry ?? .max
      )
    } catch {
      throw Refusal(.invalidToken, "claims: \(error)")
    }
    try check(claims, now: now)
    return claims
  }

  /// Takes the token as used, once.
  func use(_ claims: Claims) throws(Refusal) {
    guard isOneTime else { return }
    let isNew = used.withLock { $0.updateValue(claims.expiry, forKey: claims.token) == nil }
    guard isNew else { throw Self.usedUp }
  }

  private func check(_ claims: Claims, now: Int64) throws(Refusal) {
    guard claims.expiry >= now else { throw Refusal(.tokenExpired, "the play URL has expired") }
    guard !claims.entries.isEmpty else { throw Refusal(.withoutMediaContentKey, "mc names no content") }
    guard !claims.entries.contains(where: { $0.isUnsupported }) else {
      throw Refusal(.unsupported, "multi-DRM and live contents are not served")
    }
    let isUsed = used.withLock { used in
      if used.count > Self.memoryLimit { used = used.filter { $0.value >= now } }
      return used[claims.token] != nil
    }
    if isUsed { throw Self.usedUp }
  }

  private static var usedUp: Refusal { Refusal(.usedToken, "the play URL was used before") }

  private static func explain(_ failure: JSONWebToken.Failure) -> String {
    switch failure {
    case .malformed(let reason): "jwt: \(reason)"
    case .algorithm(let name): "jwt: the algorithm is \(name), not HS256"
    case .signature: "jwt: the signature does not fit the custom key"
    case .payload(let reason): "jwt: payload: \(reason)"
    }
  }
}
