import CurlKit
import JSONKit
import SealKit

/// What a request to the DRM callback came to.
struct DRMReply: Sendable {
  /// In the order of the items.
  let results: [Result<DRMAnswer, KollusError>]
  /// The answer's `Date`, in Unix seconds.
  let date: Int64?
  /// What the device clock said when the answer came, in Unix seconds.
  let deviceTime: Double
  /// Whether the answer came over TLS or from this machine, so that its date may set the clock.
  let isTrusted: Bool

  /// Reads the answer of status 200 that `address` gave to `items` (PROTO §2.4).
  init(
    _ head: ResponseHead, body: [UInt8], to items: [DRMItem], from address: WebAddress, at deviceTime: Double,
    keys: SecurityKeys
  ) throws(KollusError) {
    let reading = Reading(address: address, clue: Reading.clue(head, body))
    guard let token = reading.trimmed(body) else {
      throw reading.failure(KollusCode.answerEmpty, "is empty")
    }
    let key = try keys.key(reading.customKey(in: head))
    let entries = try reading.entries(of: token, key: key, asked: items.count)
    results = reading.results(for: items, among: entries)
    date = head["date"].flatMap(HTTPDate.seconds)
    self.deviceTime = deviceTime
    isTrusted = address.scheme == "https" || address.isLoopback
  }
}

extension DRMReply {
  /// Whether the server has answered the first of several items and no other.
  var answersFirstOnly: Bool {
    guard results.count > 2, case .success = results.first else { return false }
    return results.dropFirst().allSatisfy { result in
      if case .failure(let error) = result { error.code == KollusCode.answerMissing } else { false }
    }
  }
}

/// The steps from a body to answers.
private struct Reading {
  let address: WebAddress
  /// What the answer rather seems to be.
  let clue: String?

  /// What people who run a server would not guess from a token that cannot be read.
  static func clue(_ head: ResponseHead, _ body: [UInt8]) -> String? {
    if let encoding = head["content-encoding"], encoding.lowercased() != "identity" {
      return "is compressed, which was not asked for"
    }
    let start = body.first { $0 > 0x20 }
    return start == UInt8(ascii: "<") ? "is a web page" : nil
  }

  func failure(_ code: Int, _ reason: String) -> KollusError {
    KollusError(
      .badData, code: code, "the answer of \(address.display) \(reason)",
      hint: "tell the people who run the callback server")
  }

  /// The body without white space at its ends, or `nil` when nothing is left.
  func trimmed(_ body: [UInt8]) -> String? {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    let start = body.drop(while: isSpace)
    guard let end = start.lastIndex(where: { !isSpace($0) }) else { return nil }
    return String(decoding: start[...end], as: UTF8.self)
  }

  func customKey(in head: ResponseHead) throws(KollusError) -> String {
    let values = head.headers.filter { $0.name == "x-kollus-userkey" }.map(\.value)
    guard let value = values.first, !value.isEmpty else {
      throw failure(KollusCode.answerUntrusted, "cannot be checked: its X-Kollus-UserKey header is missing")
    }
    guard values.allSatisfy(value.isExactly) else {
      throw failure(
        KollusCode.answerUntrusted, "cannot be checked: it has two different X-Kollus-UserKey headers")
    }
    return value
  }

  /// The entries of a token that is signed with `key`, no more than an honest answer to `count` items has.
  func entries(of token: String, key: SymmetricKey, asked count: Int) throws(KollusError) -> [JSON] {
    let payload: JSON
    do throws(JSONWebToken.Failure) {
      payload = try JSONWebToken(verifying: token, key: key).payload
    } catch {
      throw failure(error)
    }
    do {
      switch try payload.member("data") {
      case .some(let data) where data.kind == .array:
        guard data.count <= 10 * count + 100 else {
          throw data.failure("far more entries than were asked for")
        }
        return Array(data.elements)
      case .some(let data) where data.kind == .object && count == 1: return [data]
      case .some(let data): throw data.failure("expected an array")
      case nil: throw JSONError(path: "data", reason: "missing")
      }
    } catch {
      throw failure(KollusCode.answerUnreadable, "is not right: \(error)")
    }
  }

  private func failure(_ failure: JSONWebToken.Failure) -> KollusError {
    switch failure {
    case .malformed(let reason):
      self.failure(KollusCode.answerUntrusted, clue ?? "is no signed token: \(reason)")
    case .algorithm(let name):
      self.failure(KollusCode.answerUntrusted, "is signed with the algorithm '\(name)', not HS256")
    case .signature:
      self.failure(
        KollusCode.answerUntrusted, "is not signed with the security key of its X-Kollus-UserKey header"
      )
    case .payload(let reason):
      self.failure(KollusCode.answerUnreadable, "is not right: \(reason)")
    }
  }

  /// One result for each item, by kind and media content key; entries for others are not looked at.
  func results(for items: [DRMItem], among entries: [JSON]) -> [Result<DRMAnswer, KollusError>] {
    let places = Dictionary(grouping: items.indices) { ExactText(items[$0].mediaContentKey) }
    var found = [Result<DRMAnswer, JSONError>?](repeating: nil, count: items.count)
    for entry in entries {
      for place in Self.keys(of: entry).flatMap({ places[ExactText($0)] ?? [] }) {
        // One fault is enough, and nothing mends it.
        if case .failure = found[place] { continue }
        do throws(JSONError) {
          guard try isFor(items[place].kind, entry) else { continue }
          guard found[place] == nil else { throw entry.failure("a second entry for this content") }
          found[place] = .success(try DRMAnswer(entry, kind: items[place].kind))
        } catch {
          found[place] = .failure(error)
        }
      }
    }
    return zip(items, found).map { item, found in
      guard let found else {
        return .failure(
          failure(KollusCode.answerMissing, "has no entry for this content").of(item.mediaContentKey))
      }
      return found.mapError { error in
        failure(KollusCode.answerInvalid, "is not right: \(error)").of(item.mediaContentKey)
      }
    }
  }

  /// The content an entry is about; all of them when it names several, which is none's answer.
  private static func keys(of entry: JSON) -> [String] {
    do throws(JSONError) {
      return try entry.member("media_content_key")?.string.map { [$0] } ?? []
    } catch {
      return entry.members.filter { $0.name.isExactly("media_content_key") }.compactMap(\.value.string)
    }
  }

  private func isFor(_ kind: DRMItem.Kind, _ entry: JSON) throws(JSONError) -> Bool {
    guard let given = try entry.member("kind"), given.kind == .integer else {
      throw entry.failure("kind is no integer")
    }
    return given.integer == kind.rawValue
  }
}
