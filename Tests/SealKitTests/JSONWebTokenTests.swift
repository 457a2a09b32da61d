import JSONKit
import SealKit
import Testing

struct JSONWebTokenTests {
  private let key = SymmetricKey(bytes: Array("demo-security-key".utf8))

  /// The play URL and the kind 1 answer of the protocol notes.
  static let vectors = [
    (
      #"{"cuid":"learner-17","expt":1900000000,"mc":[{"mckey":"AbCd1234"}]}"#,
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJjdWlkIjoibGVhcm5lci0xNyIsImV4cHQiOjE5MDAwMDAwMDAsIm1jIjp"
        + "beyJtY2tleSI6IkFiQ2QxMjM0In1dfQ.6IUsr1YwcmqHj4hReQrkvP1tIYJ0Y1i_2TqluV2-hdY"
    ),
    (
      #"{"data":[{"kind":1,"media_content_key":"AbCd1234","result":1,"expiration_date":1861919999,"#
        + #""expiration_count":20,"expiration_playtime":7200,"expiration_playtime_type":0,"#
        + #""expiration_refresh_popup":1,"check_abuse":0}]}"#,
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJkYXRhIjpbeyJraW5kIjoxLCJtZWRpYV9jb250ZW50X2tleSI6IkFiQ2Q"
        + "xMjM0IiwicmVzdWx0IjoxLCJleHBpcmF0aW9uX2RhdGUiOjE4NjE5MTk5OTksImV4cGlyYXRpb25fY291bnQiOjIwLCJleHB"
        + "pcmF0aW9uX3BsYXl0aW1lIjo3MjAwLCJleHBpcmF0aW9uX3BsYXl0aW1lX3R5cGUiOjAsImV4cGlyYXRpb25fcmVmcmVzaF9"
        + "wb3B1cCI6MSwiY2hlY2tfYWJ1c2UiOjB9XX0.8XxS9cqyV6xDv2uCeiQJXQrY_2arorwixzYI7NTpSok"
    ),
  ]

  @Test(arguments: vectors)
  func `the signed vectors are made and accepted`(payload: String, token: String) throws {
    #expect(JSONWebToken.signed(payload: payload, key: key) == token)
    #expect(try JSONWebToken(verifying: token, key: key).payload.rawText == payload)
    #expect(try JSONWebToken(unverified: token[...]).payload.rawText == payload)
  }

