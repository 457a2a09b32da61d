import CurlKit

/// What a server's answer to a media request means, before any byte of it is taken.
enum MediaAnswer: Equatable, Sendable {
  /// Take the body: it is the object's bytes `from` to `through`, both included.
  case body(from: Int64, through: Int64)
  /// The server does not answer ranges as asked; one plain GET may do.
  case noRanges
  /// The object changed: it is known by another validator.
  case changed(String)
  /// The object is not as long as the manifest says.
  case resized(String)
  /// This URL is refused; a fresh one may do.
  case denied(status: Int)
  /// Later may do; with the server's `Retry-After` in Unix seconds.
  case busy(status: Int, retryAfter: Double?)
  /// A page or an encoded body instead of media.
  case foreign(String)
  case redirect(WebAddress)
  /// A redirect to where it may not be followed.
  case strayed(status: Int)
}

/// Judges answers to requests for one object; a value without I/O.
struct MediaJudge: Sendable {
  /// Bytes of the object, from the manifest.
  let size: Int64
  /// Media type the manifest names.
  let type: String
  let policy: HTTPPolicy

  /// Says what an answer means.
  ///
  /// `first` is the first byte asked for, `nil` for a request without `Range`; `validator` what the object is
  /// known by at this URL, as far as it is.
  func judge(
    _ head: ResponseHead, from address: WebAddress, first: Int64?, validator: Validator?, now: Double
  ) -> MediaAnswer {
    switch head.status {
    case 200, 206: break
    case 300...399:
      return policy.target(of: head, from: address).map(MediaAnswer.redirect) ?? .strayed(status: head.status)
    case 416:
      let total = head["content-range"].flatMap(ContentRange.init)?.total
      if let total, total != size { return .resized("it has \(total) bytes where the manifest says \(size)") }
      return .noRanges
    case 408, 425, 429, 500...599:
      return .busy(status: head.status, retryAfter: RetryAfter.time(head, now: now))
    default: return .denied(status: head.status)
    }
    if let page = foreignBody(head) { return .foreign(page) }
    if let validator, !validator.agrees(with: head) {
      return .changed("its validator is no longer \(validator.text)")
    }
    let answer = head.status == 206 ? partial(head, first: first ?? 0) : whole(head, first: first)
    // A tag is part of every answer that shows the object it names (RFC 9110 §15.3.7).
    if case .body = answer, case .entityTag(let tag) = validator, head["etag"] == nil {
      return .changed("it no longer names its validator \(tag)")
    }
    return answer
  }

  private func partial(_ head: ResponseHead, first: Int64) -> MediaAnswer {
    guard let range = head["content-range"].flatMap(ContentRange.init), let bytes = range.bytes else {
      return .noRanges
    }
    if let total = range.total, total != size {
      return .resized("it has \(total) bytes where the manifest says \(size)")
    }
    // A slice that does not begin where it was asked to cannot be trusted to keep to anything else.
    guard bytes.lowerBound == first, bytes.upperBound < size else { return .noRanges }
    return .body(from: first, through: bytes.upperBound)
  }

  private func whole(_ head: ResponseHead, first: Int64?) -> MediaAnswer {
    if let length = head["content-length"].flatMap(ContentRange.number), length != size {
      return .resized("it has \(length) bytes where the manifest says \(size)")
    }
    return first == nil ? .body(from: 0, through: size - 1) : .noRanges
  }

  /// Says what the body is when it cannot be the media.
  private func foreignBody(_ head: ResponseHead) -> String? {
    if let encoding = head["content-encoding"]?.lowercased(), encoding != "identity" {
      return "a body encoded as \(encoding.prefix(20))"
    }
    guard let sent = head["content-type"]?.lowercased(),
      sent.hasPrefix("text/html") || sent.hasPrefix("application/xhtml"),
      !type.lowercased().hasPrefix("text/")
    else { return nil }
    return "a web page"
  }
}
