import JSONKit

/// What a policy does to a whole response, its answers aside.
struct ResponseControls: Sendable {
  enum Signature: String, CaseIterable, Sendable {
    case good = "HS256"
    /// A token that says `alg` none and has an empty signature.
    case none
    case wrongKey
  }

  /// What the header that names the custom key says.
  enum UserKey: Sendable {
    case named(String)
    case missing
  }

  private(set) var delay: Span?
  private(set) var isDropped: Bool?
  private(set) var status: Int?
  private(set) var retryAfter: String?
  private(set) var location: String?
  /// How far the `Date` header is off.
  private(set) var date: Span?
  private(set) var userKey: UserKey?
  private(set) var signature: Signature?
  /// What is signed in place of the answers.
  private(set) var payload: String?
  /// Whether `data` is the first answer itself, not an array.
  private(set) var isBare: Bool?
  /// What is sent in place of a token.
  private(set) var body: String?
  private(set) var contentType: String?
  /// Bytes that the body is filled up to.
  private(set) var size: Int?
  /// Bytes of the body after which the connection breaks.
  private(set) var cut: Int?
  /// How long the body stands still at its half.
  private(set) var stall: Span?
  /// The members that were given, for the log.
  private(set) var names: [String] = []

  static let allNames = [
    "@delay", "@drop", "@status", "@retryAfter", "@location", "@date", "@customKey", "@sign", "@payload",
    "@bare", "@body", "@contentType", "@size", "@cut", "@stall",
  ]

  /// Those that make sense for a signed answer only.
  static let tokenNames: Set<String> = ["@customKey", "@sign", "@payload", "@bare"]

  /// Reads a member; false for one that is no control of a response.
  mutating func take(_ name: String, _ value: JSON) throws(JSONError) -> Bool {
    switch name {
    case "@delay": delay = try value.span()
    case "@drop": isDropped = try value.flag()
    case "@status": status = try value.count(in: 200...599)
    case "@retryAfter": retryAfter = try value.headerText()
    case "@location": location = try value.headerText()
    case "@date": date = try value.span(signed: true)
    case "@customKey": userKey = value.isNull ? .missing : .named(try value.headerText())
    case "@sign": signature = try value.choice()
    case "@payload": payload = try value.text()
    case "@bare": isBare = try value.flag()
    case "@body": body = try value.text()
    case "@contentType": contentType = try value.headerText()
    case "@size": size = try value.byteCount()
    case "@cut": cut = try value.byteCount()
    case "@stall": stall = try value.span()
    default: return false
    }
    names.append(name)
    return true
  }

  /// Takes from another what this does not say.
  mutating func fill(from other: ResponseControls) {
    guard !other.names.isEmpty else { return }
    delay = delay ?? other.delay
    isDropped = isDropped ?? other.isDropped
    status = status ?? other.status
    retryAfter = retryAfter ?? other.retryAfter
    location = location ?? other.location
    date = date ?? other.date
    userKey = userKey ?? other.userKey
    signature = signature ?? other.signature
    payload = payload ?? other.payload
    isBare = isBare ?? other.isBare
    body = body ?? other.body
    contentType = contentType ?? other.contentType
    size = size ?? other.size
    cut = cut ?? other.cut
    stall = stall ?? other.stall
    names += other.names.filter { !names.contains($0) }
  }

  /// The status of the response, unless it is dropped.
  var statusSent: Int { status ?? (location == nil ? 200 : 302) }

  /// Whether the answers reach the client, well signed or not.
  var sendsAnswers: Bool { isDropped != true && body == nil && payload == nil }
}
