/// What a handler answers.
package struct Response: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    case media(Media)
    /// No answer at all: the connection is closed.
    case nothing
  }

  package var status: Int
  package var headers: Headers
  package var body: Body
  /// How long the connection may be idle from now on; nil leaves it as it is, zero is for ever.
  ///
  /// A player that was paused needs patience; strangers who try paths do not get it.
  package var timeout: Duration?
  /// Lines for the observer alone, never sent.
  package var notes: [String] = []

  package init(status: Int, headers: Headers = [:], body: [UInt8] = [], timeout: Duration? = nil) {
    self.status = status
    self.headers = headers
    self.body = .bytes(body)
    self.timeout = timeout
  }

  /// Closes the connection without an answer.
  package static let dropped = Response(.nothing)

  private init(_ body: Body) { (status, headers, self.body) = (0, [:], body) }

  /// Answers 200, or the ``status`` set later, with the media, or what the request's own range and validators
  /// make of it.
  package init(media: Media, headers: Headers = [:], timeout: Duration? = nil) {
    status = 200
    self.headers = headers
    body = .media(media)
    self.timeout = timeout
  }
}

/// Bytes of a known size that clients may ask for in parts.
package struct Media: Sendable {
  package let source: any MediaSource
  /// The media type, sent as `Content-Type`.
  package let type: String
  /// A strong entity tag with its quotes; it changes whenever any byte does.
  package let entityTag: String?
  /// An HTTP date.
  package let lastModified: String?

  package init(_ source: any MediaSource, type: String, entityTag: String?, lastModified: String? = nil) {
    self.source = source
    self.type = type
    self.entityTag = entityTag
    self.lastModified = lastModified
  }
}

/// Bytes to be read at any offset, by several connections at once.
package protocol MediaSource: Sendable {
  /// The number of bytes, which does not change.
  var size: Int { get }

  /// Reads bytes from the offset on into the start of the buffer and says how many.
  ///
  /// It may give fewer than asked for, but at least one: offset and buffer never reach beyond ``size``. An
  /// error, or
  /// no bytes, breaks the connection off, so that the client sees that the body is short.
  func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int
}
