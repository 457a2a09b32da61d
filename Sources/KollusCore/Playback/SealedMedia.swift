import ServerKit
import SystemKit

/// The plain bytes of a sealed file, segment by segment, for a server: no more of them is ever held than a few segments,
/// and none reaches a disk.
final class SealedMedia: MediaSource {
  /// Opened segments; a player reads ahead and looks back at the index.
  private static let places = 3

  private struct Place {
    let buffer: AlignedBuffer
    var segment = -1
    var used = 0
  }

  private struct State {
    var places: [Place] = []
    var clock = 0
  }

  let size: Int
  private let file: SealedFile
  private let state = Protected(State())
  private let isDamaged: @Sendable (Int) -> Void

  /// `isDamaged` hears of a segment that cannot be opened; the reader is cut off there.
  init(_ file: SealedFile, isDamaged: @escaping @Sendable (_ segment: Int) -> Void) {
    self.file = file
    self.isDamaged = isDamaged
    size = Int(file.layout.size)
  }

  func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int {
    let index = file.layout.segment(at: Int64(offset))
    let start = offset - Int(file.layout.plainOffset(index))
    // The server reads on one thread; the lock is for the compiler and for whoever changes that.
    let opened = try state.withLock { state -> Result<AlignedBuffer, any Error> in
      Result { try open(index, &state) }
    }.get()
    // Up to the end of the segment: the next call begins with the next one.
    return opened.copy(from: start, to: &buffer)
  }

  private func open(_ index: Int, _ state: inout State) throws -> AlignedBuffer {
    state.clock += 1
    if let place = state.places.firstIndex(where: { $0.segment == index }) {
      state.places[place].used = state.clock
      return state.places[place].buffer
    }
    if state.places.count < Self.places {
      let capacity = BufferPool.bufferSize(segmentSize: file.layout.plainLength(0))
      state.places.append(Place(buffer: AlignedBuffer(capacity: capacity)))
    }
    let oldest = state.places.indices.min { state.places[$0].used < state.places[$1].used } ?? 0
    state.places[oldest].segment = -1
    guard try file.read(index, into: state.places[oldest].buffer) != nil else {
      isDamaged(index)
      throw KollusError(
        .badData, code: KollusCode.damaged, SegmentScan.text(of: [index]),
        hint: "download the content again to repair it"
      ).of(file.mediaContentKey)
    }
    state.places[oldest].segment = index
    state.places[oldest].used = state.clock
    return state.places[oldest].buffer
  }
}
