import Glibc

/// The same bytes for the same seed; no two runs of 64 bytes, counted from the start, are alike.
package func randomBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  let block = 64 << 10
  let padded = (count + block - 1) / block * block
  var bytes = unsafe [UInt8](unsafeUninitializedCapacity: padded) { buffer, filled in
    filled = padded
    guard padded > 0, let base = buffer.baseAddress else { return }
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    for offset in stride(from: 0, to: block, by: 8) {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      unsafe (base + offset).withMemoryRebound(to: UInt64.self, capacity: 1) { unsafe $0.pointee = state }
    }
    for start in stride(from: block, to: padded, by: block) { unsafe memcpy(base + start, base, block) }
    for start in stride(from: 0, to: padded, by: 64) {
      unsafe (base + start).withMemoryRebound(to: UInt64.self, capacity: 1) { word in
        unsafe word.pointee = (UInt64(start) &+ seed) &* 0xbf58_476d_1ce4_e5b9
      }
    }
  }
  bytes.removeLast(padded - count)
  return bytes
}
