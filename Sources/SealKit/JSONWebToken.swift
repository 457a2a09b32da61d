package import JSONKit

/// A compact JWS token signed with HMAC-SHA-256 (RFC 7515, RFC 7519), the only kind that Kollus uses.
package struct JSONWebToken: Sendable {
  /// Why a token is not accepted.
  package enum Failure: Error, Equatable, Sendable {
    /// The text is no such token; the reason never quotes it.
    case malformed(String)
    /// The header names another algorithm: what it said, made safe to print and cut after 32 characters.
    case algorithm(String)
    /// The signature is not this key's.
    case signature
    /// The claims are no JSON object; the reason never quotes them.
    case payload(String)
  }

  /// The claims, always an object.
  package let payload: JSON

  /// Accepts a token signed with a key, comparing over the bytes received.
  package init(verifying token: some StringProtocol, key: SymmetricKey) throws(Failure) {
    let parts = try Parts(token)
    guard HMAC.isValid(parts.signature, for: parts.signed, key: key) else { throw .signature }
    payload = try parts.claims()
  }

  /// Reads the claims without knowing who wrote them: good for hints, never for decisions.
  package init(unverified token: some StringProtocol) throws(Failure) {
    let parts = try Parts(token)
    payload = try parts.claims()
  }

  /// Signs claims.
  ///
  /// - Parameters:
  ///   - payload: The claims as a JSON object, signed as they are.
  ///   - key: The security key.
  /// - Returns: The token.
  package static func signed(payload: String, key: SymmetricKey) -> String {
    let header = #"{"alg":"HS256","typ":"JWT"}"#
    let signed = "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL(payload.utf8))"
    return "\(signed).\(Base64.encodeURL(HMAC.sha256(Array(signed.utf8), key: key).bytes))"
  }
}

/// A token taken apart, its header checked.
private struct Parts {
  /// What the signature is over: header and payload as they were written.
  let signed: [UInt8]
  private let payload: ArraySlice<UInt8>
  let signature: [UInt8]

  init(_ token: some StringProtocol) throws(JSONWebToken.Failure) {
    let bytes = Array(token.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw .malformed("a token has three parts")
    }
    guard !parts[2].isEmpty else {
      // Such a token mostly says itself that it has none.
      try Self.check(header: Self.decoded(parts[0], "header"))
      throw .malformed("it is not signed")
    }
    guard let signature = Base64.decode(parts[2]) else { throw .malformed("the signature is not base64") }
    signed = Array(bytes[..<parts[1].endIndex])
    payload = parts[1]
    self.signature = signature
    try Self.check(header: Self.decoded(parts[0], "header"))
  }

  /// The JSON object that the payload encodes.
  func claims() throws(JSONWebToken.Failure) -> JSON {
    let bytes = try Self.decoded(payload, "payload")
    do {
      return try Self.object(bytes)
    } catch {
      throw .payload("\(error)")
    }
  }

  private static func decoded(_ part: ArraySlice<UInt8>, _ name: String) throws(JSONWebToken.Failure)
    -> [UInt8]
  {
    guard let bytes = Base64.decode(part) else { throw .malformed("the \(name) is not base64") }
    return bytes
  }

  private static func object(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    let json = try JSON(parsing: bytes)
    guard json.kind == .object else { throw json.failure("expected an object") }
    return json
  }

  private static func check(header bytes: [UInt8]) throws(JSONWebToken.Failure) {
    let algorithm: String?
    let type: String?
    let hasExtensions: Bool
    do {
      let header = try object(bytes)
      algorithm = try header.string("alg")
      type = try header.string("typ")
      hasExtensions = try header.member("crit") != nil
    } catch {
      throw .malformed("header: \(error)")
    }
    guard let algorithm else { throw .malformed("header: alg is missing") }
    guard algorithm == "HS256" else {
      let quoted = String(String.UnicodeScalarView(algorithm.unicodeScalars.prefix(32))).jsonQuoted
      throw .algorithm(String(quoted.dropFirst().dropLast().prefix(32)))
    }
    guard type == nil || type?.lowercased() == "jwt" else { throw .malformed("header: typ is not JWT") }
    // RFC 7515, 4.1.11: whoever does not know the extensions named there has to refuse.
    guard !hasExtensions else { throw .malformed("header: crit is not supported") }
  }
}
