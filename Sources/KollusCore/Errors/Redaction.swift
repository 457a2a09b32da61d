extension String {
  /// The text with what may be a token cut: the part of every URL that follows its `?`.
  ///
  /// Whatever the user wrote in the wrong place is repeated in messages, and it may have been a play URL.
  package var withoutTokens: String {
    let bytes = Array(utf8)
    var shown: [UInt8] = []
    var isInURL = false
    var isCut = false
    for index in bytes.indices {
      let byte = bytes[index]
      if Self.endsURL(byte) { (isInURL, isCut) = (false, false) }
      if byte == UInt8(ascii: "/"), index >= 2, bytes[index - 1] == byte,
        bytes[index - 2] == UInt8(ascii: ":")
      {
        isInURL = true
      }
      if isCut { continue }
      shown.append(byte)
      if isInURL, byte == UInt8(ascii: "?") {
        isCut = true
        shown += Array("…".utf8)
      }
    }
    return String(decoding: shown, as: UTF8.self)
  }

  /// White space and quotes, which no URL holds.
  private static func endsURL(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"")
  }
}
