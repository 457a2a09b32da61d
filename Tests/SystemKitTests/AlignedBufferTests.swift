import KollusTestSupport
import SystemKit
import Testing

@Suite struct AlignedBufferTests {
  @Test func `bytes are appended one after another`() {
    let buffer = AlignedBuffer(capacity: 8_192)
    buffer.append(([1, 2] as [UInt8]).span.bytes)
    buffer.append([UInt8]().span.bytes)
    buffer.append(([3] as [UInt8]).span.bytes)
    #expect(buffer.count == 3)
    #expect(buffer.withBytes { Self.array($0) } == [1, 2, 3])
    #expect(buffer.withBytes(2) { Self.array($0) } == [1, 2])
  }

  @Test(arguments: [(0, 0), (1, 4_096), (4_095, 4_096), (4_096, 4_096), (4_097, 8_192), (8_192, 8_192)])
  func `padding goes to the next page and is zero`(_ count: Int, _ padded: Int) {
    let buffer = AlignedBuffer(capacity: 8_192)
    buffer.append([UInt8](repeating: 0xff, count: 8_192).span.bytes)
    buffer.count = count
    buffer.padToAlignment()
    #expect(buffer.count == padded)
    let bytes = buffer.withBytes { Self.array($0) }
    #expect(bytes[..<count].allSatisfy { $0 == 0xff })
    #expect(bytes[count...].allSatisfy { $0 == 0 })
  }

  @Test func `bytes are changed in place`() {
    let buffer = AlignedBuffer(capacity: 4_096)
    buffer.append(([1, 2, 3] as [UInt8]).span.bytes)
    buffer.withMutableBytes { bytes in
      bytes.withUnsafeMutableBytes { $0[1] = 9 }
    }
    #expect(buffer.withBytes { Self.array($0) } == [1, 9, 3])
  }

  @Test func `memory is aligned for direct writes`() {
    let buffer = AlignedBuffer(capacity: 4_096)
    buffer.withBytes(1) { bytes in
      bytes.withUnsafeBytes { #expect(Int(bitPattern: $0.baseAddress) % AlignedBuffer.alignment == 0) }
    }
  }

  @Test func `more than the capacity is our own mistake`() async {
    await #expect(processExitsWith: .failure) {
      let buffer = AlignedBuffer(capacity: 4_096)
      buffer.append([UInt8](repeating: 1, count: 4_097).span.bytes)
    }
  }

  private static func array(_ bytes: RawSpan) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
