import JSONKit
import Testing

@testable import KollusCore

@Suite struct DRMAnswerTests {
  /// A number or flag of an entry, and how an answer shows it.
  struct Member: Sendable, CustomTestStringConvertible {
    let name: String
    let kinds: [DRMItem.Kind]
    let valid: [Int64]
    /// Beyond what is wrong for every member.
    var invalid: [String] = []
    /// What stands for an absent member.
    var absent: Int64?
    let read: @Sendable (DRMAnswer) -> Int64?
    var testDescription: String { name }
  }

  static let members: [Member] = [
    Member(
      name: "result", kinds: [.download, .complete, .play], valid: [0, 1], invalid: ["2"], absent: 0,
      read: { $0.isAllowed ? 1 : 0 }),
    Member(
      name: "expiration_date", kinds: [.download, .play], valid: [0, 1, 1_861_919_999, 1_893_455_999],
      invalid: ["1893456000"], read: { number($0.expirationDate) }),
    Member(
      name: "expiration_count", kinds: [.download, .play], valid: [0, 1, 20, 1_000], invalid: ["1001"],
      read: { number($0.expirationCount) }),
    Member(
      name: "expiration_playtime", kinds: [.download, .play], valid: [0, 60, 7_200, 604_800],
      invalid: ["1", "59", "604801"], read: { number($0.expirationPlayTime) }),
    Member(
      name: "check_expiration_date", kinds: [.complete, .play], valid: [0, 1, 1_768_435_200, 1_893_455_999],
      invalid: ["1893456000"], read: { number($0.checkExpirationDate) }),
    Member(
      name: "expiration_playtime_type", kinds: [.download, .play], valid: [0, 1], invalid: ["2"],
      read: { $0.playTimeType?.rawValue }),
    Member(
      name: "expiration_refresh_popup", kinds: [.download, .play], valid: [0, 1], invalid: ["2"],
      read: { number($0.asksBeforeRenewal) }),
    Member(
      name: "vmcheck", kinds: [.download, .play], valid: [0, 1], invalid: ["2"],
      read: { number($0.vmCheck) }),
    Member(
      name: "check_abuse", kinds: [.download, .play], valid: [0, 1], invalid: ["2"],
      read: { number($0.checkAbuse) }),
    Member(
      name: "content_delete", kinds: [.complete, .play], valid: [0, 1], invalid: ["2"], absent: 0,
      read: { number($0.isDelete) }),
    Member(
      name: "content_expired", kinds: [.play], valid: [0, 1], invalid: ["2"], absent: 0,
      read: { number($0.isExpired) }),
    Member(
      name: "content_expire_reset", kinds: [.play], valid: [0, 1], invalid: ["2"], absent: 0,
      read: { number($0.isReset) }),
  ]

  static let wrong = [
    "-1", "\"1\"", "\"\"", "1.0", "0.0", "1e3", "0e0", "true", "false", "null", "[]", "{}", "[1]",
    "9223372036854775808", "-9223372036854775809", "18446744073709551617",
  ]

  static let kinds: [DRMItem.Kind] = [.download, .complete, .play]

  private static func number(_ limit: Limit?) -> Int64? {
    switch limit {
    case .unlimited: 0
    case .value(let value): value
    case Limit.none?: -1
    case nil: nil
    }
  }

  private static func number(_ flag: Bool?) -> Int64? { flag.map { $0 ? 1 : 0 } }

  private func read(_ members: String, _ kind: DRMItem.Kind = .play) throws -> DRMAnswer {
    let text = #"{"kind":\#(kind.rawValue),"media_content_key":"AbCd1234",\#(members)}"#
    return try DRMAnswer(JSON(parsing: text), kind: kind)
  }

