import Foundation
import KollusTestSupport
import Testing

@testable import KollusCore

@Suite(.temporaryDirectory) struct SettingsTests {
  let file = TemporaryDirectory.path + "/config.json"

  static let sizes: [(String, Int64)] = [
    ("0", 0), ("512", 512), ("512K", 512 << 10), ("10M", 10 << 20), ("2G", 2 << 30), ("1T", 1 << 40),
    ("1k", 1 << 10), ("1.5G", 3 << 29), ("0.5K", 512), ("0.001K", 1), ("1048576T", 1 << 60),
  ]

  @Test(arguments: sizes) func `a size is read`(_ text: String, _ bytes: Int64) {
    #expect(ByteSize(text)?.bytes == bytes)
  }

  @Test(arguments: [
    "", "K", "-1", "+1", "1.", ".5", "1.0001K", "1 K", " 1", "1KB", "1KiB", "1e3", "0x10", "١", "1,5",
    "1.5.5", "1048577T", "9999999999999999999", "99999999999999999999999", "1٫5", "NaN", "∞",
  ]) func `what is no size is refused`(_ text: String) { #expect(ByteSize(text) == nil) }

  @Test(arguments: ["10ß", "ﬁ", "1ŉ"])
  func `a unit of any letter is refused, not a trap`(_ text: String) async {
    await #expect(processExitsWith: .success) { [text = text as String] in
      if ByteSize(text) != nil { exit(1) }
    }
  }

  @Test(arguments: [0, 1, 1_023, 1_024, 1_536, 1 << 20, 3 << 29, 1 << 40, (1 << 40) + 1, 1 << 60] as [Int64])
  func `a size reads as it is written`(_ bytes: Int64) {
    #expect(ByteSize(ByteSize(bytes: bytes).description)?.bytes == bytes)
  }

  @Test(arguments: [
    ("0", 0), ("30", 30_000), ("30s", 30_000), ("10m", 600_000), ("72h", 259_200_000), ("7d", 604_800_000),
    ("1.5s", 1_500), ("0.001s", 1), ("0.5", 500), ("36600d", 36_600 * 86_400_000),
  ]) func `a time span is read`(_ text: String, _ milliseconds: Int64) {
    #expect(TimeSpan(text)?.milliseconds == milliseconds)
  }

