import Foundation
import Glibc
import JSONKit
import KollusTestSupport
import SystemKit
import Testing

@testable import KollusCore

/// An origin, a DRM callback, a receiver of reports and the built tool, for plays with a real mpv that runs headless.
struct PlayStage: Sendable {
  typealias Entry = DRMCallback.Entry

  static let mck = "AbCd1234"
  static let path = "/usr/bin:/bin:/usr/local/bin"
  static let hasMPV = has("mpv")
  /// A lecture of 24 seconds at 25 pictures a second.
  static let lecture = Result {
    Array(
      try Data(
        contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
          .appending(path: "Fixtures/lecture.mp4")))
  }

  let site: OriginSite
  let callback: DRMCallback
  let lms: ScriptedServer
  var tool: Tool
  let folder = TemporaryDirectory.path

  var mck: String { Self.mck }

  /// Whether a program is installed.
  static func has(_ program: String) -> Bool { place(of: program) != nil }

  static func place(of program: String) -> String? {
    path.split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
  }

  init(_ settings: [String: String] = [:]) throws {
    site = try OriginSite()
    callback = try DRMCallback()
    lms = try ScriptedServer { _ in Answer(200, text: "ok") }
    let own = try DRMCallback.settings().merging(["retries": "0"]) { $1 }
    tool = try Tool(origin: site.url, own.merging(settings) { $1 })
    try FileManager.default.createDirectory(atPath: "\(folder)/bin", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: "\(folder)/tmp", withIntermediateDirectories: true)
    // A second way to steer it, which is not the program's own.
    try script("bin/mpv", "exec \(Self.place(of: "mpv") ?? "mpv") --input-ipc-server='\(folder)/ipc' \"$@\"")
    tool.environment["PATH"] = "\(folder)/bin:\(Self.path)"
    tool.environment["TMPDIR"] = "\(folder)/tmp"
  }

  /// Writes a shell script and returns its path.
  @discardableResult
  func script(_ name: String, _ text: String) throws -> String {
    let path = "\(folder)/\(name)"
    try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return path
  }

  // MARK: Contents

  /// Publishes and downloads the content.
  func download(
    _ bytes: [UInt8]? = nil, duration: Int = 24, under entry: Entry? = nil, policy: String? = nil,
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    let bytes = try bytes ?? Self.lecture.get()
    var channel = ["\"channelKey\":\"chan77\",\"customKey\":\"demo\",\"blockCount\":\(max(duration, 1))"]
    channel.append("\"lmsCallback\":\"3600:\(lms.url)/lms?status={PLAY_STATUS}&json_data={JSON_DATA}\"")
    if let entry {
      channel.append("\"drmCallback\":\(callback.url.jsonQuoted)")
      answer(1, entry)
    }
    let content = OriginContent(mck, bytes: bytes).with { content in
      content.segmentSize = 1 << 16
      content.members["duration"] = .some(duration > 0 ? "\(duration).0" : nil)
      content.members["channel"] = .some("{\(channel.joined(separator: ","))}")
      content.members["policy"] = policy.map { .some($0) } ?? nil
    }
    try site.publish(content)
    (try await tool.run("download", mck)).expect(0, at: location)
  }

