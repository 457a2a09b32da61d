import Foundation
import JSONKit
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1))) struct LMSCommandTests {
  static func blocks(_ played: [Int], seconds: Int = 60, percent: Int = 100, of count: Int = 4) -> String {
    let members = (0..<count).map { index in
      played.contains(index)
        ? #""b\#(index)":1,"t\#(index)":\#(seconds),"p\#(index)":"\#(percent)""#
        : #""b\#(index)":0,"t\#(index)":0,"p\#(index)":0"#
    }
    return #"{"block_count":\#(count),"blocks":{\#(members.joined(separator: ","))}}"#
  }

  /// Two sessions by one user, of three reports and one.
  static let reports = [
    LMSStage.report(start: "100", runtime: "60", blocks: blocks([0])),
    LMSStage.report(start: #""100""#, runtime: #""120""#, blocks: blocks([0, 1], seconds: 50)),
    LMSStage.report(start: "100", runtime: "90", blocks: blocks([1], seconds: 70, percent: 40)),
    LMSStage.report(start: "200", runtime: "30", blocks: blocks([3], seconds: 30, percent: 50)),
  ]

  @Test(arguments: [
    [0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [0, 0, 1, 2, 2, 3, 3, 3],
  ])
  func `reports mean the same in any order and however often they come`(_ order: [Int]) async throws {
    try LMSStage.keep(order.map { Self.reports[$0] })
    let merged = try await LMSStage.merged()
    try #require(merged.count == 1)
    #expect(
      merged[0].rawText == #"""
        {"client_user_id":"learner-17","media_content_key":"k","reports":\#(order.count),"sessions":2,\#
        "progress":0.75,"latest":{"start_at":200,"duration":600,"last_play_at":210,"playtime":210.5,\#
        "playtime_percent":35,"runtime":30},"block_info":{"block_count":4,"blocks":{\#
        "b0":1,"t0":60,"p0":100,"b1":1,"t1":70,"p1":100,"b2":0,"t2":0,"p2":0,"b3":1,"t3":30,"p3":50}}}
        """#)
  }

  @Test func `users and contents are apart, in order`() async throws {
    try LMSStage.keep([
      LMSStage.report(user: "b", key: "k"), LMSStage.report(user: "a", key: "한"),
      LMSStage.report(user: "a", key: "k", blocks: nil), LMSStage.report(user: "", key: "k"),
    ])
    let merged = try await LMSStage.merged()
    #expect(try merged.map { try $0.string("client_user_id") } == ["", "a", "a", "b"])
    #expect(try merged.map { try $0.string("media_content_key") } == ["k", "k", "한", "k"])
    #expect(try merged.map { try $0.number("progress") } == [0.25, nil, 0.25, 0.25])
    #expect(try merged[1].member("block_info")?.isNull == true)
  }

  @Test func `blocks of another length are not laid over each other`() async throws {
    let reports = [
      LMSStage.report(start: "100", blocks: Self.blocks([0, 1, 2, 3])),
      LMSStage.report(start: "200", blocks: Self.blocks([0], of: 10)),
      LMSStage.report(start: "150", blocks: Self.blocks([1], of: 10)),
      LMSStage.report(start: "300", blocks: nil),
    ]
    for order in [reports, reports.reversed()] {
      try LMSStage.keep(order)
      let merged = try await LMSStage.merged()
      #expect(try merged[0].number("progress") == 0.2)
      #expect(try merged[0].object("latest")?.integer("start_at") == 300)
      #expect(try merged[0].integer("sessions") == 4)
    }
  }

  @Test func `a table shows it to people`() async throws {
    try LMSStage.keep(Self.reports + [LMSStage.report(user: #"학생\u001b[2J"#, blocks: nil)])
    let stage = OriginStage()
    #expect(await stage.run("lms", LMSStage.file) == 0)
    #expect(
      stage.output == [
        "USER           CONTENT  SESSIONS  REPORTS  BLOCKS  PROGRESS  PLAYED s  AT s  OF s  LAST SESSION",
        "learner-17     k               2        4     3/4      75 %     210.5   210   600  1970-01-01T00:03:20Z",
        #"학생\u{1b}[2J  k               1        1                       210.5   210   600  2026-01-08T00:01:40Z"#,
      ])
  }

  @Test func `lines without a report are told, and the rest counts`() async throws {
    try LMSStage.keep(Self.reports, separator: "\n\n{\"at\":\n")
    let merged = try await LMSStage.merged(status: 65)
    #expect(try merged[0].integer("reports") == 4)
    let stage = OriginStage()
    #expect(await stage.run("lms", LMSStage.file) == 65)
    #expect(stage.output.count == 2)
    #expect(stage.errors.count == 4)
    #expect(stage.errors.first?.hasPrefix("kollus-origin: \(LMSStage.file) line 3: invalid JSON") == true)
    #expect(stage.errors.last == "kollus-origin: lines without a report in \(LMSStage.file): 3")
  }

  @Test(arguments: [
    ("{}", "report is missing"), (#"{"report":[]}"#, "report: expected an object"),
    ("1", "expected an object"),
    (
      #"{"report":{"user_info":{},"content_info":{"media_content_key":"k","start_at":"x"}}}"#,
      "report.content_info.start_at: expected a number"
    ),
    ("\u{1b}[2J", "invalid JSON"),
  ])
  func `a line that cannot be read is named`(_ line: String, _ message: String) async throws {
    try Data(line.utf8).write(to: URL(fileURLWithPath: LMSStage.file))
    let stage = OriginStage()
    #expect(await stage.run("lms", LMSStage.file, "--json") == 65)
    #expect(stage.output == ["[]"])
    #expect(stage.errors.first?.contains(" line 1: " + message) == true, "\(stage.errors)")
  }

  @Test func `an empty file holds nothing`() async throws {
    try Data().write(to: URL(fileURLWithPath: LMSStage.file))
    #expect(try await LMSStage.merged().isEmpty)
    let stage = OriginStage()
    #expect(await stage.run("lms", LMSStage.file) == 0)
  }

  @Test func `what is no file of lines is told by its status`() async throws {
    let stage = OriginStage()
    #expect(await stage.run("lms") == 64)
    #expect(await stage.run("lms", LMSStage.file) == 66)
    #expect(await stage.run("lms", TemporaryDirectory.path) == 66)
    try Data(repeating: 32, count: 18 << 20).write(to: URL(fileURLWithPath: LMSStage.file))
    #expect(await stage.run("lms", LMSStage.file) == 65)
    #expect(stage.output.isEmpty)
  }

  @Test func `lines of every length are read`() async throws {
    let names = [1, 1_000, 1 << 20, (1 << 20) + 7, 3 << 20].map { String(repeating: "u", count: $0) }
    try LMSStage.keep(names.map { LMSStage.report(user: $0) })
    let merged = try await LMSStage.merged()
    #expect(try merged.map { try $0.string("client_user_id")?.count } == names.map(\.count))
  }
}
