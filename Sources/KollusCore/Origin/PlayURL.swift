import CurlKit
import JSONKit
import SealKit

/// What a play URL says by itself (PROTO §1): claims are hints, the origin verifies them.
struct PlayURL {
  /// The `cuid` claim.
  let clientUserID: String?
  /// `uservalue0` … `uservalue99` of the query, in order of their numbers.
  let userValues: [(name: String, value: String)]
  /// The `expt` claim, Unix seconds.
  let expires: Int64?

  /// Throws −1010 for a multi-DRM policy, which needs a system this program does not have.
  init(_ address: WebAddress) throws(KollusError) {
    var token: String?
    var values: [Int: String] = [:]
    for pair in (address.query ?? "").split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(sides[0])
      guard
        let value = ContentReference.percentDecoded(
          (sides.count > 1 ? String(sides[1]) : "").split(separator: "+", omittingEmptySubsequences: false)
            .joined(separator: " "))
      else { continue }
      if name == "jwt", token == nil { token = value }
      if name.hasPrefix("uservalue"), let number = Int(name.dropFirst(9)), (0...99).contains(number),
        name == "uservalue\(number)"
      {
        values[number] = value
      }
    }
    userValues = values.sorted { $0.key < $1.key }.map { ("uservalue\($0.key)", $0.value) }
    // A token that cannot be read here is for the origin to judge.
    let claims = token.flatMap { try? JSONWebToken(unverified: $0).payload }
    clientUserID = claims.flatMap { try? $0.string("cuid") }
    expires = claims.flatMap { try? $0.integer("expt") }
    let contents = claims.flatMap { try? $0.array("mc") }
    for content in contents.map({ Array($0.elements.prefix(1_000)) }) ?? [] {
      guard Self.hasNoPolicy(content) else {
        throw KollusError(
          .refused, code: KollusCode.unsupported,
          "the play URL asks for a multi-DRM system, which is not supported",
          hint: "ask for a URL without drm_policy")
      }
    }
  }

  /// A policy of a wrong type, or given twice, is one as well.
  private static func hasNoPolicy(_ content: JSON) -> Bool {
    do throws(JSONError) {
      return try content.member("drm_policy")?.isNull ?? true
    } catch {
      return content.kind != .object
    }
  }

  /// User values as the JSON object that callbacks carry.
  static func json(userValues: [(name: String, value: String)]) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    // No empty strings are sent (design §6).
    for (name, value) in userValues where !value.isEmpty { writer.member(name, value) }
    writer.endObject()
    return writer.text
  }
}
