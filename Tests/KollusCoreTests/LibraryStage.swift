import Testing

@testable import KollusCore

/// Contents for tests of the library.
enum LibraryStage {
  static func content(_ key: String, _ change: (inout Content) -> Void = { _ in }) -> Content {
    var content = Content(mediaContentKey: key)
    content.fileSize = 100
    change(&content)
    return content
  }
}

extension Library {
  /// Registers a content and says that it is ready.
  @discardableResult
  func ready(
    _ key: String, at time: Int64 = 1_000, _ change: (inout Content) -> Void = { _ in }
  ) async throws -> Content {
    let stored = try await register(
      LibraryStage.content(key, change), source: [1], playURL: nil, folder: nil)
    return try #require(try await finish(stored, at: time, stamp: 7, filesNeedSync: false))
  }
}