  private func read(_ member: Member, _ token: String?, _ kind: DRMItem.Kind) throws -> DRMAnswer {
    let result = member.name == "result" ? nil : #""result":1"#
    let given = token.map { "\"\(member.name)\":\($0)" }
    return try read([#""start_at":null"#, result, given].compactMap { $0 }.joined(separator: ","), kind)
  }

  @Test(arguments: members, kinds)
  func `a number is an integer token in range, or an error`(_ member: Member, _ kind: DRMItem.Kind) throws {
    for token in member.valid {
      let isRead = member.kinds.contains(kind)
      let expected = isRead ? token : member.absent
      #expect(try member.read(read(member, "\(token)", kind)) == expected, "\(token)")
    }
    #expect(try member.read(read(member, nil, kind)) == member.absent)
    for token in Self.wrong + member.invalid {
      guard member.kinds.contains(kind) else {
        #expect(try member.read(read(member, token, kind)) == member.absent, "\(token) is another kind's")
        continue
      }
      let error = #expect(throws: JSONError.self, "\(token)") { try read(member, token, kind) }
      #expect(error?.path == member.name)
    }
    guard member.kinds.contains(kind) else { return }
    let error = #expect(throws: JSONError.self) { try read(member, "1,\"\(member.name)\":1", kind) }
    #expect(error?.path == member.name && error?.reason == "appears twice")
  }

  /// Servers leave out what is 0.
  @Test(arguments: kinds) func `an absent result is a refusal, a deletion is one with or without`(
    _ kind: DRMItem.Kind
  ) throws {
    for members in [#""message":"x""#, #""content_delete":0"#, #""expiration_count":5"#] {
      let answer = try read(members, kind)
      #expect(!answer.isAllowed && !answer.isDelete, "\(members)")
    }
    let answer = try read("\"content_delete\":1", kind)
    #expect(answer.isDelete == (kind != .download) && !answer.isAllowed)
    guard kind != .download else { return }
    #expect(try read("\"content_delete\":1,\"result\":1", kind).isDelete)
    #expect(try read("\"content_delete\":1,\"result\":0", kind).isDelete)
    let error = #expect(throws: JSONError.self) { try read("\"content_delete\":1,\"result\":2", kind) }
    #expect(error?.path == "result")
  }

  @Test(arguments: ["message", "session_key"]) func `a text may be null, but nothing else`(_ name: String)
    throws
  {
    func text(_ token: String) throws -> String? {
      let answer = try read("\"result\":1,\"\(name)\":\(token)")
      return name == "message" ? answer.message : answer.sessionKey
    }
    #expect(try text("null") == nil)
    #expect(try text("\"s-000041\"") == "s-000041")
    #expect(try text("\"\"") == (name == "message" ? nil : ""))
    for token in ["1", "1.5", "true", "[]", "{}", "null,\"\(name)\":null"] {
      let error = #expect(throws: JSONError.self, "\(token)") { try text(token) }
      #expect(error?.path == name)
    }
  }

  @Test func `a session key is of kind 3 only`() throws {
    #expect(try read("\"result\":1,\"session_key\":1", .download).sessionKey == nil)
    #expect(try read("\"result\":1,\"session_key\":\"a\"", .complete).sessionKey == nil)
  }

  @Test(arguments: ["a", "한", "👩‍👩‍👧‍👦", "e\u{301}"]) func `a message is cut after 2,000 scalars`(_ unit: String)
    throws
  {
    let long = String(repeating: unit, count: 2_001)
    let message = try #require(try read("\"result\":0,\"message\":\(long.jsonQuoted)").message)
    #expect(message.unicodeScalars.count == 2_000)
    #expect(long.unicodeScalars.starts(with: message.unicodeScalars))
    let short = String(repeating: "한", count: 2_000)
    #expect(try read("\"result\":0,\"message\":\"\(short)\"").message == short)
  }

  @Test(arguments: [
    (#"a\nb\r\n\r\nc\u2028d"#, "a b c d"), (#"\na\n"#, "a"), (#"\r\n"#, nil), ("", nil),
    (" ", nil), (#" \t\u00a0\u3000\u2003 "#, nil), (#" \n \r\n "#, nil), (" a ", " a "),
  ]) func `a message is one line`(_ text: String, _ line: String?) throws {
    #expect(try read("\"result\":0,\"message\":\"\(text)\"").message == line)
  }

  @Test(arguments: [
    ("{}", 0, false), (#"{"download":1}"#, 1, false), (#"{"download":2,"readonly":1}"#, 2, true),
    (#"{"readonly":0,"more":[]}"#, 0, false),
  ]) func `an offline bookmark has defaults`(_ token: String, _ download: Int64, _ isReadOnly: Bool) throws {
    let expected = OfflineBookmark(download: download, isReadOnly: isReadOnly)
    for kind in [DRMItem.Kind.download, .play] {
      #expect(try read("\"result\":1,\"offline_bookmark\":\(token)", kind).offlineBookmark == expected)
    }
    #expect(try read("\"result\":1,\"offline_bookmark\":\(token)", .complete).offlineBookmark == nil)
    #expect(try read("\"result\":1").offlineBookmark == nil)
  }

  @Test(arguments: [
    ("null", ""), ("1", ""), ("[]", ""), ("\"\"", ""), ("true", ""), (#"{"download":3}"#, ".download"),
    (#"{"download":-1}"#, ".download"), (#"{"download":null}"#, ".download"),
    (#"{"download":"1"}"#, ".download"), (#"{"download":1.0}"#, ".download"),
    (#"{"readonly":2}"#, ".readonly"), (#"{"readonly":true}"#, ".readonly"),
    (#"{"readonly":0,"readonly":0}"#, ".readonly"),
  ]) func `a wrong offline bookmark is named`(_ token: String, _ path: String) {
    let error = #expect(throws: JSONError.self) { try read("\"result\":1,\"offline_bookmark\":\(token)") }
    #expect(error?.path == "offline_bookmark\(path)")
  }

  @Test(arguments: [
    "null", "1", "\"1767830400\"", "1.5", "[]", "1,\"start_at\":2",
  ]) func `the echoed start and unknown members are not looked at`(_ token: String) throws {
    #expect(try read("\"result\":1,\"start_at\":\(token)").isAllowed)
    #expect(try read("\"result\":1,\"unknown\":\(token),\"unknown\":\(token)").isAllowed)
  }

  @Test func `the entry's text is compact and safe to print`() throws {
    let answer = try read(
      "\n \"result\" : 1 ,\r\n\t\"message\":\"\u{202E}\u{9B}a\\u001b\\n한\", \"x\": [ 1.50 , {\"y\": null}, true ], \"x\":-0"
    )
    #expect(
      answer.text == #"{"kind":3,"media_content_key":"AbCd1234","result":1,"#
        + #""message":"\u202e\u009ba\u001b\u000a한","x":[1.50,{"y":null},true],"x":-0}"#)
    #expect(answer.message == "\u{202E}\u{9B}a\u{1B} 한")
  }

  @Test(arguments: [#"{"result":1}"#, #"{"result":1,"media_content_key":7}"#, "[]", "1"])
  func `an entry names its content`(_ text: String) {
    #expect(throws: JSONError.self) { try DRMAnswer(JSON(parsing: text), kind: .play) }
  }
}