  @Test(arguments: vectors)
  func `no character of a token may change`(payload: String, token: String) throws {
    let bytes = Array(token.utf8)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(throws: JSONWebToken.Failure.self, "changed at \(index)") {
        try JSONWebToken(verifying: String(decoding: changed, as: UTF8.self), key: key)
      }
    }
    #expect(throws: JSONWebToken.Failure.signature) {
      try JSONWebToken(verifying: token, key: SymmetricKey(bytes: Array("demo-security-kez".utf8)))
    }
  }

  @Test(arguments: [
    #"{"alg":"HS256","typ":"JWT"}"#, #"{"typ":"JWT","alg":"HS256"}"#, #"{"alg":"HS256"}"#,
    #"{ "typ" : "jwt", "alg" : "HS256" , "kid":"1" }"#, #"{"alg":"HS256","typ":null}"#,
  ])
  func `headers of every order and both alphabets are accepted`(header: String) throws {
    let payload = #"{"a":"???>>>~~~ÿÿÿ"}"#
    #expect(Base64.encode(payload.utf8) != Base64.encodeURL(payload.utf8))
    for encode in [Base64.encode, Base64.encodeURL] as [([UInt8]) -> String] {
      let signed = "\(encode(Array(header.utf8))).\(encode(Array(payload.utf8)))"
      let token = "\(signed).\(encode(HMAC.sha256(Array(signed.utf8), key: key).bytes))"
      #expect(try JSONWebToken(verifying: token, key: key).payload.rawText == payload)
    }
  }

  @Test(arguments: [
    (#"{"alg":"none"}"#, "none"), (#"{"alg":"None","typ":"JWT"}"#, "None"), (#"{"alg":"hs256"}"#, "hs256"),
    (#"{"alg":"HS256 "}"#, "HS256 "), (#"{"alg":"HS512"}"#, "HS512"), (#"{"alg":"RS256"}"#, "RS256"),
    (#"{"alg":""}"#, ""), (#"{"alg":"\u001b[2J"}"#, #"\u001b[2J"#),
    (#"{"alg":"abcdefghijklmnopqrstuvwxyz0123456789"}"#, "abcdefghijklmnopqrstuvwxyz012345"),
  ])
  func `another algorithm is refused even when well signed`(header: String, algorithm: String) {
    let signed = "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL("{}".utf8))"
    let signature = Base64.encodeURL(HMAC.sha256(Array(signed.utf8), key: key).bytes)
    #expect(throws: JSONWebToken.Failure.algorithm(algorithm)) {
      try JSONWebToken(verifying: "\(signed).\(signature)", key: key)
    }
    #expect(throws: JSONWebToken.Failure.algorithm(algorithm)) {
      try JSONWebToken(unverified: "\(signed).\(signature)")
    }
  }

  @Test(arguments: [
    (#"{"alg":"HS256","typ":"JOSE"}"#, "{}"), (#"{"alg":"HS256","typ":1}"#, "{}"), (#"{"typ":"JWT"}"#, "{}"),
    (#"{"alg":null}"#, "{}"), (#"{"alg":["HS256"]}"#, "{}"), (#"{"alg":"none","alg":"HS256"}"#, "{}"),
    (#"{"alg":"HS256","crit":["b64"],"b64":false}"#, "{}"), ("[]", "{}"), ("1", "{}"), ("{", "{}"),
  ])
  func `a well signed token with an unfit header is malformed`(header: String, payload: String) {
    let signed = "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL(payload.utf8))"
    let token = "\(signed).\(Base64.encodeURL(HMAC.sha256(Array(signed.utf8), key: key).bytes))"
    for read in [
      { _ = try JSONWebToken(verifying: token, key: key) }, { _ = try JSONWebToken(unverified: token) },
    ] {
      let failure = #expect(throws: JSONWebToken.Failure.self) { try read() }
      guard case .malformed = failure else {
        Issue.record("\(String(describing: failure))")
        continue
      }
    }
  }

  @Test(arguments: ["[]", "1", "\"a\"", "null", "{\"secret\":", "{}{}", "{'a':1}", "\u{FEFF}{}"])
  func `claims that are no JSON object are told apart once the signature is right`(payload: String) {
    let token = JSONWebToken.signed(payload: payload, key: key)
    for read in [
      { _ = try JSONWebToken(verifying: token, key: key) }, { _ = try JSONWebToken(unverified: token) },
    ] {
      let failure = #expect(throws: JSONWebToken.Failure.self) { try read() }
      guard case .payload(let reason) = failure else {
        Issue.record("\(String(describing: failure))")
        continue
      }
      #expect(!reason.contains("secret"))
    }
    let other = SymmetricKey(bytes: [1])
    #expect(throws: JSONWebToken.Failure.signature) { try JSONWebToken(verifying: token, key: other) }
  }

  @Test func `a token without a signature says so, unless its algorithm tells more`() {
    func token(_ header: String) -> String {
      "\(Base64.encodeURL(header.utf8)).\(Base64.encodeURL("{}".utf8))."
    }
    for (header, failure) in [
      (#"{"alg":"HS256"}"#, .malformed("it is not signed")), (#"{"alg":"none"}"#, .algorithm("none")),
      (#"{"alg":"RS256"}"#, .algorithm("RS256")),
    ] as [(String, JSONWebToken.Failure)] {
      #expect(throws: failure) { try JSONWebToken(verifying: token(header), key: key) }
      #expect(throws: failure) { try JSONWebToken(unverified: token(header)) }
    }
  }

  @Test func `a token has three parts that are not empty`() {
    let token = Self.vectors[0].1
    let parts = token.split(separator: ".")
    let texts = [
      "", ".", "..", "...", "a", "a.b", "a.b.c.d", ".\(token)", "\(token).", "\(token).x", " \(token)",
      "\(token) ",
      "\(token)\n", "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(parts[0])..\(parts[2])",
      ".\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1])..\(parts[2])", "\(token)==",
      token.replacing(".", with: ","), "!.\(parts[1]).\(parts[2])",
    ]
    for text in texts {
      let failure = #expect(throws: JSONWebToken.Failure.self, "\(text)") {
        try JSONWebToken(verifying: text, key: key)
      }
      guard case .malformed = failure ?? .signature else {
        Issue.record("\(text)")
        continue
      }
    }
  }
}
