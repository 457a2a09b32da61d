import JSONKit
import SystemKit

extension Event {
  /// One JSON object without an end of line (design §8); the fields are a tested contract.
  ///
  /// `time` is in seconds since 1970.
  package func line(sequence: Int64, at time: Double) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("v", 1)
    writer.member("seq", sequence)
    writer.member("at", WallClock.text(Int64(time)))
    write(to: &writer)
    writer.endObject()
    return writer.text
  }

  private func write(to writer: inout JSONWriter) {
    switch self {
    case .downloadContent(let progress, let error):
      writer.member("event", "downloadContent")
      writer.member("mediaContentKey", progress.mediaContentKey)
      writer.member("title", progress.title)
      writer.member("downloaded", progress.isDownloaded)
      writer.member("downloadProgress", progress.percent)
      writer.member("downloadSize", progress.downloadSize)
      writer.member("fileSize", progress.fileSize)
      writer.member(error: error)
    case .drmRequest(let item, let json, let error):
      writer.member("event", "drmRequest")
      writer.name("request")
      item.write(to: &writer)
      writer.name("json")
      if let json { writer.raw(json) } else { writer.null() }
      writer.member(error: error)
    case .drmUpdate(let current, let count, let key, let error):
      writer.member("event", "drmUpdate")
      writer.member("cur", current)
      writer.member("count", count)
      writer.member("mediaContentKey", key)
      writer.member(error: error)
    case .lmsData(let data, let result):
      writer.member("event", "lmsData")
      writer.member("lmsData", data)
      writer.name("resultJson")
      writer.beginObject()
      writer.member("mediaContentKey", result.mediaContentKey)
      writer.member("status", result.status)
      writer.member(error: result.error)
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
  }
}
