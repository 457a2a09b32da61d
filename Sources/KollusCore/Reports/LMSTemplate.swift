package import CurlKit

/// Where reports go and what they say: one line of a channel's LMS callback (PROTO §3.1, §3.6).
///
/// The query part of its URL is what is posted as a form; placeholders in it and in the path are replaced by
/// percent-encoded values.
package struct LMSTemplate: Sendable, Equatable {
  /// Seconds between reports that a template may ask for.
  package static let periods = 1...86_400
  /// Seconds between reports where a template does not say.
  package static let defaultPeriod = 60
  /// How many templates a callback may have.
  static let countLimit = 16
  /// Longest template with its period, and longest URL of a report, in bytes.
  static let lineLimit = 8_192
  /// Longest form of a report, in bytes: twice what the largest report takes once.
  static let bodyLimit = 16 << 20

  /// Seconds between reports while playing.
  package let period: Int
  /// The template with its period and its absolute URL, which reads back as an equal one.
  package let text: String
  private let address: [Piece]
  private let form: [Piece]

  /// Reads the console's form, `60:https://host/path?json_data={JSON_DATA}&…`, one template a line.
  ///
  /// The seconds may be left out, the URL may be relative to `base`, blank lines do not count. Throws an
  /// error of the given kind that names the line.
  package static func read(
    _ text: String, relativeTo base: WebAddress? = nil, failingAs kind: KollusError.Kind = .badData
  ) throws(KollusError) -> [LMSTemplate] {
    var templates: [LMSTemplate] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let bytes = trimmed(line)
      guard !bytes.isEmpty else { continue }
      do throws(Unusable) {
        guard templates.count < countLimit else {
          throw Unusable(reason: "there are more than \(countLimit) templates")
        }
        templates.append(try LMSTemplate(bytes, relativeTo: base))
      } catch {
        throw KollusError(
          kind, "line \(index + 1) of the LMS callback is not usable: \(error.reason)",
          hint: "a line reads SECONDS:URL, such as 60:https://host/path?json_data={JSON_DATA}")
      }
    }
    return templates
  }

  private struct Unusable: Error { let reason: String }

  private init(_ line: ArraySlice<UInt8>, relativeTo base: WebAddress?) throws(Unusable) {
    guard !line.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      throw Unusable(reason: "it holds a space or a control character")
    }
    let (period, url) = try Self.period(of: line)
    let parts = url.prefix { $0 != UInt8(ascii: "#") }
      .split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = WebAddress(String(decoding: parts[0], as: UTF8.self), relativeTo: base) else {
      throw Unusable(reason: "it has no usable http or https URL")
    }
    let query = parts.count > 1 ? "?\(String(decoding: parts[1], as: UTF8.self))" : ""
    let text = "\(period):\(address.text)\(query)"
    guard text.utf8.count <= Self.lineLimit else {
      throw Unusable(reason: "it is longer than \(Self.lineLimit) bytes")
    }
    (self.period, self.text) = (period, text)
    self.address = Piece.read(Array(address.text.utf8))
    form = Piece.read(parts.count > 1 ? Array(parts[1]) : [])
  }

  /// The seconds in front of the first colon, when only digits stand there, and the rest.
  private static func period(of line: ArraySlice<UInt8>) throws(Unusable) -> (Int, ArraySlice<UInt8>) {
    let digits = line.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    let rest = line[digits.endIndex...]
    guard !digits.isEmpty, rest.first == UInt8(ascii: ":") else { return (defaultPeriod, line) }
    guard let period = Int(String(decoding: digits, as: UTF8.self)), periods.contains(period) else {
      throw Unusable(
        reason: "its seconds are not from \(periods.lowerBound) to \(periods.upperBound)")
    }
    return (period, rest.dropFirst())
  }

  private static func trimmed(_ line: Substring) -> ArraySlice<UInt8> {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    var bytes = Array(line.utf8).drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return bytes
  }
}

extension LMSTemplate {
  /// The URL without a query, and the form to post to it.
  ///
  /// A placeholder that is not known, or whose block or user value there is not, becomes empty. Throws an
  /// error of the kind `badData` when either comes out too long to send.
  package func expand(_ report: LMSReport) throws(KollusError) -> (url: String, body: String) {
    (
      try Self.expand(address, report, limit: Self.lineLimit),
      try Self.expand(form, report, limit: Self.bodyLimit)
    )
  }

