/// Media types by file name extension, as `publish` guesses them and `serve` announces them.
enum MediaType {
  /// The type of what has none of the extensions below.
  static let unknown = "application/octet-stream"

  private static let types = [
    "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
    "mkv": "video/x-matroska", "avi": "video/x-msvideo", "ogv": "video/ogg", "mpg": "video/mpeg",
    "mpeg": "video/mpeg", "ts": "video/mp2t", "mts": "video/mp2t", "m2ts": "video/mp2t", "mp3": "audio/mpeg",
    "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg",
    "flac": "audio/flac", "wav": "audio/wav", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
    "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "pdf": "application/pdf",
  ]

  /// The type that a name's extension stands for, whatever its case.
  static func guess(fileName: String) -> String { types[pathExtension(of: fileName)] ?? unknown }

  /// The extension in lower case; `bin` when there is none that a URL takes as it is.
  static func pathExtension(of fileName: String) -> String {
    let name = fileName.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "bin" }
    let tail = name[name.index(after: dot)...].lowercased()
    let isPlain = tail.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) }
    return isPlain && (1...8).contains(tail.utf8.count) ? tail : "bin"
  }

  /// Whether a text is `type/subtype` without parameters.
  static func isValid(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"\"(),:;<=>?@[\\]{}".utf8.contains($0) }
      }
  }
}
