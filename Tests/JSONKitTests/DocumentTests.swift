import Testing

@testable import JSONKit

struct DocumentTests {
  @Test func `a value costs 16 bytes`() {
    #expect(MemoryLayout<Node>.stride == 16)
  }

  @Test func `a node keeps the largest offsets and counts`() {
    let largest = Int(UInt32.max)
    var node = Node(.object, start: largest, isEscaped: true)
    node.close(end: largest, next: largest)
    for _ in 0..<1000 { node.addChild() }
    #expect(node.kind == .object && node.isEscaped && node.count == 1000)
    #expect(node.start == largest && node.end == largest && node.next == largest)
  }
}
