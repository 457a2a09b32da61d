extension String {
  /// Terminal columns the text takes, by the East Asian width of its characters; controls take none.
  ///
  /// Characters of ambiguous width count as narrow, as terminals draw them unless told otherwise.
  package var displayWidth: Int {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return utf8.count }
    return reduce(0) { $0 + $1.displayWidth }
  }
}

extension Character {
  /// Terminal columns the character takes: 0, 1 or 2, more for a cluster of several spacing letters.
  package var displayWidth: Int {
    let scalars = unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.index(after: scalars.startIndex) == scalars.endIndex { return first.displayWidth }
    if first.properties.isEmoji {
      // A flag of two letters, a family, a skin tone: one picture, whatever it is put together from.
      if first.properties.isEmojiPresentation { return 2 }
      let makesPicture = scalars.contains {
        $0.value == 0xFE0F || $0.value == 0x200D || (0x1F3FB...0x1F3FF).contains($0.value)
      }
      if makesPicture { return 2 }
    }
    return scalars.reduce(0) { $0 + $1.displayWidth }
  }
}

extension Unicode.Scalar {
  fileprivate var displayWidth: Int {
    switch value {
    case 0..<0x20, 0x7F..<0xA0: 0
    case 0x20..<0x300: 1
    // Middle and final letters of a Korean syllable are drawn into the box of the first.
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: 0
    // The bulk of Korean, Japanese and Chinese text, ahead of slower questions.
    case 0xAC00...0xD7A3, 0x4E00...0x9FFF, 0x3041...0x3096, 0x30A1...0x30FA: 2
    default: hasNoWidth ? 0 : isWide ? 2 : 1
    }
  }

  private var hasNoWidth: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  /// Wide and fullwidth by UAX #11; of the pictures those that are emoji without being asked.
  private var isWide: Bool {
    switch value {
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0xA4CF,
      0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F,
      0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265,
      0x20000...0x2FFFD, 0x30000...0x3FFFD:
      true
    // One half of a flag; a pair of them is one character.
    case 0x1F1E6...0x1F1FF: false
    default: properties.isEmojiPresentation
    }
  }
}
