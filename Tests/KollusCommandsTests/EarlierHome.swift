import Foundation
import JSONKit
import KollusTestSupport
import Testing

/// A home that an earlier version left (`Tests/Fixtures/homes`), and what must still be true of it.
struct EarlierHome: Sendable, CustomTestStringConvertible {
  /// What is known of the content under licence.
  struct Licensed: Sendable {
    let expireDate: Int64
    let plays: Int64
    let playsLeft: Int64
    let playTimeLeft: Int64
    let position: Double
  }

  let name: String
  /// Key, state and failure of each content, in the order of the list.
  let contents: [String]
  /// SHA-256 of the plain bytes of `unit-1`.
  let digest: String
  let licensed: Licensed?
  let hasReports: Bool

  var testDescription: String { name }
  var keys: [String] { contents.map { String($0.prefix { $0 != " " }) } }

  static let all = [
    EarlierHome(
      name: "1-library", contents: ["unit-1 ready", "강의-2 failed -1010", "gone failed -8404"],
      digest: "3beb0da8bdfdb1afdceeba0aeef2d52b5b2a46c1ec4f77550256897509874821", licensed: nil,
      hasReports: false),
    EarlierHome(
      name: "2-licence", contents: withLicences, digest: short,
      licensed: Licensed(
        expireDate: 1_882_432_469, plays: 5, playsLeft: 5, playTimeLeft: 3_600, position: 0),
      hasReports: false),
    EarlierHome(
      name: "3-reports", contents: withLicences, digest: short, licensed: played(until: 1_798_624_472),
      hasReports: true),
    EarlierHome(
      name: "4-care", contents: withLicences, digest: short, licensed: played(until: 1_798_625_199),
      hasReports: true),
  ]

  static let licensed = all.filter { $0.licensed != nil }
  static let reporting = all.filter(\.hasReports)

  private static let withLicences = ["unit-1 ready", "강의-2 ready", "gone failed -8404", "ended ready"]
  private static let short = "1c4c1bee01c199f2b2263bfc004060f9e9b8e565044aa89e694a8b1472f206ed"

  private static func played(until date: Int64) -> Licensed {
    Licensed(expireDate: date, plays: 20, playsLeft: 16, playTimeLeft: 14_391, position: 4.4)
  }

  // MARK: Unpacking

  /// Where its reports are to go.
  static let receiver = "http://127.0.0.1:8642"
  /// The machine it was made on.
  static let machineID = "fixture"

  /// A stage over a copy of the home, on its machine, some hours after it was left.
  func stage(_ settings: [String: String] = [:]) async throws -> CommandStage {
    var stage = try CommandStage(settings)
    try await unpack(to: stage.tool.home)
    stage.machineID = Self.machineID
    return stage.atThatTime
  }

  /// Makes a copy of the home.
  func unpack(to home: String) async throws {
    let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fixtures/homes/\(name).tar.gz")
    try? FileManager.default.removeItem(atPath: home)
    try FileManager.default.createDirectory(
      atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let tar = try ChildProcess(
      "/usr/bin/env", ["tar", "-xzf", archive.path, "-C", home, "--no-same-owner"],
      environment: ["PATH": "/usr/bin:/bin"])
    await tar.wait().expect(0)
  }

  /// Moves a copy of the home to another machine, as if it had been made there.
  static func move(_ home: String, to machineID: String) throws {
    let path = "\(home)/device.key"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let moved = text.replacing("\"\(Self.machineID)\"", with: "\"\(machineID)\"")
    #expect(moved != text)
    // Written in place, for the mode to stay.
    try moved.write(toFile: path, atomically: false, encoding: .utf8)
  }

  // MARK: What must be true

  /// Fails the test unless `list --json` printed what is known of the contents.
  func expectList(_ output: String, at location: SourceLocation = #_sourceLocation) throws {
    let list = Array(try JSON(parsing: output).elements)
    let found = try list.map { content in
      expectShape(content, Contract.content, at: location)
      let code = try content.object("error")?.integer("code")
      return try "\(content.string("mediaContentKey") ?? "") \(content.string("state") ?? "")"
        + (code.map { " \($0)" } ?? "")
    }
    #expect(found == contents, sourceLocation: location)
    let plain = try #require(list.first, sourceLocation: location)
    #expect(try plain.string("title") == "1강. 소리와 빛", sourceLocation: location)
    #expect(try plain.string("folder") == "수학/1단원", sourceLocation: location)
    #expect(try plain.string("clientUserID") == "learner", sourceLocation: location)
    #expect(
      FileManager.default.fileExists(atPath: try plain.string("snapshot") ?? ""), sourceLocation: location)
    #expect(try list[1].string("title") == "第二回 波と光", sourceLocation: location)
    #expect(try list[1].bool("licenceNeeded") == true, sourceLocation: location)
    guard let licensed else { return }
    try licensed.expect(list[1], at: location)
    #expect(try list[3].bool("DRMExpired") == true, sourceLocation: location)
  }
}

extension EarlierHome.Licensed {
  /// Fails the test unless these are the licence's members in JSON.
  func expect(_ content: JSON, at location: SourceLocation = #_sourceLocation) throws {
    #expect(try content.bool("DRMExpired") == false, sourceLocation: location)
    #expect(try content.integer("DRMExpireDate") == expireDate, sourceLocation: location)
    #expect(try content.integer("drmExpireCountMax") == plays, sourceLocation: location)
    #expect(try content.integer("drmExpireCount") == playsLeft, sourceLocation: location)
    #expect(try content.integer("DRMExpirePlayTime") == playTimeLeft, sourceLocation: location)
    #expect(try content.number("position") == position, sourceLocation: location)
  }
}

extension CommandStage {
  /// The same stage on the day after the earlier homes were left: 2026-12-01, midnight.
  var atThatTime: Self {
    with { $0.later = 1_796_083_200 - Date().timeIntervalSince1970 }
  }
}
