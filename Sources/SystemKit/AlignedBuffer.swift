import Glibc

/// A page-aligned piece of memory that bytes are appended to and worked on in place.
///
/// Invariant behind `@unchecked Sendable`: a buffer has one owner at a time and is handed on through
/// a lock (a pool or a queue), which orders the accesses of successive owners.
@safe package final class AlignedBuffer: @unchecked Sendable {
  package static let alignment = 4_096

  package let capacity: Int
  /// Bytes in use, from the start.
  package var count = 0 {
    didSet { precondition(count >= 0 && count <= capacity) }
  }
  private let memory: UnsafeMutableRawPointer

  /// Memory for `capacity` bytes, a multiple of the alignment; pages are taken when first touched.
  package init(capacity: Int) {
    precondition(capacity > 0 && capacity % Self.alignment == 0)
    self.capacity = capacity
    unsafe memory = .allocate(byteCount: capacity, alignment: Self.alignment)
  }

  deinit { unsafe memory.deallocate() }

  package func append(_ bytes: RawSpan) {
    precondition(bytes.byteCount <= capacity - count)
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (memory + count).copyMemory(from: start, byteCount: bytes.count)
    }
    count += bytes.byteCount
  }

  /// Fills with zeros from `count` to the next multiple of the alignment and counts them in.
  package func padToAlignment() {
    let padded = (count + Self.alignment - 1) / Self.alignment * Self.alignment
    unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: padded - count)
    count = padded
  }

  /// Copies bytes in use, from `offset` on, to the start of `target`: as many as there are and fit.
  ///
  /// Returns how many.
  package func copy(from offset: Int, to target: inout MutableRawSpan) -> Int {
    let length = min(max(0, count - offset), target.byteCount)
    unsafe target.withUnsafeMutableBytes { target in
      guard let start = target.baseAddress, length > 0 else { return }
      unsafe start.copyMemory(from: memory + offset, byteCount: length)
    }
    return length
  }

  /// Lends the first `length` bytes for reading.
  package func withBytes<Result, Failure: Error>(
    _ length: Int? = nil, _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let length = length ?? count
    precondition(length <= capacity)
    return try body(unsafe RawSpan(_unsafeStart: UnsafeRawPointer(memory), byteCount: length))
  }

  /// Lends the first `length` bytes for work in place.
  package func withMutableBytes<Result, Failure: Error>(
    _ length: Int? = nil, _ body: (inout MutableRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let length = length ?? count
    precondition(length <= capacity)
    var span = unsafe MutableRawSpan(_unsafeStart: memory, byteCount: length)
    return try body(&span)
  }
}
