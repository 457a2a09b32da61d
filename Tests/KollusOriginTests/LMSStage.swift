import Foundation
import JSONKit
import KollusTestSupport
import ServerKit
import Testing

/// The receiver of viewing reports of an origin in this process.
enum LMSStage {
  static var file: String { TemporaryDirectory.path + "/reports.jsonl" }

  static let formType = "Content-Type: application/x-www-form-urlencoded"

  /// A report with the numbers as strings or not, and some members replaced or, by nil, left out.
  static func report(
    user: String = "learner-17", key: String = "k", start: String = #""1767830500""#, runtime: String = "245",
    blocks: String? = #"{"block_count":4,"blocks":{"b0":1,"t0":60,"p0":100,"b1":0,"t1":"0","p1":"0"}}"#
  ) -> String {
    let info = blocks.map { #","block_info":\#($0)"# } ?? ""
    return #"""
      {"user_info":{"client_user_id":"\#(user)","player_id":"p"},"content_info":{"duration":"600",\#
      "media_content_key":"\#(key)","start_at":\#(start),"last_play_at":"210","playtime":"210.5",\#
      "playtime_percent":"35","runtime":\#(runtime)}\#(info),"uservalues":{"uservalue0":"course-9"}}
      """#
  }

  static func form(_ report: String, _ more: String = "") -> [UInt8] {
    Array("json_data=\(PercentCoding.encode(report))\(more)".utf8)
  }

  static func post(
    _ report: String = report(), port: Int, path: String = "/lms"
  ) throws -> LoopbackClient.Answer {
    try LoopbackClient.fetch(path, port: port, method: "POST", headers: [formType], body: form(report))
  }

  /// What the file holds; empty for no file.
  static func lines() throws -> [JSON] {
    guard FileManager.default.fileExists(atPath: file) else { return [] }
    return JSONLines(try String(contentsOfFile: file, encoding: .utf8)).objects
  }

  /// Writes reports as they would have been kept.
  static func keep(_ reports: [String], separator: String = "\n") throws {
    let lines = reports.map { #"{"at":"2026-01-01T00:00:00Z","path":"/lms","fields":{},"report":\#($0)}"# }
    let text = lines.joined(separator: separator) + "\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
  }

  /// What `lms --json` makes of the file.
  static func merged(status: Int32 = 0) async throws -> [JSON] {
    let stage = OriginStage()
    #expect(await stage.run("lms", file, "--json") == status)
    return try JSON(parsing: try #require(stage.output.first)).elements.map { $0 }
  }
}
