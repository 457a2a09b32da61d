/// A size for people: `0 B`, `1.5 KiB`, `3.0 GiB`; powers of 1024, one decimal, rounded to the nearest.
package struct ByteCountText: CustomStringConvertible, Sendable {
  package let bytes: UInt64

  /// A size below zero counts as none.
  package init(_ bytes: some BinaryInteger) { self.bytes = UInt64(clamping: bytes) }

  package var description: String {
    guard bytes >= 1024 else { return "\(bytes) B" }
    let names = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    var power = 0
    while power < names.count - 1, tenths(power) >= 10240 { power += 1 }
    return "\(tenths(power) / 10).\(tenths(power) % 10) \(names[power])"
  }

  /// Tenths of a unit, rounded, so that 1023.96 KiB are seen to be 1.0 MiB; units count from `KiB`.
  private func tenths(_ power: Int) -> UInt64 {
    let unit: UInt64 = 1 << (10 * (power + 1))
    // What is left below the largest unit is less than 2⁶⁰, so ten times it still fits.
    return bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit
  }
}
