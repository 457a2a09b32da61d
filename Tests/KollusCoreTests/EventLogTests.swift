import Foundation
import JSONKit
import KollusTestSupport
import Testing

@testable import KollusCore

/// The durable log of what happened, by its files.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct EventLogTests {
  let home: Home
  private let path = TemporaryDirectory.path + "/home"

  init() throws { home = try Home(opening: path, machineID: "machine") }

  private func log(limit: Int64 = EventLog.fileLimit) -> EventLog {
    EventLog(home, limit: limit) { 1_700_000_000 }
  }

  private func note(_ message: String) -> Event { .note(.warning, mediaContentKey: "강의", message: message) }

  private func entries(after number: Int64 = 0) throws -> [EventLogReader.Entry] {
    var reader = EventLogReader(home: path, after: number)
    var entries: [EventLogReader.Entry] = []
    try reader.read { entries.append($0) }
    return entries
  }

  private func messages(_ entries: [EventLogReader.Entry]) throws -> [String] {
    try entries.map { try $0.json.string("message") ?? "" }
  }

  /// Appends bytes to the file as they are.
  private func scribble(_ bytes: [UInt8]) throws {
    let file = try #require(FileHandle(forWritingAtPath: "\(path)/events.jsonl"))
    try file.seekToEnd()
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  @Test func `nothing is made before the first event, nor by a reader`() throws {
    _ = log()
    #expect(try entries().isEmpty)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["device.key", "device.key.copy"])
    var reader = EventLogReader(home: path + "/absent")
    try reader.read { _ in Issue.record("there is none") }
  }

  @Test func `numbers grow past a log that was deleted, and a follower goes on`() throws {
    try log().append(note("before"))
    let last = try #require(try entries().last).sequence
    var reader = EventLogReader(home: path, after: last)
    try FileManager.default.removeItem(atPath: path + "/events.jsonl")
    try EventLog(home, now: { 1_790_000_000 }).append(note("after"))
    #expect(try messages(entries(after: last)) == ["after"])
    var heard: [Int64] = []
    try reader.read { heard.append($0.sequence) }
    #expect(heard.count == 1 && heard[0] > last)
  }

  @Test(arguments: [true, false]) func `numbers grow past a first line that is damaged or gone`(
    _ isGone: Bool
  ) throws {
    try log().append(note("before"))
    let last = try #require(try entries().last).sequence
    var bytes = try Data(contentsOf: URL(filePath: path + "/events.jsonl"))
    if isGone { bytes = Data() } else { bytes[20] ^= 1 }
    try bytes.write(to: URL(filePath: path + "/events.jsonl"))
    try EventLog(home, now: { 1_700_000_001 }).append(note("after"))
    #expect(try messages(entries(after: last)).last == "after")
  }

  @Test func `events have numbers that grow, from one writer to the next`() throws {
    for name in ["one", "two", "three"] { try log().append(note(name)) }
    let all = try entries()
    #expect(try messages(all) == ["one", "two", "three"])
    #expect(all.map(\.sequence) == all.map(\.sequence).sorted() && Set(all.map(\.sequence)).count == 3)
    for entry in all {
      #expect(try JSON(parsing: entry.line).integer("seq") == entry.sequence)
      #expect(entry.line.hasPrefix(#"{"v":1,"seq":"#))
    }
    #expect(try messages(entries(after: all[0].sequence)) == ["two", "three"])
    #expect(try messages(entries(after: all[0].sequence - 1)) == ["one", "two", "three"])
    #expect(try entries(after: all[2].sequence).isEmpty)
    #expect(try entries(after: .max - 1).isEmpty)
  }

  @Test func `progress, rehearsals and granted answers are not kept, forms are cut`() throws {
    let log = log()
    func progress(_ isDownloaded: Bool) -> ContentProgress {
      ContentProgress(
        mediaContentKey: "a", title: "t", isDownloaded: isDownloaded, downloadSize: 1, fileSize: 2)
    }
    let item = DRMItem(
      kind: .play, mediaContentKey: "a", clientUserID: "", playerID: "p", deviceName: "d", userValues: "{}",
      localTime: 1)
    let failure = KollusError(.tryLater, code: -1, "https://h/x?jwt=secret is down")
    try log.append(.downloadContent(progress(false), error: nil))
    try log.append(.drmRequest(item, json: "{}", error: nil))
    try log.append(.note(.planned, mediaContentKey: "a", message: "x"))
    #expect(try entries().isEmpty)
    try log.append(.downloadContent(progress(true), error: nil))
    try log.append(.downloadContent(progress(false), error: failure))
    try log.append(.drmRequest(item, json: nil, error: failure))
    try log.append(.drmUpdate(cur: 1, count: 2, mediaContentKey: "a", error: nil))
    let result = LMSResult(mediaContentKey: "a", status: 200, error: nil)
    try log.append(.lmsData(String(repeating: "각", count: 300), result))
    try log.append(.sendCompleteStoredLms(successCount: 1, failCount: 0))
    let kept = try entries()
    #expect(
      try kept.map { try $0.json.string("event") } == [
        "downloadContent", "downloadContent", "drmRequest", "drmUpdate", "lmsData", "sendCompleteStoredLms",
      ])
    #expect(try kept[4].json.string("lmsData") == String(repeating: "각", count: 256))
    #expect(!kept.contains { $0.line.contains("secret") })
  }

  @Test(
    arguments: [
      #"{"v":1,"seq":0,"at":"2026"#, "{", "\0\0\0\0", "x\n", "\n\n",
      #"{"v":1,"seq":0,"event":"note"}}"# + "\n",
      #"{"v":1,"seq":0,"at":1}"# + "\n", String(repeating: "y", count: 400_000),
    ])
  func `a torn or damaged line costs itself alone`(_ torn: String) throws {
    let before = log()
    try before.append(note("before"))
    try scribble(Array(torn.utf8))
    // One that was open all the time does not look back; one that begins heals.
    try before.append(note("joined"))
    try scribble(Array(torn.utf8))
    try log().append(note("after"))
    let kept = try entries()
    #expect(try messages(kept) == ["before", "joined", "after"])
    for entry in kept {
      #expect(try messages(entries(after: entry.sequence - 1)).first == entry.json.string("message"))
    }
  }

  @Test func `an unfinished line is waited for`() throws {
    try log().append(note("one"))
    var reader = EventLogReader(home: path)
    var seen: [String] = []
    func look() throws {
      try reader.read { seen.append((try? $0.json.string("message")).flatMap { $0 } ?? "") }
    }
    try look()
    let line = note("two").line(sequence: 0, at: 1) + "\n"
    try scribble(Array(line.utf8.prefix(40)))
    try look()
    #expect(seen == ["one"])
    try scribble(Array(line.utf8.dropFirst(40)))
    try look()
    #expect(seen == ["one", "two"])
  }

  @Test func `an event too long for a line is left out`() throws {
    try log().append(note(String(repeating: "x", count: 70_000)))
    try log().append(note("short"))
    #expect(try messages(entries()) == ["short"])
  }

  // MARK: Rotation

  private func fileSizes() throws -> [String: Int] {
    var sizes: [String: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasPrefix("events") {
      sizes[name] = try Data(contentsOf: URL(filePath: "\(path)/\(name)")).count
    }
    return sizes
  }

  @Test func `a follower loses nothing over many files, and numbers only grow`() throws {
    let log = log(limit: 4_096)
    var reader = EventLogReader(home: path)
    var seen: [EventLogReader.Entry] = []
    for number in 0..<500 {
      try log.append(note("\(number)"))
      if number.isMultiple(of: 7) { try reader.read { seen.append($0) } }
    }
    // A look in which a new file shows leaves it for the next.
    for _ in 0..<2 { try reader.read { seen.append($0) } }
    #expect(try messages(seen) == (0..<500).map { "\($0)" })
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
    let sizes = try fileSizes()
    #expect(Set(sizes.keys) == ["events.jsonl", "events.1.jsonl"])
    #expect(sizes.values.allSatisfy { $0 <= 4_096 })
    // Who comes late gets what is left, whole.
    let left = try messages(entries(after: 5))
    #expect(left == (500 - left.count..<500).map { "\($0)" } && left.count > 20)
  }

  @Test func `a line written late to a file put aside is read by a follower`() throws {
    let late = log(limit: 4_096)
    try late.append(note("first"))
    var reader = EventLogReader(home: path)
    var seen: [String] = []
    func look() throws {
      try reader.read { seen.append((try? $0.json.string("message")).flatMap { $0 } ?? "") }
    }
    try look()
    let file = try #require(FileHandle(forWritingAtPath: "\(path)/events.jsonl"))
    for number in 0..<20 { try log(limit: 2_048).append(note("\(number)")) }
    try look()
    try file.seekToEnd()
    try file.write(contentsOf: Data((note("late").line(sequence: 0, at: 1) + "\n").utf8))
    try look()
    #expect(seen.contains("late") && seen.last == "19" && seen.count == 22)
  }

  @Test func `several writers share files without a lost or torn line`() async throws {
    let (writers, each) = (8, 400)
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          let log = log(limit: 64 << 10)
          for number in 0..<each {
            #expect(throws: Never.self) { try log.append(note("\(writer) \(number)")) }
          }
        }
      }
    }
    let kept = try entries()
    let pairs = try messages(kept).map { $0.split(separator: " ").compactMap { Int($0) } }
    for writer in 0..<writers {
      let numbers = pairs.filter { $0[0] == writer }.map { $0[1] }
      #expect(numbers == numbers.first.map { Array($0...numbers.count + $0 - 1) } ?? [], "of \(writer)")
      #expect(numbers.isEmpty || numbers.last == each - 1)
    }
    #expect(Set(kept.map(\.sequence)).count == kept.count && kept.count > 300)
    #expect(try fileSizes().values.allSatisfy { $0 < 66 << 10 })
  }

  @Test(arguments: ["", "garbage", #"{"v":1,"log":"events","base":-5}"#])
  func `a first line that was damaged costs no event`(_ header: String) throws {
    let log = log(limit: 2_048)
    for number in 0..<20 { try log.append(note("\(number)")) }
    let file = "\(path)/events.jsonl"
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").dropFirst()
    let wanted = try messages(entries())
    try ([Substring(header)] + lines).joined(separator: "\n").appending("\n").write(
      toFile: file, atomically: true, encoding: .utf8)
    let kept = try entries()
    #expect(try messages(kept) == wanted)
    #expect(kept.map(\.sequence) == kept.map(\.sequence).sorted())
  }

  @Test func `a log that cannot be written costs one warning`() throws {
    try FileManager.default.createDirectory(atPath: "\(path)/events.jsonl", withIntermediateDirectories: true)
    let recorder = RecordingSink()
    let sink = LoggingSink(recorder, log())
    for _ in 0..<3 { sink.emit(.note(.removed, mediaContentKey: "a", message: "")) }
    #expect(recorder.notes == [.warning, .removed, .removed, .removed])
  }
}
