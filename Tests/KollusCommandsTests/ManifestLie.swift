import JSONKit
import KollusTestSupport

/// One manifest that must not lead to a stored content.
struct ManifestLie: Sendable, CustomStringConvertible {
  let description: String
  /// What the message must name; empty where no member is to blame.
  var member = ""
  var statuses = [65, 66, 69]
  var digests = Digests.segments
  /// Changes a sound content.
  var change: @Sendable (inout OriginContent) -> Void = { _ in }
  /// Changes the text of the answer.
  var edit: @Sendable (String) -> String = { $0 }

  static let all = notManifests + wrongTypes + wrongValues

  private static let notManifests = [
    Self(description: "not JSON", edit: { _ in "<html>" }),
    Self(description: "nothing", edit: { _ in "" }),
    Self(description: "cut short", edit: { String($0.dropLast(3)) }),
    Self(description: "two documents", edit: { $0 + $0 }),
    Self(description: "an array", edit: { "[\($0)]" }),
    Self(description: "no contents", member: "contents", edit: { _ in "{}" }),
    Self(description: "contents of a wrong type", member: "contents", edit: { _ in #"{"contents":{}}"# }),
    Self(description: "empty contents", edit: { _ in #"{"contents":[]}"# }),
    Self(
      description: "deep nesting",
      change: {
        $0.members["x"] = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
      }),
    Self(
      description: "9 MiB", change: { $0.members["x"] = String(repeating: "y", count: 9 << 20).jsonQuoted }),
    Self(
      description: "invalid UTF-8 in an escape", change: { $0.title = "@" },
      edit: { $0.swapped("@", #"\ud800"#) }),
    Self(
      description: "a member twice", member: "size",
      edit: { $0.swapped(#""size":"#, #""size":1,"size":"#) }),
  ]

  private static let wrongTypes =
    [
      "version", "mediaContentKey", "title", "contentType", "downloadable", "duration", "naturalSize",
      "media",
    ]
    .map { name in
      Self(
        description: "\(name) of a wrong type", member: name,
        change: { $0.members[name] = name == "media" ? "5" : "{\"a\":[]}" })
    }
    + ["type", "size", "urls", "segmentSize", "segments"].map { name in
      Self(
        description: "media.\(name) of a wrong type", member: name, change: { $0.mediaMembers[name] = "true" }
      )
    }
    + ["version", "mediaContentKey", "media"].map { name in
      Self(
        description: "\(name) missing", member: name,
        change: { $0.members.updateValue(nil, forKey: name) })
    }
    + ["size", "urls"].map { name in
      Self(
        description: "media.\(name) missing", member: name,
        change: { $0.mediaMembers.updateValue(nil, forKey: name) })
    }
    + ["1048576.0", "1e6", "\"1048576\"", "18446744073709551616"].map { (text: String) in
      Self(description: "size \(text)", member: "size", change: { $0.mediaMembers["size"] = text })
    }

  private static let wrongValues = [
    Self(description: "version 2", member: "version", change: { $0.members["version"] = "2" }),
    Self(
      description: "another key", member: "mediaContentKey",
      change: { $0.members["mediaContentKey"] = "\"another\"" }),
    Self(description: "size too small", digests: .none, change: { $0.mediaMembers["size"] = "1048575" }),
    Self(description: "size too large", digests: .none, change: { $0.mediaMembers["size"] = "1048577" }),
    Self(description: "size negative", member: "size", change: { $0.mediaMembers["size"] = "-1" }),
    Self(
      description: "size of 2^62", statuses: [65, 69, 73], digests: .none,
      change: { $0.mediaMembers["size"] = "4611686018427387904" }),
    Self(
      description: "segmentSize no power of two", member: "segmentSize",
      change: { $0.mediaMembers["segmentSize"] = "1000000" }),
    Self(
      description: "segmentSize too small", member: "segmentSize",
      change: { $0.mediaMembers["segmentSize"] = "32768" }),
    Self(
      description: "segmentSize too large", member: "segmentSize",
      change: { $0.mediaMembers["segmentSize"] = "16777216" }),
    Self(
      description: "segmentSize 0", member: "segmentSize", change: { $0.mediaMembers["segmentSize"] = "0" }),
    Self(
      description: "one segment too few", member: "segments", change: { $0.mediaMembers["segments"] = "[]" }),
    Self(
      description: "bad base64", member: "segments",
      change: { $0.mediaMembers["segments"] = #"["!!!!","!!!!"]"# }),
    Self(
      description: "a digest too short", member: "segments",
      change: { $0.mediaMembers["segments"] = #"["AAAA","AAAA"]"# }),
    Self(
      description: "bad hex", member: "sha256", digests: .file,
      change: { $0.mediaMembers["sha256"] = "\"xyz\"" }),
    Self(
      description: "another digest", digests: .file,
      change: { $0.mediaMembers["sha256"] = "\"\(String(repeating: "0a", count: 32))\"" }),
    Self(description: "no url", member: "urls", change: { $0.urls = [] }),
    Self(description: "a file url", member: "urls", change: { $0.urls = ["file:///etc/passwd"] }),
    Self(description: "an ftp url", member: "urls", change: { $0.urls = ["ftp://127.0.0.1/a.mp4"] }),
    Self(description: "an empty url", member: "urls", change: { $0.urls = [""] }),
    Self(description: "a number among urls", member: "urls", change: { $0.mediaMembers["urls"] = "[1]" }),
    Self(
      description: "plain http to another host", member: "192.0.2.1",
      statuses: [65, 66, 69, 78], change: { $0.urls = ["http://192.0.2.1/a.mp4"] }),
    Self(
      description: "an empty key", member: "mediaContentKey",
      change: { $0.members["mediaContentKey"] = "\"\"" }),
  ]
}

extension String {
  fileprivate func swapped(_ old: String, _ new: String) -> String {
    split(separator: old, maxSplits: 1, omittingEmptySubsequences: false).joined(separator: new)
  }
}
