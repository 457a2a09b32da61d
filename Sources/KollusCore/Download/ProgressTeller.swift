/// Turns the news of a fetch into events, in order and never going back.
final class ProgressTeller: Sendable {
  private let content: Content
  private let sink: any EventSink
  private let shown: Protected<Int64>

  /// Tells the beginning at once.
  init(_ content: Content, sink: any EventSink, from size: Int64) {
    (self.content, self.sink, shown) = (content, sink, Protected(size))
    sink.emit(.downloadContent(Self.progress(content, size), error: nil))
  }

  func tell(_ news: FetchNews) {
    switch news {
    case .progress(let size):
      // Emitting under the lock keeps the order; sinks are quick.
      shown.withLock { shown in
        guard size > shown else { return }
        shown = size
        sink.emit(.downloadContent(Self.progress(content, size), error: nil))
      }
    case .retrying(let text):
      sink.emit(.note(.retrying, mediaContentKey: content.mediaContentKey, message: text))
    case .waiting(let text):
      sink.emit(.note(.waiting, mediaContentKey: content.mediaContentKey, message: text))
    }
  }

  private static func progress(_ content: Content, _ size: Int64) -> ContentProgress {
    ContentProgress(
      mediaContentKey: content.mediaContentKey, title: content.title, isDownloaded: false, downloadSize: size,
      fileSize: content.fileSize)
  }
}
