extension String {
  /// The text as it may be printed when it comes from outside.
  ///
  /// Control characters, line and paragraph separators and marks that turn the direction of writing are shown
  /// by name, as in `\n` or `\u{1b}`; everything else stays as it is.
  package var terminalSafe: String {
    // The lead bytes of what is to be escaped; a text without any, as most are, is returned untouched.
    let isSuspect = utf8.contains {
      $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2
    }
    guard isSuspect, unicodeScalars.contains(where: \.isUnsafeToPrint) else { return self }
    var safe = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar.isUnsafeToPrint {
        safe.append(contentsOf: scalar.name.unicodeScalars)
      } else {
        safe.append(scalar)
      }
    }
    return String(safe)
  }
}

extension Unicode.Scalar {
  fileprivate var isUnsafeToPrint: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  fileprivate var name: String {
    switch self {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(value, radix: 16))}"
    }
  }
}