  /// Makes a small clip of so many seconds.
  func clip(_ seconds: Int) async throws -> [UInt8] {
    let path = "\(folder)/clip-\(seconds).mp4"
    let words = [
      "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
      "testsrc2=size=64x36:rate=10:duration=\(seconds)",
      "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", path,
    ]
    let ffmpeg = try ChildProcess(
      Self.place(of: "ffmpeg") ?? "ffmpeg", words, environment: ["PATH": Self.path])
    await ffmpeg.wait().expect(0)
    defer { try? FileManager.default.removeItem(atPath: path) }  // The folder goes later anyhow.
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  /// Answers one kind by a fixed entry, the others with a plain yes.
  func answer(_ kind: Int, _ entry: Entry) { callback.answer { $0.kind == kind ? entry : Entry() } }

  private func library() throws -> Library {
    try Library(Home(opening: tool.home, machineID: ProcessContext.machineID()))
  }

  /// Uses up play time as an earlier play would have.
  func charge(_ seconds: Int64, plays: Int64 = 0) async throws {
    let library = try library()
    let content = try #require(try await library.content(mck))
    let record = try await library.beginViewing(of: mck, by: "earlier", at: 1_000) { _ in ("", "") }
    let kept = try await library.save(
      record, of: content, position: 0, charge: PlayCharge(plays: plays, seconds: seconds), reports: [],
      isOver: true, at: 1_000)
    try library.home.keepGeneration(try #require(kept).generation, of: mck)
  }

  // MARK: Plays

  func play(_ words: String..., within limit: Duration = .seconds(40)) async throws -> Outcome {
    Outcome(try await tool.run(["play", mck, "--json"] + words, within: limit))
  }

  func start(_ words: String...) throws -> ChildProcess { try tool.start(["play", mck, "--json"] + words) }

  /// The other end of mpv, once it plays.
  func remote(at location: SourceLocation = #_sourceLocation) async throws -> MPVRemote {
    let path = "\(folder)/ipc"
    let remote = KollusTestSupport.Protected<MPVRemote?>(nil)
    let isThere = await eventually(within: .seconds(20)) {
      guard let found = MPVRemote(path) else { return false }
      remote.withLock { $0 = found }
      return true
    }
    #expect(isThere, "mpv does not come up", sourceLocation: location)
    return try #require(remote.withLock { $0 }, sourceLocation: location)
  }

  /// The process ids of this stage's mpv.
  var players: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { pid in
      commandLine(pid).contains("--input-ipc-server=\(folder)/ipc")
    }
  }

  func commandLine(_ pid: Int32) -> String {
    // A process that has ended has none.
    (try? Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline"))).map { String(decoding: $0, as: UTF8.self) }
      ?? ""
  }

  // MARK: What came of it

  func shown() async throws -> JSON {
    let run = try await tool.run("show", mck, "--json")
    run.expect(0)
    return try JSON(parsing: run.standardOutput)
  }

  /// Where it was left, media seconds.
  func position() async throws -> Double { try #require(try await shown().number("position")) }

  /// The code of the expiry that the stored licence keeps.
  func keptExpiry() async throws -> Int? {
    try await library().content(mck)?.licence?.licence.expired.map { Int($0.rawValue) }
  }

  /// Every report that arrived, in order.
  func reports() throws -> [Told] {
    try lms.exchanges.map { exchange in
      var fields: [String: String] = [:]
      for pair in String(decoding: exchange.request.body, as: UTF8.self).split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        fields[parts[0]] = parts.last?.replacing("+", with: " ").removingPercentEncoding
      }
      return Told(
        status: fields["status"] ?? "", json: try JSON(parsing: try #require(fields["json_data"])))
    }
  }
}

extension PlayStage {
  /// A report as the receiver got it.
  struct Told {
    let status: String
    let json: JSON

    /// A number of `content_info`, which is sent as text.
    func number(_ name: String) throws -> Int? {
      try json.object("content_info")?.string(name).flatMap { Int($0) }
    }

    /// The numbers of all blocks that were played.
    func playedBlocks() throws -> [Int] {
      let info = try #require(try json.object("block_info"))
      let blocks = try #require(try info.object("blocks"))
      return try (0..<Int(try info.integer("block_count") ?? 0)).filter { try blocks.integer("b\($0)") == 1 }
    }
  }

  /// How `play --json` ended.
  struct Outcome {
    let run: ChildProcess.Outcome

    init(_ run: ChildProcess.Outcome) { self.run = run }

    /// The document on standard output.
    func json() throws -> JSON { try JSON(parsing: run.standardOutput) }

    func number(_ name: String, at location: SourceLocation = #_sourceLocation) throws -> Double {
      try #require(try json().number(name), "\(run)", sourceLocation: location)
    }

    /// The code of the failure that standard error tells.
    var code: Int? {
      // No failure, or none that can be read, is no code; the test says what it wants.
      let failure = run.standardError.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
        .last
      return (try? failure?.object("error")?.integer("code")).flatMap { $0 }.map(Int.init)
    }

    /// Fails the test unless it ended so.
    @discardableResult
    func expect(_ status: Int, _ code: Int? = nil, at location: SourceLocation = #_sourceLocation) -> Self {
      run.expect(status, at: location)
      #expect(self.code == code, "\(run.standardError)", sourceLocation: location)
      return self
    }
  }
}

/// mpv's JSON IPC from outside: what a viewer does with its window.
final class MPVRemote: Sendable {
  private let socket: Int32
  private let number = KollusTestSupport.Protected<Int64>(0)

  /// `nil` while nobody listens there.
  init?(_ path: String) {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    _ = setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(100)) }
    let socket = socket
    let isOpen = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    // A failed initializer runs `deinit`, which closes the socket.
    guard isOpen else { return nil }
  }

  deinit { close(socket) }

  /// Sends a command, words as JSON texts, and returns what it answers; `nil` when mpv is gone or refuses.
  @discardableResult
  func command(_ words: String...) -> JSON? {
    let id = number.withLock { number in
      number += 1
      return number
    }
    let line = "{\"command\":[\(words.joined(separator: ","))],\"request_id\":\(id)}\n"
    guard send(socket, line, line.utf8.count, Int32(MSG_NOSIGNAL)) == line.utf8.count else { return nil }
    while let line = self.line() {
      // Events and answers to others come in between.
      guard let json = try? JSON(parsing: line), (try? json.integer("request_id")) == id else { continue }
      return (try? json.string("error")) == "success" ? json : nil
    }
    return nil
  }

  private func line() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while recv(socket, &byte, 1, 0) == 1 {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return nil
  }

  /// Media seconds, `nil` while there are none.
  var position: Double? {
    (try? command("\"get_property\"", "\"time-pos\"")?.number("data")).flatMap { $0 }
  }

  func set(_ property: String, _ value: String) { command("\"set_property\"", property.jsonQuoted, value) }

  func seek(to position: Double) { command("\"seek\"", "\(position)", "\"absolute+exact\"") }

  func quit() { command("\"quit\"") }

  func reach(_ position: Double) async -> Bool { await waits { ($0 ?? -1) >= position } }

  /// Pauses and tells where the picture stands.
  func pause() async -> Double {
    set("pause", "true")
    // The picture may move on by a frame.
    let last = KollusTestSupport.Protected(-1.0)
    _ = await waits { position in
      last.withLock { last in
        defer { last = position ?? -1 }
        return last == position
      }
    }
    return position ?? -1
  }

  /// Waits until the position is as wanted, on a thread of its own: mpv takes its time to answer.
  func waits(_ isWanted: @escaping @Sendable (Double?) -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        let deadline = ContinuousClock.now + .seconds(20)
        var isThere = isWanted(position)
        while !isThere, .now < deadline {
          usleep(5_000)
          isThere = isWanted(position)
        }
        continuation.resume(returning: isThere)
      }
    }
  }
}
