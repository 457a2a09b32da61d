import JSONKit
import KollusCore
import Synchronization
import SystemKit

/// Prints every event as one JSON object a line (design §8); the fields are a tested contract.
final class JSONLinesSink: EventSink {
  private let sequence = Mutex(0)
  private let now: @Sendable () -> Double
  private let print: @Sendable (String) -> Void

  init(now: @escaping @Sendable () -> Double, print: @escaping @Sendable (String) -> Void) {
    (self.now, self.print) = (now, print)
  }

  func emit(_ event: Event) {
    // The line is printed under the lock, so that lines come in the order of their numbers.
    sequence.withLock { sequence in
      sequence += 1
      print(Self.line(event, sequence: sequence, at: now()) + "\n")
    }
  }

  static func line(_ event: Event, sequence: Int, at time: Double) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("v", 1)
    writer.member("seq", sequence)
    writer.member("at", WallClock.text(Int64(time)))
    switch event {
    case .downloadContent(let progress, let error):
      writer.member("event", "downloadContent")
      writer.member("mediaContentKey", progress.mediaContentKey)
      writer.member("title", progress.title)
      writer.member("downloaded", progress.isDownloaded)
      writer.member("downloadProgress", progress.percent)
      writer.member("downloadSize", progress.downloadSize)
      writer.member("fileSize", progress.fileSize)
      writer.name("error")
      if let error { Failure.write(error, to: &writer) } else { writer.null() }
    case .drmRequest(let item, let json, let error):
      writer.member("event", "drmRequest")
      writer.name("request")
      item.write(to: &writer)
      writer.name("json")
      if let json { writer.raw(json) } else { writer.null() }
      writer.name("error")
      if let error { Failure.write(error, to: &writer) } else { writer.null() }
    case .drmUpdate(let current, let count, let key, let error):
      writer.member("event", "drmUpdate")
      writer.member("cur", current)
      writer.member("count", count)
      writer.member("mediaContentKey", key)
      writer.name("error")
      if let error { Failure.write(error, to: &writer) } else { writer.null() }
    case .lmsData(let data, let result):
      writer.member("event", "lmsData")
      writer.member("lmsData", data)
      writer.name("resultJson")
      writer.beginObject()
      writer.member("mediaContentKey", result.mediaContentKey)
      writer.member("status", result.status)
      writer.name("error")
      if let error = result.error { Failure.write(error, to: &writer) } else { writer.null() }
      writer.endObject()
    case .sendCompleteStoredLms(let successCount, let failCount):
      writer.member("event", "sendCompleteStoredLms")
      writer.member("successCount", successCount)
      writer.member("failCount", failCount)
    case .note(let note, let key, let message):
      writer.member("event", "note")
      writer.member("note", note.rawValue)
      writer.member("mediaContentKey", key)
      writer.member("message", message)
    }
    writer.endObject()
    return writer.text
  }
}
