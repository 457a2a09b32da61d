import CurlKit
import SealKit

/// A strong validator: two answers with the same one show the same bytes (RFC 9110 §8.8).
enum Validator: Hashable, Sendable {
  case entityTag(String)
  case lastModified(String)

  private static let lengthLimit = 512

  /// The strong validator of an answer, or `nil` when it has none.
  ///
  /// A tag with bytes beyond ASCII is none: they do not survive as text, and two such tags could look alike.
  /// A modification date counts as strong once it lies a minute before the answer's own date.
  init?(_ head: ResponseHead) {
    if let tag = head["etag"], tag.hasPrefix("\""), tag.hasSuffix("\""),
      (2...Self.lengthLimit).contains(tag.utf8.count), tag.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    {
      self = .entityTag(tag)
    } else if head["etag"] == nil, let modified = head["last-modified"], modified.utf8.count <= 64,
      let changed = HTTPDate.seconds(modified), let date = head["date"].flatMap(HTTPDate.seconds),
      date - changed >= 60
    {
      self = .lastModified(modified)
    } else {
      return nil
    }
  }

  /// The value of an `If-Range` header.
  var text: String {
    switch self {
    case .entityTag(let text), .lastModified(let text): text
    }
  }

  /// Whether `head`, an answer to a request that named this validator, still shows the same object.
  ///
  /// A 206 to `If-Range` need not repeat the modification date.
  func agrees(with head: ResponseHead) -> Bool {
    switch self {
    case .entityTag(let tag): head["etag"].map { $0 == tag } ?? true
    case .lastModified(let date): head["last-modified"].map { $0 == date } ?? true
    }
  }
}

/// Which object the bytes of a segment came from: kept with each segment, so that a later run joins
/// only bytes of one object.
struct SegmentSource: Hashable, Sendable {
  /// 16 bytes that stand for scheme, host, port and path; the query may hold a token that changes.
  var place: [UInt8]
  var validator: Validator?

  init(_ address: WebAddress, validator: Validator?) {
    place = Self.place(of: address)
    self.validator = validator
  }

  static func place(of address: WebAddress) -> [UInt8] {
    Array(
      SHA256.hash(Array("\(address.scheme)://\(address.host):\(address.port)\(address.path)".utf8)).bytes
        .prefix(16))
  }

  var encoded: [UInt8] {
    switch validator {
    case nil: place + [0]
    case .entityTag(let text): place + [1] + text.utf8
    case .lastModified(let text): place + [2] + text.utf8
    }
  }

  init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count >= 17 else { return nil }
    place = Array(bytes.prefix(16))
    let text = String(decoding: bytes.dropFirst(17), as: UTF8.self)
    switch bytes.dropFirst(16).first {
    case 0: validator = nil
    case 1: validator = .entityTag(text)
    case 2: validator = .lastModified(text)
    default: return nil
    }
  }
}
