import JSONKit

/// One entry of a token's `mc`: a content, and what this viewing of it may do.
struct PlayEntry: Sendable {
  let key: String
  /// Multi-DRM and live entries, which the origin has no way to serve.
  let isUnsupported: Bool
  private let title: String?
  private let isIntro: Bool?
  private let seek: Bool?
  private let seekableEnd: Int64?
  private let disablePlayrate: Bool?
  private let playSection: (start: Int64, end: Int64)?

  /// Reads an entry; the error names the claim with a wrong type or range.
  init(_ entry: JSON) throws(JSONError) {
    guard let key = try entry.string("mckey"), !key.isEmpty else { throw entry.failure("mckey is missing") }
    self.key = key
    let special = try (entry.object("drm_policy"), entry.object("live"))
    isUnsupported = special.0 != nil || special.1 != nil
    title = try entry.string("title")
    isIntro = try entry.bool("intr")
    seek = try entry.bool("seek")
    seekableEnd = try entry.integer("seekable_end", in: -1...Int64(Int32.max))
    disablePlayrate = try entry.bool("disable_playrate")
    playSection = try entry.object("play_section").map { section throws(JSONError) in
      let seconds = 0...Int64(Int32.max)
      guard let start = try section.integer("start_time", in: seconds),
        let end = try section.integer("end_time", in: seconds), end > start
      else { throw section.failure("expected start_time and a later end_time") }
      return (start, end)
    }
  }

  /// Writes a manifest with this entry's title, intro and policy in place of its own.
  func lay(over manifest: JSON, writer: inout JSONWriter) throws(JSONError) {
    writer.beginObject()
    for (name, value) in manifest.members where !isReplaced(name) {
      writer.name(name)
      writer.raw(value.rawText)
    }
    if let title { writer.member("title", title) }
    if let isIntro { writer.member("intro", isIntro) }
    writer.name("policy")
    layPolicy(over: try manifest.object("policy"), writer: &writer)
    writer.endObject()
  }

  private func isReplaced(_ name: String) -> Bool {
    switch name {
    case "title": title != nil
    case "intro": isIntro != nil
    case "policy": true
    default: false
    }
  }

  private func layPolicy(over policy: JSON?, writer: inout JSONWriter) {
    var changed: Set<String> = []
    if seek != nil { changed.insert("seek") }
    if seekableEnd != nil { changed.insert("seekableEnd") }
    if disablePlayrate != nil { changed.insert("disablePlayrate") }
    if playSection != nil { changed.insert("playSection") }
    writer.beginObject()
    if let policy {
      for (name, value) in policy.members where !changed.contains(name) {
        writer.name(name)
        writer.raw(value.rawText)
      }
    }
    if let seek { writer.member("seek", seek) }
    if let seekableEnd { writer.member("seekableEnd", seekableEnd) }
    if let disablePlayrate { writer.member("disablePlayrate", disablePlayrate) }
    if let playSection { writer.numbers("playSection", [playSection.start, playSection.end]) }
    writer.endObject()
  }
}
