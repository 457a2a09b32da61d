import CurlKit
import JSONKit
import SystemKit

/// Marks of contents: what there is, and what is changed here (PROTO §3.9).
extension Library {
  /// The marks of a content.
  package func bookmarks(of mediaContentKey: String) throws -> BookmarkSheet {
    let content = try knownContent(mediaContentKey)
    return try sheet(of: content, origin(of: content))
  }

  /// Makes a mark of the user's, or replaces the one at its position.
  ///
  /// Throws where the licence allows none, where there are too many, and for a text that cannot be kept.
  package func add(_ mark: Bookmark, to mediaContentKey: String) async throws {
    if let fault = mark.fault {
      throw KollusError(
        .usage, code: KollusCode.parameter, "the bookmark cannot be kept: \(fault)",
        mediaContentKey: mediaContentKey)
    }
    let content = try knownContent(mediaContentKey)
    guard content.duration <= 0 || Double(mark.position) <= content.duration else {
      throw KollusError(
        .usage, code: KollusCode.parameter, "the bookmark lies beyond the end of the content",
        mediaContentKey: mediaContentKey)
    }
    let source = try origin(of: content)
    let sheet = try sheet(of: content, source)
    try checkWritable(sheet, content)
    guard sheet.userMark(at: mark.position) != nil || sheet.marks.count < Bookmark.countLimit else {
      throw KollusError(
        .usage, code: KollusCode.parameter,
        "the content has \(Bookmark.countLimit) bookmarks, which is all there can be",
        hint: "remove some", mediaContentKey: mediaContentKey)
    }
    var mark = mark
    (mark.kind, mark.localTime) = (.user, Int64(now()))
    try await keep(.init(mark: mark), of: content, source)
  }

  /// Takes the user's mark at a position away; the provider's cannot be.
  package func removeBookmark(at position: Int64, of mediaContentKey: String) async throws {
    let content = try knownContent(mediaContentKey)
    let source = try origin(of: content)
    let sheet = try sheet(of: content, source)
    try checkWritable(sheet, content)
    guard var mark = sheet.userMark(at: position) else {
      throw KollusError(
        .usage, code: KollusCode.parameter, "there is no bookmark of the user's at \(position) s",
        mediaContentKey: mediaContentKey)
    }
    mark.localTime = Int64(now())
    try await keep(.init(mark: mark, isRemoved: true), of: content, source)
  }

  private func knownContent(_ key: String) throws -> Content {
    guard let content = try content(key) else { throw Downloader.removed.of(key) }
    return content
  }

  private func origin(of content: Content) throws -> Source? {
    try source(of: content.id).flatMap {
      Source(opening: $0, of: content.mediaContentKey, key: home.identity.key)
    }
  }

  private func sheet(of content: Content, _ source: Source?) throws -> BookmarkSheet {
    BookmarkSheet(
      origin: source?.manifest.bookmarks ?? [], changes: try bookmarkChanges(of: content),
      policy: content.licence?.licence.offlineBookmark)
  }

  private func checkWritable(_ sheet: BookmarkSheet, _ content: Content) throws {
    guard sheet.isReadOnly else { return }
    throw KollusError(
      .licence, code: KollusCode.unsupported, "the licence does not allow bookmarks to be changed",
      mediaContentKey: content.mediaContentKey)
  }

  private func keep(_ change: BookmarkSheet.Change, of content: Content, _ source: Source?) async throws {
    let told = source?.manifest.bookmarkURL.map { ($0.text, Self.text(of: change, content)) }
    guard try await keep(change, of: content, told: told) else {
      throw KollusError(
        .tryLater, "\(Bookmark.countLimit) changes of this content's bookmarks wait to be sent",
        hint: "send them while the network is there", mediaContentKey: content.mediaContentKey)
    }
  }

  /// A change as the channel is told it: the interface's own fields, with what was done.
  private static func text(of change: BookmarkSheet.Change, _ content: Content) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("action", change.isRemoved ? "remove" : "add")
    writer.member("media_content_key", content.mediaContentKey)
    writer.member("client_user_id", content.clientUserID)
    writer.member("position", change.mark.position)
    writer.member("localtime", change.mark.localTime)
    writer.member("value", change.mark.value)
    writer.member("label", change.mark.label)
    writer.member("kind", change.mark.kind.rawValue)
    // What was stored is an object; the interface has its values as members of their own.
    if let values = try? JSON(parsing: content.userValues) {
      for (name, value) in values.members { writer.member(name, value.string) }
    }
    writer.endObject()
    return writer.text
  }
}