  @Test(arguments: [
    "", "s", "-1s", "+1s", "1S", "1ms", "1w", "1.s", "1 s", "36601d", "1e2s", "99999999999999999d", "１s",
  ])
  func `what is no time span is refused`(_ text: String) { #expect(TimeSpan(text) == nil) }

  @Test(arguments: ["0s", "1s", "90s", "10m", "72h", "7d", "1.5s", "0.001s", "100.25s"])
  func `a time span reads as it is written`(_ text: String) throws {
    let span = try #require(TimeSpan(text))
    #expect(TimeSpan(span.description) == span)
  }

  private func load(
    _ json: String? = nil, environment: [String: String] = [:], flags: [(name: String, value: String)] = []
  ) throws -> Settings {
    if let json { try json.write(toFile: file, atomically: true, encoding: .utf8) }
    return try Settings.load(file: file, isRequired: json != nil, environment: environment, flags: flags)
  }

  @Test func `without anything the defaults hold`() throws {
    let settings = try load()
    #expect(settings == Settings())
    #expect(settings.timeout.milliseconds == 30_000)
    #expect(settings.retries == 3)
    #expect(settings.jobs == 2)
    #expect(settings.connections == 4)
    #expect(settings.renewWithin.milliseconds == 72 * 3_600_000)
    #expect(settings.reserve.bytes == 150 << 20)
    #expect(settings.allowPlainHTTP == false)
  }

  @Test func `a flag goes before the environment, that before the file`() throws {
    let json = #"{"retries":1,"jobs":1,"connections":1,"origin":"http://file"}"#
    let environment = ["KOLLUS_JOBS": "2", "KOLLUS_CONNECTIONS": "2", "KOLLUS_ORIGIN": ""]
    let settings = try load(json, environment: environment, flags: [("connections", "3")])
    #expect(settings.retries == 1)
    #expect(settings.jobs == 2)
    #expect(settings.connections == 3)
    // An empty variable says nothing.
    #expect(settings.origin == "http://file")
  }

  @Test func `every key can be given in the file and in the environment`() throws {
    let words = [
      "timeout": "5s", "retries": "7", "jobs": "3", "connections": "9", "renewWithin": "1h", "reserve": "1M",
      "allowPlainHTTP": "true", "origin": "https://origin.example/kollus",
    ]
    let pairs = SettingKey.all.map { ($0, words[$0.name] ?? "word-\($0.name)") }
    let json = "{" + pairs.map { "\"\($0.0.name)\":\"\($0.1)\"" }.joined(separator: ",") + "}"
    let byFile = try load(json)
    let byVariable = try Settings.load(
      file: file + ".none", isRequired: false,
      environment: Dictionary(uniqueKeysWithValues: pairs.map { ($0.0.variable, $0.1) }), flags: [])
    for (key, word) in pairs where key.name != "caFile" {
      #expect(key.value(in: byFile) == word)
      #expect(key.value(in: byVariable) == word)
    }
    // A path in the file is relative to the file's folder, one in the environment to the process's.
    #expect(byFile.caFile == TemporaryDirectory.path + "/word-caFile")
    #expect(byVariable.caFile == "word-caFile")
  }

  @Test(arguments: [
    ("renewWithin", "KOLLUS_RENEW_WITHIN"), ("allowPlainHTTP", "KOLLUS_ALLOW_PLAIN_HTTP"),
    ("caFile", "KOLLUS_CA_FILE"), ("origin", "KOLLUS_ORIGIN"),
  ])
  func `a key has its variable`(_ name: String, _ variable: String) {
    #expect(SettingKey.all.first { $0.name == name }?.variable == variable)
  }

  @Test func `security keys are paths beside the file`() throws {
    let settings = try load(#"{"keys":{"a":"a.key","b":"/etc/b.key"}}"#)
    #expect(settings.keys == ["a": TemporaryDirectory.path + "/a.key", "b": "/etc/b.key"])
  }

  @Test(arguments: [
    ("[]", "expected an object"), ("{", "not right"), ("", "not right"),
    (#"{"nope":1}"#, "nope: no such key"),
    (#"{"retries":101}"#, "retries: expected a number from 0 to 100"), (#"{"retries":-1}"#, "retries"),
    (#"{"retries":1.0}"#, "retries"), (#"{"retries":true}"#, "retries"), (#"{"retries":[1]}"#, "retries"),
    (#"{"jobs":0}"#, "jobs"), (#"{"connections":17}"#, "connections"), (#"{"timeout":"0s"}"#, "timeout"),
    (#"{"timeout":"2h"}"#, "timeout"), (#"{"reserve":"much"}"#, "reserve"), (#"{"keys":[]}"#, "keys"),
    (#"{"keys":{"a":1}}"#, "keys.a"), (#"{"allowPlainHTTP":"yes"}"#, "allowPlainHTTP"),
    (#"{"origin":"a\u0000b"}"#, "origin"), (#"{"origin":{}}"#, "origin"),
  ]) func `a file that is not right is refused by the member's name`(_ json: String, _ words: String) {
    let error = #expect(throws: KollusError.self) { try load(json) }
    #expect(error?.kind == .configuration)
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
  }

  @Test func `null and an empty text are as if not given`() throws {
    #expect(try load(#"{"retries":null,"origin":""}"#) == Settings())
  }

  @Test func `a wrong variable is named`() throws {
    let error = #expect(throws: KollusError.self) { try load(environment: ["KOLLUS_RETRIES": "many"]) }
    #expect(error?.kind == .configuration)
    #expect(error?.message.contains("KOLLUS_RETRIES") == true)
  }

  @Test(arguments: [("retries", "many"), ("nope", "1")]) func `a wrong flag is usage`(
    _ name: String, _ value: String
  ) {
    let error = #expect(throws: KollusError.self) { try load(flags: [(name, value)]) }
    #expect(error?.kind == .usage)
  }

  @Test func `a file that was named must be there`() {
    let error = #expect(throws: KollusError.self) {
      try Settings.load(file: file, isRequired: true, environment: [:], flags: [])
    }
    #expect(error?.kind == .configuration)
    #expect(throws: KollusError.self) {
      try Settings.load(file: TemporaryDirectory.path, isRequired: false, environment: [:], flags: [])
    }
  }

  private func key(_ name: String) throws -> SettingKey {
    try #require(SettingKey.all.first { $0.name == name })
  }

  @Test func `one key is changed, the rest stays`() throws {
    try #"{"keys":{"a":"x"},"retries": 5,"origin":"http://a"}"#.write(
      toFile: file, atomically: true, encoding: .utf8)
    try Settings.change(file: file, key: key("origin"), to: "http://b")
    var settings = try load()
    #expect(settings.origin == "http://b")
    #expect(settings.retries == 5)
    #expect(settings.keys.count == 1)
    try Settings.change(file: file, key: key("origin"), to: nil)
    settings = try load()
    #expect(settings.origin == nil)
    #expect(settings.retries == 5)
  }

  @Test func `a file is made with its folder`() throws {
    let file = TemporaryDirectory.path + "/a/b/config.json"
    try Settings.change(file: file, key: key("reserve"), to: "1G")
    #expect(
      try Settings.load(file: file, isRequired: true, environment: [:], flags: []).reserve.bytes == 1 << 30)
  }

  @Test func `a wrong value changes nothing`() throws {
    let text = #"{"retries":5}"#
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(throws: KollusError.self) { try Settings.change(file: file, key: key("retries"), to: "many") }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
  }

  @Test func `a file that is not right is not made worse`() throws {
    let text = #"{"retries":"many"}"#
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(throws: KollusError.self) { try Settings.change(file: file, key: key("jobs"), to: "3") }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
  }
}
