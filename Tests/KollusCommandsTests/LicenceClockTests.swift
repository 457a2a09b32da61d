import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// Clocks that are set back, forth and to other zones.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceClockTests {
  static let week = 7 * 86_400
  static let years = 5 * 366 * 86_400

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }

  /// Limits to which the clock matters, and such as do not care.
  static let dated = ["date", "check date"]
  static let undated = ["none", "plays", "play time"]

  private func download(_ limit: String) async throws {
    let later = LicenceStage.now + Self.years * 2
    bench.callback.answer { item in
      switch (item.kind, limit) {
      case (1, "date"): .granted(until: min(later, 1_893_455_999))
      case (1, "plays"): .granted(plays: 5)
      case (1, "play time"): .granted(seconds: 600)
      case (2, "check date"): .init(["result": "1", "check_expiration_date": "1893455999"])
      default: .init()
      }
    }
    await bench.run("download", mck).expect(0)
  }

  @Test(arguments: dated)
  func `half an hour back is refused with its reason, and one renewal heals it`(_ limit: String) async throws
  {
    try await download(limit)
    let early = bench.later(-30 * 60)
    try await early.check().expect(77, [("clock", -8664)], "behind a time already seen")
    let plain = await early.run("play-check", mck).expect(77)
    #expect(plain.output.contains("set the clock, or run 'kollus renew'"))
    #expect(try await early.commands.listed("--expired") == [mck])
    bench.answer(3, .init())
    await early.run("renew", mck).expect(0)
    try await early.check().expect(0, [])
    // The clock that stays wrong locks nobody out, and the right one is fine too.
    try await early.later(10).check().expect(0, [])
    try await bench.check().expect(0, [])
  }

  @Test(arguments: undated)
  func `without a date the clock does not matter`(_ limit: String) async throws {
    try await download(limit)
    for seconds in [-30 * 60, -Self.week, -Self.years, Self.years] {
      try await bench.later(seconds).check().expect(0, [])
    }
  }

  @Test(arguments: dated)
  func `four minutes back is fine`(_ limit: String) async throws {
    try await download(limit)
    try await bench.later(-4 * 60).check().expect(0, [])
    try await bench.later(-4 * 60).check().expect(0, [])
  }

  @Test func `years ahead and back is refused, and one renewal heals both`() async throws {
    try await download("date")
    // The date lies within the leap: it has passed for as long as the clock says so.
    try await bench.later(Self.years).check().expect(77, [("date", -8643)])
    let back = try await bench.check()
    #expect(back.status == 77)
    #expect(try back.reasons().first?.name == "clock")
    bench.answer(3, .granted(until: LicenceStage.now + Self.week))
    await bench.run("renew", mck).expect(0)
    try await bench.check().expect(0, [])
    try await bench.later(60).check().expect(0, [])
  }

  @Test func `a date that has passed stays passed when the clock goes back`() async throws {
    let end = LicenceStage.now + 3_600
    await bench.download(.granted(until: end))
    try await bench.later(3_700).check().expect(77, [("date", -8643)])
    let back = try await bench.later(3_500).check()
    #expect(back.status == 77, "\(back.json.rawText)")
    let further = try await bench.check()
    #expect(try further.reasons().map(\.name) == ["clock", "date"])
  }

  @Test func `an expiry that a renewal found stays, whatever the clock says later`() async throws {
    await bench.download(.granted(until: LicenceStage.now + 3_600))
    bench.answer(3, .init())
    await bench.later(7_200).run("renew", mck).expect(0)
    // The trusted answer said that the clock was wrong: nothing has expired.
    try await bench.check().expect(0, [])
    let late = bench.at(LicenceStage.now + 7_200)
    await late.run("renew", mck).expect(77)
    bench.callback.override(nil)
    bench.answer(3, .init(["result": "1", "expiration_date": "\(LicenceStage.now + Self.week)"]))
    await bench.run("renew", mck).expect(77)
    try await bench.check().expect(77, [("date", -8643)], "has expired before")
    try await bench.expectHealing("date", -8643)
  }

  // MARK: A server's clock that is wrong

  /// Lets the callback's clock be so many seconds ahead when it answers this kind.
  private func shift(_ kind: Int, by seconds: Int) {
    bench.callback.override { request, answer in
      String(decoding: request.body, as: UTF8.self).contains("%22kind%22%3A\(kind)")
        ? answer.with("Date", DRMCallback.httpDate(Date() + Double(seconds))) : answer
    }
  }

  /// What the notes named `warning` say; a renewal tells of the clock once, for all its contents.
  private func warnings(_ run: CommandStage.Run) throws -> [String] {
    let key = run.words.first == "renew" ? nil : mck
    return try JSONLines(run.output).objects.filter { try $0.string("note") == "warning" }.map {
      expectShape($0, Contract.note)
      #expect(try $0.string("mediaContentKey") == key)
      return try $0.string("message") ?? ""
    }
  }

  /// The times in a text, in the order they are told.
  private func times(in text: String) -> [Date] {
    text.matches(of: /[0-9-]{10}T[0-9:]{8}Z/).compactMap { ISO8601DateFormatter().date(from: "\($0.0)") }
  }

  @Test(arguments: [2, 3], [-3_600, -660, -540, 0, 540, 660, 3_600])
  func `a clock more than ten minutes off the server's is told of, with both`(_ kind: Int, _ offset: Int)
    async throws
  {
    bench.callback.answer { _ in .init() }
    if kind == 3 { await bench.run("download", mck).expect(0) }
    shift(kind, by: offset)
    let verb = kind == 3 ? "renew" : "download"
    let run = await bench.run(verb, mck, "--events", "jsonl").expect(0)
    let warnings = try warnings(run)
    #expect(warnings.count == (abs(offset) > 600 ? 1 : 0), "\(warnings)")
    for warning in warnings {
      let times = times(in: warning)
      #expect(times.count == 2)
      guard times.count == 2 else { continue }
      #expect(abs(times[0].timeIntervalSince(times[1]) - Double(offset)) < 30, "server first: \(warning)")
      #expect(abs(times[1].timeIntervalSinceNow) < 60)
    }
    let plain = await bench.run("renew", mck).expect(0)
    #expect((plain.output + plain.errors).contains("clock says") == (kind == 3 && abs(offset) > 600))
  }

  @Test func `an end that only the ledger knows is told with both times, and heals with the server's clock`()
    async throws
  {
    let end = LicenceStage.now + 3_600
    await bench.download(.granted(until: end))
    shift(3, by: 7_200)
    bench.answer(3, .init())
    await bench.run("renew", mck).expect(77)
    let check = try await bench.check()
    try check.expect(77, [("date", -8643)], "this clock says")
    let message = try #require(try check.json.array("reasons")?.elements.map { $0 }.first?.string("message"))
    let times = times(in: message)
    #expect(times.count == 3, "\(message)")
    if times.count == 3 {
      #expect(times[0].timeIntervalSince1970 == Double(end))
      #expect(abs(times[1].timeIntervalSince(times[2]) - 7_200) < 60)
      #expect(abs(times[2].timeIntervalSinceNow) < 60)
    }
    // The wrong date was not kept for good: neither a reset nor a new date is needed.
    bench.callback.override(nil)
    await bench.run("renew", mck).expect(0)
    try await bench.check().expect(0, [])
  }

  @Test func `an end that this clock tells too is told with its own date alone`() async throws {
    await bench.download(.granted(until: LicenceStage.now + 3_600))
    let check = try await bench.later(7_200).check()
    try check.expect(77, [("date", -8643)])
    #expect(!check.json.rawText.contains("this clock says"))
  }

  @Test func `a server whose clock stands before 2026 sets nothing`() async throws {
    await bench.download(.granted(until: LicenceStage.now + Self.week))
    bench.answer(3, .init())
    bench.callback.override { _, answer in answer.with("Date", "Thu, 01 Jan 2015 00:00:00 GMT") }
    let run = await bench.run("renew", mck, "--events", "jsonl").expect(0)
    #expect(try warnings(run).first?.contains("2015-01-01T00:00:00Z") == true)
    try await bench.check().expect(0, [])
    // The time that was seen is still known.
    try await bench.later(-1_800).check().expect(77, [("clock", -8664)])
  }

  @Test(arguments: ["Asia/Seoul", "America/Los_Angeles", "Pacific/Kiritimati"])
  func `another time zone is nothing`(_ zone: String) async throws {
    try await download("date")
    (try await bench.tool.run("identity", "new")).expect(0)
    (try await bench.tool.run("renew", mck)).expect(0)
    var tool = bench.tool
    tool.environment["TZ"] = zone
    (try await tool.run("play-check", mck)).expect(0)
    (try await bench.tool.run("play-check", mck)).expect(0)
  }

  // MARK: The built tool under a clock of ours

  static let compiler = ["/opt/swift/usr/bin/clang", "/usr/bin/clang", "/usr/bin/cc"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// A library that moves `CLOCK_REALTIME` alone by the seconds in `CLOCK_SHIFT`.
  private func shim(_ compiler: String) async throws -> String {
    let source = TemporaryDirectory.path + "/shim.c"
    let code = """
      #define _GNU_SOURCE
      #include <stdlib.h>
      #include <sys/syscall.h>
      #include <time.h>
      #include <unistd.h>
      int clock_gettime(clockid_t clock, struct timespec *time) {
        long status = syscall(SYS_clock_gettime, clock, time);
        const char *shift = getenv("CLOCK_SHIFT");
        if (status == 0 && clock == CLOCK_REALTIME && shift) time->tv_sec += atol(shift);
        return (int)status;
      }

      """
    try code.write(toFile: source, atomically: true, encoding: .utf8)
    let library = TemporaryDirectory.path + "/shim.so"
    let process = try ChildProcess(
      compiler, ["-shared", "-fPIC", "-O1", "-o", library, source], environment: ["PATH": "/usr/bin:/bin"])
    await process.wait().expect(0)
    return library
  }

  @Test(.enabled(if: compiler != nil)) func `the built tool refuses a clock that was set back`() async throws
  {
    let library = try await shim(#require(Self.compiler))
    bench.answer(1, .granted(until: LicenceStage.now + Self.week))
    (try await bench.tool.run("download", mck)).expect(0)
    func at(_ shift: Int) -> Tool {
      var tool = bench.tool
      tool.environment["LD_PRELOAD"] = library
      tool.environment["CLOCK_SHIFT"] = "\(shift)"
      return tool
    }
    (try await at(0).run("play-check", mck)).expect(0)
    (try await at(-240).run("play-check", mck)).expect(0)
    let refused = try await at(-1_800).run("play-check", mck)
    refused.expect(77)
    #expect(refused.standardOutput.contains("(-8664)"))
    (try await at(Self.years).run("play-check", mck)).expect(77)
    let back = try await bench.tool.run("play-check", mck)
    back.expect(77)
    #expect(back.standardOutput.contains("(-8664)"))
    bench.answer(3, .granted(until: LicenceStage.now + Self.week))
    (try await bench.tool.run("renew", mck)).expect(0)
    (try await bench.tool.run("play-check", mck)).expect(0)
    (try await at(-1_800).run("renew", mck)).expect(0)
    (try await at(-1_800).run("play-check", mck)).expect(0)
    (try await at(-1_800).run("download", "b")).expect(66)
  }
}
