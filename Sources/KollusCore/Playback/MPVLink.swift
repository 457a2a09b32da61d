import JSONKit

/// mpv's JSON IPC: commands become lines, and lines become events.
///
/// It does no I/O.
struct MPVLink: Sendable {
  /// What one line of mpv's means.
  enum Message: Sendable, Equatable {
    case event(PlayerEvent)
    /// Something mpv complains about.
    case complaint(String)
    /// Nothing of use.
    case none
  }

  /// A word of a command.
  enum Word: Sendable, ExpressibleByStringLiteral, ExpressibleByFloatLiteral {
    case text(String)
    case number(Double)
    case flag(Bool)
    case integer(Int)

    init(stringLiteral value: String) { self = .text(value) }
    init(floatLiteral value: Double) { self = .number(value) }
  }

  /// What is followed; the newest value of each is told, not every one.
  static let properties = ["time-pos", "duration", "speed", "pause", "core-idle", "paused-for-cache"]

  /// The file we load, the first of this mpv.
  private static let ourEntry: Int64 = 1
  private var requests: [Int64: String] = [:]
  private var lastRequest: Int64 = 0

  /// The line for a command.
  mutating func line(_ words: Word...) -> String {
    lastRequest += 1
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("command")
    writer.beginArray()
    for word in words {
      switch word {
      case .text(let text): writer.value(text)
      case .number(let number): writer.value(number)
      case .flag(let flag): writer.value(flag)
      case .integer(let integer): writer.value(integer)
      }
    }
    writer.endArray()
    writer.member("request_id", lastRequest)
    writer.endObject()
    if case .text(let name) = words.first { requests[lastRequest] = name }
    return writer.text + "\n"
  }

  /// Everything that has to be said before and for playing, the file itself last.
  mutating func opening(_ playback: Playback) -> [String] {
    var lines = [line("request_log_messages", "error")]
    for (index, name) in Self.properties.enumerated() {
      lines.append(line("observe_property", .integer(index + 1), .text(name)))
    }
    if !playback.title.isEmpty { lines.append(set("force-media-title", .text(playback.title))) }
    if playback.start > 0 { lines.append(set("start", .text(Self.seconds(playback.start)))) }
    if let section = playback.policy.section {
      lines.append(set("end", .text(Self.seconds(section.upperBound))))
    }
    let speed = playback.policy.correction(ofSpeed: playback.speed) ?? playback.speed
    if speed != 1 { lines.append(set("speed", .number(speed))) }
    lines.append(line("loadfile", .text(playback.url)))
    return lines
  }

  mutating func set(_ property: String, _ value: Word) -> String {
    line("set_property", .text(property), value)
  }

  mutating func seek(to position: Double) -> String {
    line("seek", .number(max(0, position)), "absolute+exact")
  }

  /// Reads one line; one that cannot be understood says nothing.
  mutating func read(_ line: some Collection<UInt8>) -> Message {
    // What mpv adds in later versions, or a line that is no JSON, must not end a session.
    guard let json = try? JSON(parsing: Array(line), limits: JSON.Limits(bytes: 64 << 10)),
      let message = try? read(json)
    else { return .none }
    return message
  }

  private mutating func read(_ json: JSON) throws(JSONError) -> Message {
    guard let event = try json.string("event") else { return try reply(json) }
    switch event {
    case "property-change": return try property(json)
    case "start-file": return .event(.opening(isOurs: try isOurs(json)))
    case "file-loaded": return .event(.loaded)
    case "seek": return .event(.seeking)
    case "playback-restart": return .event(.settled)
    case "end-file": return try isOurs(json) ? .event(.ended(try end(json))) : .none
    case "log-message": return try json.string("text").map(Message.complaint) ?? .none
    default: return .none
    }
  }

  private mutating func reply(_ json: JSON) throws(JSONError) -> Message {
    guard let id = try json.integer("request_id"), let name = requests.removeValue(forKey: id),
      let error = try json.string("error"), error != "success"
    else { return .none }
    return name == "loadfile" ? .event(.ended(.error(error))) : .complaint("\(name): \(error)")
  }

  private func property(_ json: JSON) throws(JSONError) -> Message {
    switch try json.string("name") {
    case "time-pos": .event(.position(try json.number("data")))
    case "duration": .event(.duration(try json.number("data")))
    case "speed": try json.number("data").map { .event(.speed($0)) } ?? .none
    case "pause": try json.bool("data").map { .event(.pause($0)) } ?? .none
    case "core-idle": try json.bool("data").map { .event(.idle($0)) } ?? .none
    case "paused-for-cache": try json.bool("data").map { .event(.buffering($0)) } ?? .none
    default: .none
    }
  }

  private func end(_ json: JSON) throws(JSONError) -> PlayerEvent.End {
    switch try json.string("reason") {
    case "eof": .eof
    case "quit": .quit
    case "error": .error(try json.string("file_error") ?? "unknown error")
    default: .stop
    }
  }

  private func isOurs(_ json: JSON) throws(JSONError) -> Bool {
    try json.integer("playlist_entry_id") ?? Self.ourEntry == Self.ourEntry
  }

  /// Milliseconds at most, and never an exponent, which mpv does not read in times.
  private static func seconds(_ value: Double) -> String {
    let milliseconds = Int64(min(max(value, 0), 1e9) * 1_000)
    let fraction = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}