  private static func expand(
    _ pieces: [Piece], _ report: LMSReport, limit: Int
  ) throws(KollusError) -> String {
    var bytes: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .literal(let literal): bytes += literal
      case .placeholder(let placeholder):
        bytes += WebAddress.encode(placeholder.value(in: report)).utf8
      }
      guard bytes.count <= limit else {
        throw KollusError(
          .badData, "a report by the LMS callback's template is longer than \(limit) bytes",
          hint: "tell the people who run the channel: its template asks for too much")
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A part of a template.
private enum Piece: Sendable, Equatable {
  /// Bytes sent as they are.
  case literal([UInt8])
  case placeholder(Placeholder)

  /// Finds each `{NAME}` in a part of a URL.
  ///
  /// Other braces are text, and what ASCII does not have is percent-encoded.
  static func read(_ bytes: [UInt8]) -> [Piece] {
    var (pieces, literal): ([Piece], [UInt8]) = ([], [])
    var rest = bytes[...]
    while let byte = rest.first {
      if byte == UInt8(ascii: "{"), let name = name(at: rest.startIndex, in: bytes) {
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        literal = []
        pieces.append(.placeholder(Placeholder(String(decoding: bytes[name], as: UTF8.self))))
        rest = bytes[(name.upperBound + 1)...]
      } else {
        literal += byte < 0x80 ? [byte] : WebAddress.encode([byte])
        rest = rest.dropFirst()
      }
    }
    return literal.isEmpty ? pieces : pieces + [.literal(literal)]
  }

  /// Where the name of a placeholder lies that begins at a brace: capitals, digits and `_`, a capital first.
  private static func name(at brace: Int, in bytes: [UInt8]) -> Range<Int>? {
    let name = bytes[(brace + 1)...].prefix { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard let first = name.first, UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first,
      name.endIndex < bytes.endIndex, bytes[name.endIndex] == UInt8(ascii: "}")
    else { return nil }
    return name.startIndex..<name.endIndex
  }
}

/// What a report puts into a template (PROTO §3.6).
private enum Placeholder: Sendable, Equatable {
  case named(Name)
  /// Blocks are counted from 1 here, unlike in the JSON.
  case blockPlay(Int), blockTime(Int)
  case userValue(Int)
  case unknown

  enum Name: String, Sendable {
    case clientUserID = "CLIENT_USER_ID"
    case startAt = "START_AT"
    case mediaContentKey = "MEDIA_CONTENT_KEY"
    case encodingProfile = "ENCODING_PROFILE_KEY"
    case duration = "DURATION"
    case playTime = "PLAY_TIME"
    case realPlayTime = "REAL_PLAYTIME"
    case playTimePercent = "PLAYTIME_PERCENT"
    case runTime = "RUN_TIME"
    case playStatus = "PLAY_STATUS"
    case device = "DEVICE"
    case blockCount = "BLOCK_CNT"
    case blockJSON = "PLAY_BLOCK_JSON"
    case json = "JSON_DATA"
  }

  init(_ name: String) {
    func number(after prefix: String) -> Int? {
      guard name.hasPrefix(prefix) else { return nil }
      // Read back, so that a number has one spelling only.
      return Int(name.dropFirst(prefix.count)).flatMap { "\(prefix)\($0)" == name ? $0 : nil }
    }
    if let name = Name(rawValue: name) {
      self = .named(name)
    } else if let number = number(after: "BLOCK_PLAY_") {
      self = .blockPlay(number)
    } else if let number = number(after: "BLOCK_TIME_") {
      self = .blockTime(number)
    } else if let number = number(after: "USERVALUE") {
      self = .userValue(number)
    } else {
      self = .unknown
    }
  }

  func value(in report: LMSReport) -> String {
    switch self {
    case .named(let name): name.value(in: report)
    case .blockPlay(let number): report.log.block(number - 1).map { $0.isPlayed ? "1" : "0" } ?? ""
    case .blockTime(let number):
      report.log.block(number - 1).map { String(LMSReport.whole($0.seconds)) } ?? ""
    case .userValue(let number): report.userValues[number] ?? ""
    // `{TIMEMAP_DATA}` among them: its form is not public (PROTO §3.6).
    case .unknown: ""
    }
  }
}

extension Placeholder.Name {
  fileprivate func value(in report: LMSReport) -> String {
    let (session, log) = (report.session, report.log)
    return switch self {
    case .clientUserID: session.clientUserID
    case .startAt: String(session.startAt)
    case .mediaContentKey: session.mediaContentKey
    case .encodingProfile: session.encodingProfile
    case .duration: String(LMSReport.whole(log.duration))
    case .playTime: String(LMSReport.whole(log.playTime))
    case .realPlayTime: String(LMSReport.whole(log.realPlayTime))
    case .playTimePercent: String(log.playTimePercent)
    case .runTime: String(LMSReport.whole(log.runTime))
    case .playStatus: report.status.rawValue
    case .device: session.device
    case .blockCount: String(log.blockCount)
    case .blockJSON: report.blockJSON
    case .json: report.json
    }
  }
}
