/// What a request's range and validators make of a piece of media.
enum Outcome: Equatable, Sendable {
  case whole
  case part(ByteRange)
  case notModified
  case unsatisfiable

  /// Weighs the headers by RFC 9110 §13.2.2 and §14: validators first, then the range.
  init(method: String, headers: Headers, media: Media) {
    guard !Self.isKnown(headers, media) else {
      self = .notModified
      return
    }
    // Ranges are defined for GET alone (RFC 9110 §14.2).
    guard method == "GET", Self.isSameObject(headers["If-Range"], media) else {
      self = .whole
      return
    }
    switch ByteRange.select(headers["Range"], size: media.source.size) {
    case .whole: self = .whole
    case .part(let range): self = .part(range)
    case .unsatisfiable: self = .unsatisfiable
    }
  }

  var status: Int {
    switch self {
    case .whole: 200
    case .part: 206
    case .notModified: 304
    case .unsatisfiable: 416
    }
  }

  /// Whether the client says it has these very bytes already.
  private static func isKnown(_ headers: Headers, _ media: Media) -> Bool {
    let known = headers.all("If-None-Match")
    guard known.isEmpty else {
      return known.contains { field in
        field.split(separator: ",").contains { part in
          let tag = part.drop { $0 == " " || $0 == "\t" }.split(separator: " ").first ?? ""
          return tag == "*" || media.entityTag.map { tag == $0 || tag == "W/" + $0 } == true
        }
      }
    }
    guard let lastModified = media.lastModified else { return false }
    return headers["If-Modified-Since"] == lastModified
  }

  /// Whether a part would be of the object that the client has the rest of; a weak tag never proves it.
  private static func isSameObject(_ field: String?, _ media: Media) -> Bool {
    guard let field else { return true }
    return field == media.entityTag || field == media.lastModified
  }
}
