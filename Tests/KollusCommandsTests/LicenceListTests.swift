import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// What `list` and `show` say of licences, and what becomes of hostile words in a callback's message.
@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LicenceListTests {
  typealias Entry = DRMCallback.Entry

  let bench: LicenceStage

  init() throws { bench = try LicenceStage() }

  private var mck: String { bench.mck }

  /// One content for each state of a licence.
  private func stock() async throws {
    let now = LicenceStage.now
    let grants: [(String, Entry)] = [
      ("free", .granted()), ("month", .granted(until: now + 30 * 86_400)),
      ("week", .granted(until: now + 6 * 86_400)), ("last", .granted(plays: 1)),
      ("short", .granted(seconds: 60)), ("over", .granted(until: now - 60)),
      ("never", .init(["result": "0"])),
    ]
    try bench.publish(grants.map(\.0))
    try bench.site.publish(OriginContent("plain", bytes: bench.bytes))
    bench.callback.answer { item in
      item.kind == 1 ? grants.first { $0.0 == item.mck }?.1 ?? .init() : .init()
    }
    for key in grants.map(\.0) + ["plain"] {
      await bench.run("download", key).expect(key == "never" ? 69 : 0)
    }
  }

  @Test func `list selects what has expired and what soon will`() async throws {
    try await stock()
    #expect(try await bench.commands.listed("--expired") == ["over"])
    #expect(try await bench.commands.listed("--expiring", "7d") == ["week", "last", "short"])
    #expect(try await bench.commands.listed("--expiring", "1h") == ["last", "short"])
    #expect(try await bench.commands.listed("--expiring", "31d") == ["month", "week", "last", "short"])
    #expect(try await bench.commands.listed("--expired", "--expiring", "7d").count == 4)
    #expect(await bench.run("list", "--expiring", "soon").status == 64)
    let later = bench.later(7 * 86_400)
    #expect(try await later.commands.listed("--expired") == ["week", "over"])
    await bench.run("remove", "over").expect(0)
    #expect(await bench.run("list", "--expired").expect(0).output == "nothing of that kind here\n")
    #expect(await bench.run("list", "--expired", "--json").expect(0).output == "[]\n")
  }

  @Test func `list has a column for the licence`() async throws {
    try await stock()
    let lines = await bench.run("list").expect(0).output.split(separator: "\n")
    #expect(lines.first?.split(separator: " ").contains("LICENCE") == true)
    func line(_ key: String) -> Substring { lines.first { $0.hasPrefix("\(key) ") } ?? "" }
    #expect(line("free").contains("valid"))
    #expect(line("over").contains("refused: date"))
    #expect(line("week").contains("until 20"))
    #expect(line("never").contains("none"))
    #expect(!line("plain").contains("valid") && !line("plain").contains("none"))
  }

  @Test func `show tells limits, what is left and the last exchange`() async throws {
    let date = LicenceStage.now + 86_400
    await bench.download(.granted(until: date, plays: 5, seconds: 7_200))
    let text = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(date)))
    let show = await bench.run("show", mck).expect(0).output
    let lines = Dictionary(
      show.split(separator: "\n").map { line in
        (line.prefix(16).trimmingCharacters(in: .whitespaces), String(line.dropFirst(16)))
      }, uniquingKeysWith: { first, _ in first })
    #expect(lines["licence"] == "valid")
    #expect(lines["ends"] == text)
    #expect(lines["plays left"] == "5 of 5")
    #expect(lines["time left"] == "7200 of 7200 seconds of the media")
    #expect(lines["last exchange"]?.hasPrefix("completion, ") == true)
    #expect(lines["last exchange"]?.hasSuffix(": done") == true)
    bench.answer(3, .init(["result": "0", "message": #""Not you.""#]))
    await bench.run("renew", mck).expect(77)
    #expect(await bench.run("show", mck).output.contains(": Not you. (-8657)"))
    let json = try await bench.shown()
    expectShape(json, Contract.shown)
    #expect(try json.integer("DRMExpireDate") == Int64(date))
    #expect(try json.integer("drmExpireCountMax") == 5)
    #expect(try json.integer("drmTotalExpirePlayTime") == 7_200)
    #expect(try json.integer("DRMExpirePlayTime") == 7_200)
    #expect(try json.bool("DRMExpired") == false)
  }

  @Test func `show tells scripts of the last exchange, list does not`() async throws {
    /// The last exchange, its time checked.
    func last(_ code: Int?) async throws -> (kind: Int64?, isAnswered: Bool?) {
      let exchange = try #require(try await bench.shown().object("lastExchange"))
      expectShape(exchange, Contract.lastExchange)
      #expect(abs((try exchange.integer("at") ?? 0) - Int64(LicenceStage.now)) < 60)
      let error = try exchange.object("error")
      if let error { expectShape(error, Contract.error) }
      #expect(try error?.integer("code") == code.map(Int64.init))
      return (try exchange.integer("kind"), try exchange.bool("answered"))
    }
    bench.answer(1, .init(["result": "0"]))
    await bench.run("download", mck).expect(69)
    #expect(try await last(-8655) == (1, true))
    await bench.download(.granted())
    #expect(try await last(nil) == (2, true))
    bench.answer(3, .init(["result": "0", "message": Self.hostile]))
    await bench.run("renew", mck).expect(77)
    #expect(try await last(-8657) == (3, true))
    bench.callback.server.stop()
    await bench.run("renew", mck).expect(75)
    #expect(try await last(-9007) == (3, false))
    let list = try await bench.run("list", "--json").expect(0).json
    for content in list.elements { expectShape(content, Contract.content) }
  }

  @Test(arguments: [(0, 0), (1, 0), (0, 1), (1, 1)])
  func `list, show and play-check tell how play time counts and whether the server is asked`(
    _ abuse: Int, _ type: Int
  ) async throws {
    let members = ["result": "1", "check_abuse": "\(abuse)", "expiration_playtime_type": "\(type)"]
    await bench.download(.init(members))
    let list = try await bench.run("list", "--json").expect(0).json
    let listed = try #require(Array(list.elements).first)
    for json in [listed, try await bench.shown(), try await bench.check().json] {
      #expect(try json.bool("checkAbuse") == (abuse == 1))
      #expect(try json.integer("expirationPlaytimeType") == Int64(type))
    }
  }

  // MARK: Hostile words

  /// As a JSON text: a title for the terminal, colors, a C1 introducer, a return, a line, turns of direction, a NUL.
  static let hostile =
    #""\u001b]0;owned\u0007\u001b[31mred\u009b2J\r\nline\u202etxt\u200f\u200e\u061c\u0000\u007f end""#

  /// Control characters but for the line ends that are ours, and what turns the direction of text.
  private func expectTame(_ run: CommandStage.Run, at location: SourceLocation = #_sourceLocation) {
    for text in [run.output, run.errors] {
      let raw = text.unicodeScalars.filter { scalar in
        scalar != "\n"
          && (scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
            || "\u{202e}\u{200e}\u{200f}\u{061c}".unicodeScalars.contains(scalar))
      }
      #expect(raw.isEmpty, "\(run.words): \(text.debugDescription)", sourceLocation: location)
    }
  }

  @Test(arguments: [1, 2, 3]) func `a hostile message is never printed raw`(_ kind: Int) async throws {
    if kind > 1 { bench.callback.answer { _ in .init() } }
    if kind == 3 { await bench.run("download", mck).expect(0) }
    bench.answer(kind, .init(["result": "0", "message": Self.hostile]))
    let verb = kind == 3 ? "renew" : "download"
    let forms = [[], ["--json"], ["--events", "jsonl"], ["--json", "--events", "jsonl"], ["--quiet"]]
    for form in forms {
      if kind == 2 { await bench.run("remove", mck) }
      let run = await bench.commands.run([verb, mck] + form)
      #expect(run.status == (kind == 3 ? 77 : 69))
      #expect((run.output + run.errors).contains("end"), "\(form): the words themselves are passed on")
      expectTame(run)
    }
    for words in [
      ["show", mck], ["show", mck, "--json"], ["list"], ["list", "--json"], ["play-check", mck],
      ["play-check", mck, "--renew"], ["play-check", mck, "--json", "--renew"],
      ["renew", "--dry-run", "--only-failed"],
      ["renew", "--dry-run", "--only-failed", "--json"],
    ] {
      let run = await bench.commands.run(words)
      expectTame(run)
      guard kind == 3, words.contains("--json"), words.contains("--dry-run") else { continue }
      for candidate in try run.json.elements { expectShape(candidate, Contract.renewalPlan) }
    }
  }

  @Test func `the words of a deletion are never printed raw`() async throws {
    for form in [[], ["--json"], ["--events", "jsonl"]] {
      bench.callback.answer { _ in .init() }
      await bench.run("download", mck).expect(0)
      bench.answer(3, .init(["result": "1", "content_delete": "1", "message": Self.hostile]))
      let run = await bench.commands.run(["renew", mck] + form).expect(77)
      #expect((run.output + run.errors).contains("end"))
      expectTame(run)
      expectTame(await bench.run("show", mck))
    }
  }

  /// Answers whose own words find their way into what we say of them.
  static let answers: [@Sendable (Answer) -> Answer] = [
    { $0.with("X-Kollus-UserKey", "\u{1b}[31mnobody\u{7}") },
    { _ in
      let header = Data(#"{"alg":"\u001b]0;owned\u0007","typ":"JWT"}"#.utf8).base64EncodedString()
      return DRMCallback.answer("\(header).e30.AAAA")
    },
    { _ in DRMCallback.answer(payload: #"{"data":{"\u001b[31m":1,"\u001b[31m":2}}"#) },
    { _ in DRMCallback.answer("\u{1b}[31m.\u{1b}[31m.\u{1b}[31m") },
    { _ in Answer(302).with("Location", "http://\u{1b}[31m/") },
    { _ in
      DRMCallback.answer(
        payload: #"{"data":[{"kind":1,"media_content_key":"AbCd1234","result":"\u001b[31m","\u009b":1}]}"#)
    },
  ]

  @Test(arguments: answers.indices) func `no word of an answer is printed raw`(_ index: Int) async throws {
    let change = Self.answers[index]
    bench.callback.override { _, answer in change(answer) }
    for form in [[], ["--json"], ["--events", "jsonl"], ["--quiet"]] {
      let run = await bench.commands.run(["download", mck] + form)
      #expect(run.status != 0)
      expectTame(run)
    }
    expectTame(await bench.run("show", mck))
    expectTame(await bench.run("list", "--json"))
  }
}
